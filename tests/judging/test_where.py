"""Places where predictions are off: exact p-values, intervals that cover, careful sentences."""

import numpy as np
import pytest
from monte_carlo import covers

import harness
from harness.judging.data import from_arrays, from_file
from harness.judging.gaps import LEAST, count_p_value, folded_quantile, holm, measure_gap
from harness.judging.groups import judge_groups, split
from harness.judging.judge import judge_data
from harness.judging.where import thin, where
from harness.math.rates import clopper_pearson
from harness.math.reliability import corp


def dirichlet(n, k, seed):
    """Return calibrated vectors and labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)


def law_of_count(p):
    law = np.ones(1)
    for share in p:
        law = np.convolve(law, [1.0 - share, share])
    return law


# Gaps


def test_a_count_has_the_tails_of_its_exact_law():
    x = np.random.default_rng(0).beta(0.3, 2.0, 700)  # more than are counted one by one
    for p in (np.array([0.2]), x[:9], x):
        law = law_of_count(p)
        for count in range(0, len(p) + 1, 1 + len(p) // 50):
            tails = min(1.0, 2.0 * min(law[: count + 1].sum(), law[count:].sum()))
            assert count_p_value(p, count) == pytest.approx(max(tails, LEAST), rel=1e-3, abs=2e-12)


def test_a_p_value_is_super_uniform_at_every_level():
    x = np.random.default_rng(1).random(12)
    law = law_of_count(x)
    p_values = np.array([count_p_value(x, count) for count in range(13)])
    for level in p_values:
        assert law[p_values <= level].sum() <= level + 1e-9


def test_calibrated_scores_are_rarely_rejected():
    rng = np.random.default_rng(2)
    rejected = []
    for _ in range(200):
        x = rng.beta(0.5, 0.5, 120)
        rejected.append(measure_gap(x, (rng.random(120) < x).astype(int), 0.95).p_value <= 0.05)
    assert np.mean(rejected) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 200)


def test_a_class_with_an_event_of_probability_0_stands_out():
    p = np.tile([0.0, 0.4, 0.6], (100, 1))
    y = np.r_[0, np.repeat([1, 2], [39, 60])]
    worst = where(from_arrays(p, y), 0.95).classes[0]
    assert worst.name == "0" and worst.stands_out and worst.adjusted == 0.0


def test_errors_of_scores_of_0_and_1_do_not_cancel():
    """One of four rows is wrong at 0 and one at 1: the mean gap is 0, the L1 error 1/2."""
    x, hit = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 1, 1, 0])
    error = measure_gap(x, hit, 0.95).error
    assert error.value == 0.5 and error.low == pytest.approx(0.0676, abs=1e-4)  # 2 of 4
    assert error.high == pytest.approx(0.9324, abs=1e-4)


def test_outcomes_of_probability_0_add_to_the_error_of_other_rows():
    x, hit = np.repeat([0.0, 0.3], 10), np.tile([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 2)
    error = measure_gap(x, hit, 0.95).error
    rest = measure_gap(x[10:], hit[10:], 0.975).error
    low, high = clopper_pearson(1, 10, 0.975)
    assert error.value == pytest.approx(0.5 * (0.1 + rest.value))
    assert (error.low, error.high) == pytest.approx((0.5 * low, 0.5 * (high + rest.high)))


def test_intervals_of_scores_of_0_and_1_cover():
    inside = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth = rng.integers(2, size=60)
        x = np.where(rng.random(60) < 0.1, 1 - truth, truth).astype(float)
        error = measure_gap(x, truth, 0.95).error
        inside.append(error.low <= 0.1 <= error.high)
    assert covers(inside, 0.95)


@pytest.mark.parametrize(
    "problem", ["beta_calibrated", "beta_overconfident", "beta_underconfident_centred"]
)
@pytest.mark.parametrize("n", [100, 1000])
def test_intervals_of_error_and_gap_cover(problem, n):
    problem = harness.load_problem(problem)
    truth, reps = problem.truth("l1", "binary").value, 50
    p, y = problem.sample(200_000, np.random.default_rng(1))
    mean_gap = float((p - y).mean())
    gaps = [
        measure_gap(*problem.sample(n, np.random.default_rng([0, r])), 0.95) for r in range(reps)
    ]
    least = 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / reps)
    covered = [gap.error.low <= truth + 1e-12 <= gap.error.high + 2e-12 for gap in gaps]
    assert np.mean(covered) >= least
    covered = [gap.gap.low - 0.003 <= mean_gap <= gap.gap.high + 0.003 for gap in gaps]
    assert np.mean(covered) >= least
    for gap in gaps:
        assert 0.0 <= gap.error.low <= gap.error.value <= gap.error.high <= 1.0


def test_the_quantile_of_folded_normals_is_that_of_draws():
    draws = np.abs(np.random.default_rng(0).standard_normal((100_000, 5)))
    scale = np.array([1.0, 0.5, 2.0, 1.0, 1.0])
    for tail in (0.05, 0.0125):
        share = float((draws @ scale > folded_quantile(scale, tail)).mean())
        assert share == pytest.approx(tail, abs=4.0 * np.sqrt(tail / 100_000) + 0.02 * tail)


def test_holm_by_hand():
    assert holm([0.2, 0.001, 0.04, 0.04]) == pytest.approx([0.2, 0.004, 0.12, 0.12])
    assert holm([]) == []


# Classes, regions, groups


def test_a_class_that_is_off_is_named_and_calibrated_classes_are_not():
    p, y = dirichlet(3000, 5, 0)
    answer = where(from_arrays(p, y), 0.95)
    assert not any(row.stands_out for row in answer.classes)
    y[np.flatnonzero(y == 2)[::2]] = 4  # class 4 happens more often than predicted
    answer = where(from_arrays(p, y), 0.95)
    assert {row.name for row in answer.classes[:2]} == {"2", "4"}
    assert [row.stands_out for row in answer.classes] == [True] * 2 + [False] * 3
    titles = [panel.title for panel in answer.panels[:2]]
    assert titles == ["top label", f"class {answer.classes[0].name}"]


def test_regions_hold_all_rows_and_the_whole_error():
    p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    answer = where(from_arrays(p, y), 0.95)
    regions = answer.regions
    assert sum(region.n for region in regions) == 2000
    assert min(region.n for region in regions) >= 30
    assert sum(region.share for region in regions) == pytest.approx(1.0)
    assert [region.low for region in regions[1:]] == [region.high for region in regions[:-1]]
    assert answer.classes == ()
    for region in regions:
        inside = (p >= region.low) & ((p < region.high) | (region.high == 1.0))
        assert region.said == pytest.approx(p[inside].mean())
        assert region.happened.value == pytest.approx(y[inside].mean())
        assert region.happened.low <= region.happened.value <= region.happened.high


def test_a_group_that_is_off_is_found_among_many():
    rng = np.random.default_rng(0)
    p, y = harness.load_problem("beta_calibrated").sample(4000, rng)
    town = rng.choice(["a", "b", "c", "d"], 4000)
    y = np.where((town == "c") & (rng.random(4000) < 0.5), 1, y)
    groups = {"town": town, "age": rng.normal(50, 10, 4000)}
    answer = where(from_arrays(p, y, groups=groups), 0.95)
    worst, *others = answer.groups
    assert (worst.column, worst.value, worst.gap.sign) == ("town", "c", -1)
    assert "town = c" in answer.sentence and worst.stands_out
    assert all(row.adjusted > 0.05 for row in others if row.column == "town")
    assert any(note.startswith("age has many values") for note in answer.notes)


@pytest.mark.parametrize("share", [0.004, 0.02, 0.2])
def test_groups_that_are_exchangeable_are_rarely_named(share):
    """Scores are calibrated, and groups are drawn at random: 5 % may be named."""
    named, reps, n = 0, 100, 500
    for r in range(reps):
        rng = np.random.default_rng([r, int(1000 * share)])
        p = share * rng.beta(0.5, 2.0, n) / 0.2
        p = p.clip(max=1.0)
        groups = rng.integers(0, 2 + r % 9, n).astype(str)
        answer = where(from_arrays(p, (rng.random(n) < p).astype(int), groups=groups), 0.95)
        named += any(group.stands_out for group in answer.groups)
    assert named <= 0.05 * reps + 3.0 * np.sqrt(0.05 * 0.95 * reps)


def test_errors_that_cancel_within_a_group_are_not_called_a_gap():
    """Events vary more than these scores tell, as the scores are too near to 0 and 1."""
    named, reps, n = 0, 100, 400
    for r in range(reps):
        rng = np.random.default_rng([1, r])
        sure = rng.random(n) < 0.5
        y = (rng.random(n) < np.where(sure, 0.8, 0.2)).astype(int)
        p, groups = np.where(sure, 0.99, 0.01), rng.integers(0, 2, n).astype(str)
        answer = where(from_arrays(p, y, groups=groups), 0.95)
        named += any(group.stands_out for group in answer.groups)
        for group in answer.groups:
            assert group.gap.low <= 0.0 <= group.gap.high or group.gap_adjusted <= 0.05
            assert group.adjusted <= group.gap_adjusted
    assert named <= 0.05 * reps + 3.0 * np.sqrt(0.05 * 0.95 * reps)


def test_neither_group_of_a_forest_is_shown_to_be_off(cases):
    judgement = judge_data([from_file(cases / "forest.csv", group="sex")], questions=["where"])
    answer = judgement.where
    assert {group.value for group in answer.groups} == {"female", "male"}
    for group in answer.groups:
        assert not group.stands_out and group.gap.low <= 0.0 <= group.gap.high
        assert group.value not in answer.sentence
        numbers = judgement.to_json()["numbers"]
        assert numbers[f"group.sex.{group.value}.gap.low"]["value"] == group.gap.low


def test_the_region_with_the_largest_share_is_named(cases):
    judgement = judge_data([from_file(cases / "three_classes.csv")], questions=["where"])
    answer = judgement.where
    region = max(answer.regions, key=lambda region: region.share)
    assert (region.low, region.high) == (0.7, 0.8)
    assert region.share == pytest.approx(0.304, abs=0.001)
    assert "30 %, is between 0.7 and 0.8 (" in answer.sentence


def test_a_named_region_is_off():
    """One region of ten is off; a region that is not off may be named in 5 % of the samples."""
    wrong, right, reps, n = 0, 0, 60, 1500
    for r in range(reps):
        rng = np.random.default_rng([2, r])
        p = rng.random(n)
        off = (p >= 0.3) & (p < 0.4)
        y = (rng.random(n) < p + 0.2 * off).astype(int)
        sentence = where(from_arrays(p, y), 0.95).sentence
        is_right = " between 0.3 and 0.4 " in sentence
        right += is_right
        wrong += " between " in sentence and not is_right
    assert wrong <= 0.05 * reps and right >= 0.8 * reps


MISSING = np.array([None, "a", "b"] * 100, dtype=object)


@pytest.mark.parametrize(
    "values, names, note",
    [
        (["x"] * 150 + ["y"] * 140 + ["z"] * 6 + ["w"] * 4, ["x", "y"], "only 10 rows together"),
        (["x"] * 150 + ["y"] * 140 + ["z"] * 6, ["x", "y"], "z was left out"),
        ([f"v{i % 60}" for i in range(300)] + ["b"] * 100, ["b", "60 others"], "pooled"),
        ([f"id{i}" for i in range(300)], [], "too rare"),
        (["same"] * 300, [], "single value"),
        ([np.nan] * 300, [], "empty"),
        (MISSING, ["a", "b", "(missing)"], None),
        (["", "a", "b"] * 100, ["a", "b", "(missing)"], None),
        (["1", "2"] * 150, ["1", "2"], None),
        ([True, False] * 150, ["False", "True"], None),
    ],
)
def test_columns_are_split_pooled_and_left_out(values, names, note):
    labels, texts, notes = split("column", np.asarray(values))
    assert texts == names and set(labels) - {-1} == set(range(len(names)))
    assert [note] == [None] if not notes else note in notes[0]


def test_no_columns_have_no_groups():
    assert judge_groups({}, np.full(3, 0.5), np.zeros(3, int), 0.95) == ([], [])


def test_a_thinned_curve_has_the_blocks_and_parts_of_all_rows():
    x = np.random.default_rng(0).beta(0.4, 0.4, 20_000)
    y = (np.random.default_rng(1).random(20_000) < x**2).astype(int)
    curve = corp(x, y)
    thinned = thin(curve)
    assert len(thinned.scores) < 5_000 and thinned.n == 20_000
    assert (thinned.mcb, thinned.dsc) == (curve.mcb, curve.dsc)
    assert (np.diff(thinned.scores) > 0).all()
    for name, values in curve.bins.items():
        assert thinned.bins[name] == pytest.approx(values), name


@pytest.mark.parametrize(
    "p, y",
    [
        ([[0.2, 0.5, 0.3]], [1]),
        ([[1.0, 0.0, 0.0]] * 3, [0, 0, 0]),
        ([[1.0, 0.0, 0.0]] * 5, [0, 1, 2, 0, 0]),
        ([[0.2, 0.5, 0.3]] * 60, [1] * 60),
        ([[0.5, 0.5]] * 4, [0, 1, 0, 1]),
        ([[0.0, 1.0]] * 2, [0, 1]),
    ],
)
def test_degenerate_predictions_have_an_answer_without_nan(p, y):
    answer = where(from_arrays(p, y), 0.95)
    assert answer.sentence.endswith(".") and answer.panels
    assert "nan" not in repr(answer.classes + answer.regions)
    assert all(region.n > 0 for region in answer.regions)


def test_a_class_that_never_happens_has_no_value():
    p, y = dirichlet(400, 3, 3)
    p = np.column_stack([p[:, 0], p[:, 1], p[:, 2] * 0.995, p[:, 2] * 0.005])
    (rare,) = [row for row in where(from_arrays(p, y), 0.95).classes if row.name == "3"]
    assert rare.sentence.startswith("3: never seen in 400 rows") and rare.error.value is None


def test_confidences_have_one_panel_and_no_classes():
    data = from_arrays(
        np.full(50, 0.9), np.r_[np.ones(40, int), np.zeros(10, int)], confidences=True
    )
    answer = where(data, 0.95)
    assert [panel.title for panel in answer.panels] == ["top label"] and answer.classes == ()


@pytest.mark.slow
def test_a_real_network_is_off_where_it_is_sure(real_network):
    answer = where(real_network("cifar10_resnet20_chenyaofo"), 0.95)
    assert answer.classes[0].name == "3"  # cats
    assert len(answer.panels) == 11
    assert all(region.said > region.happened.value for region in answer.regions)
