"""Where predictions are off: exact p-values, intervals that cover, and sentences that say no more."""

import os
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.evaluation.reliability import corp
from harness.judging.findings import Judged
from harness.judging.gaps import LEAST, count_p_value, folded_quantile, gap_of, holm
from harness.judging.groups import groups_of, split
from harness.judging.where import thinned, where


def judged(p, y, **more):
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    return Judged("model", p, y, tuple(f"c{j}" for j in range(p.shape[1])), **more)


def dirichlet(n, k, seed):
    """Calibrated vectors and labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)


def test_a_count_has_the_tails_of_its_exact_law():
    x = np.random.default_rng(0).beta(0.3, 2.0, 700)  # more than are counted one by one
    for p in (np.array([0.2]), x[:9], x):
        law = np.ones(1)
        for one in p:
            law = np.convolve(law, [1.0 - one, one])
        for count in range(0, len(p) + 1, 1 + len(p) // 50):
            tails = min(1.0, 2.0 * min(law[: count + 1].sum(), law[count:].sum()))
            assert count_p_value(p, count) == pytest.approx(max(tails, LEAST), rel=1e-3, abs=2e-12)


def test_a_p_value_is_super_uniform_at_every_level():
    x = np.random.default_rng(1).random(12)
    law = np.ones(1)
    for one in x:
        law = np.convolve(law, [1.0 - one, one])
    p_values = np.array([count_p_value(x, count) for count in range(13)])
    for level in p_values:
        assert law[p_values <= level].sum() <= level + 1e-9


def test_p_values_of_bins_reject_calibrated_scores_as_rarely_as_they_say():
    rng = np.random.default_rng(2)
    rejected = []
    for _ in range(200):
        x = rng.beta(0.5, 0.5, 120)
        rejected.append(gap_of(x, (rng.random(120) < x).astype(int), 0.95).p_value <= 0.05)
    assert np.mean(rejected) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 200)


def test_an_event_of_probability_zero_is_impossible():
    found = gap_of(np.array([0.0, 0.5, 0.5]), np.array([1, 0, 1]), 0.95)
    assert found.p_value == 0.0 and found.impossible == 1


@pytest.mark.parametrize(
    "problem", ["beta_calibrated", "beta_overconfident", "beta_underconfident_centred"]
)
@pytest.mark.parametrize("n", [100, 1000])
def test_intervals_of_the_error_and_of_the_gap_cover(problem, n):
    one = harness.load_problem(problem)
    truth, reps = one.truth("l1", "binary").value, 50
    many, labels = one.sample(200_000, np.random.default_rng(1))
    gap = float((many - labels).mean())
    found = [gap_of(*one.sample(n, np.random.default_rng([0, r])), 0.95) for r in range(reps)]
    least = 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / reps)
    assert np.mean([f.error.low <= truth + 1e-12 <= f.error.high + 2e-12 for f in found]) >= least
    assert np.mean([f.gap.low - 0.003 <= gap <= f.gap.high + 0.003 for f in found]) >= least
    for f in found:
        assert 0.0 <= f.error.low <= f.error.value <= f.error.high <= 1.0


def test_the_quantile_of_folded_normals_is_that_of_draws():
    draws = np.abs(np.random.default_rng(0).standard_normal((100_000, 5)))
    scale = np.array([1.0, 0.5, 2.0, 1.0, 1.0])
    for tail in (0.05, 0.0125):
        share = float((draws @ scale > folded_quantile(scale, tail)).mean())
        assert share == pytest.approx(tail, abs=4.0 * np.sqrt(tail / 100_000) + 0.02 * tail)


def test_holm_is_never_below_what_it_corrects():
    p = [0.2, 0.001, 0.04, 0.04]
    assert holm(p) == pytest.approx([0.2, 0.004, 0.12, 0.12])
    assert holm([]) == []


def test_a_class_that_is_off_is_named_and_calibrated_classes_are_not():
    p, y = dirichlet(3000, 5, 0)
    calm = where(judged(p, y), 0.95)
    assert calm.sentence.startswith("Nothing stands out at the 95 % level among 5 classes and ")
    assert [one.adjusted > 0.05 for one in calm.classes] == [True] * 5

    odd = y.copy()
    odd[(y == 2) & (np.random.default_rng(1).random(3000) < 0.4)] = (
        4  # class 4 comes more often than said
    )
    found = where(judged(p, odd), 0.95)
    assert {one.name for one in found.classes[:2]} == {"c2", "c4"}
    assert (
        "Of the classes, c" in found.sentence and "nothing stands out" in found.classes[-1].sentence
    )
    assert [panel.title for panel in found.panels[:2]] == [
        "top label",
        f"class {found.classes[0].name}",
    ]


def test_regions_hold_all_rows_and_the_whole_error():
    p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    found = where(judged(p, y), 0.95)
    assert (
        sum(region.n for region in found.regions) == 2000
        and min(region.n for region in found.regions) >= 30
    )
    assert sum(region.share for region in found.regions) == pytest.approx(1.0)
    assert [region.low for region in found.regions[1:]] == [
        region.high for region in found.regions[:-1]
    ]
    assert found.sentence.startswith("By score: from ") and found.classes == ()
    for region in found.regions:
        inside = (p >= region.low) & ((p < region.high) | (region.high == 1.0))
        assert region.said == pytest.approx(
            p[inside].mean()
        ) and region.happened.value == pytest.approx(y[inside].mean())
        assert region.happened.low <= region.happened.value <= region.happened.high


def test_a_group_that_is_off_is_found_among_many():
    rng = np.random.default_rng(0)
    p, y = harness.load_problem("beta_calibrated").sample(4000, rng)
    town = rng.choice(["a", "b", "c", "d"], 4000)
    y = np.where((town == "c") & (rng.random(4000) < 0.5), 1, y)
    found = where(judged(p, y, groups={"town": town, "age": rng.normal(50, 10, 4000)}), 0.95)
    assert (found.groups[0].column, found.groups[0].value) == ("town", "c") and found.groups[
        0
    ].gap.high < 0.0
    assert "Of the groups, town = c is worst" in found.sentence
    assert all(
        one.adjusted > 0.05 for one in found.groups if one.column == "town" and one.value != "c"
    )
    assert any(
        note.startswith("age has many values and was cut at its quintiles") for note in found.notes
    )


def test_columns_are_split_pooled_and_left_out_with_a_word():
    n = 300
    few = np.array(["x"] * 150 + ["y"] * 140 + ["z"] * 6 + ["w"] * 4)
    labels, texts, notes = split("few", few)
    assert texts == ["x", "y"] and (labels == -1).sum() == 10 and "too few rows" in notes[0]
    labels, texts, notes = split("many", np.array([f"v{i % 60}" for i in range(n)] + ["big"] * 100))
    assert texts == ["big", "60 others"] and "pooled" in notes[0]
    for values in (np.arange(n).astype(str), np.full(n, "same"), np.full(n, np.nan)):
        values = np.array([f"id{v}" for v in values]) if values[0] == "0" else values
        assert split("no", values)[1] == []
    gone = np.array([None, "a", "b"] * 100, dtype=object)
    assert split("gone", gone)[1] == ["a", "b", "(missing)"]
    assert split("number", np.array(["1", "2"] * 150))[1] == ["1", "2"]
    assert groups_of({}, np.full(3, 0.5), np.zeros(3, int), 0.95) == ((), [])


def test_a_thinned_curve_has_the_blocks_and_parts_of_all_rows():
    x = np.random.default_rng(0).beta(0.4, 0.4, 20_000)
    y = (np.random.default_rng(1).random(20_000) < x**2).astype(int)
    full = corp(x, y)
    thin = thinned(full)
    assert (
        len(thin.at) < 5_000 and thin.n == 20_000 and (thin.mcb, thin.dsc) == (full.mcb, full.dsc)
    )
    assert (np.diff(thin.at) > 0).all()
    for name, values in full.bins.items():
        assert thin.bins[name] == pytest.approx(values), name


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
def test_what_cannot_be_said_is_said_without_a_number(p, y):
    found = where(judged(np.array(p), np.array(y)), 0.95)
    assert (
        found.sentence.endswith(".")
        and "nan" not in repr(found.classes + found.regions)
        and found.panels
    )
    assert all(region.n > 0 for region in found.regions)


def test_classes_that_never_or_hardly_come_are_said_so():
    p, y = dirichlet(400, 3, 3)
    p = np.column_stack([p[:, 0], p[:, 1], p[:, 2] * 0.995, p[:, 2] * 0.005])
    found = where(judged(p, y), 0.95)
    (rare,) = [one for one in found.classes if one.name == "c3"]
    assert (
        rare.sentence == "c3: never seen in 400 rows, where 0.66 were expected."
        or rare.sentence.startswith("c3: never seen")
    )
    assert rare.error.value is None and any("c3 never came" in note for note in found.notes)


def test_confidences_have_one_panel_and_no_classes():
    found = where(
        judged(np.full(50, 0.9), np.r_[np.ones(40, int), np.zeros(10, int)], confidences=True), 0.95
    )
    assert [panel.title for panel in found.panels] == ["top label"] and found.classes == ()


@pytest.mark.slow
def test_a_real_network_is_off_where_it_is_sure():
    folder = os.environ.get("CALHARNESS_DATA")
    if not folder:
        pytest.skip("CALHARNESS_DATA is not set")
    pack = np.load(Path(folder) / "cifar_logits" / "cifar10_resnet20_chenyaofo.npz")
    z = pack["logits"].astype(float)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    found = where(judged(e / e.sum(axis=1, keepdims=True), pack["labels"].astype(int)), 0.95)
    assert found.classes[0].name == "c3"  # cats
    assert len(found.panels) == 11 and all(
        region.said > region.happened.value for region in found.regions
    )
