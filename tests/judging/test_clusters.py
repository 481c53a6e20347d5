"""Rows in groups: the same as independent rows if every row is its own group, and coverage."""

import numpy as np
import pytest
from monte_carlo import covers, least_share
from samples import scalars, vectors

import harness
from harness import BadInputError
from harness.estimators import Binned, Bootstrap, CalibrationLine
from harness.judging.clusters import GroupBootstrap, flipped_p_value, one_row_each
from harness.judging.data import from_arrays, from_file
from harness.judging.gain import folds
from harness.judging.judge import judge_data
from harness.judging.scalar_test import scalar_test
from harness.judging.scores import mean_interval


def grouped(count, rng, size=5, power=1.0):
    """Return p, y and groups: `count` groups of `size` nearly equal rows.

    The rows of a group share the uniform draw of their labels; P(Y = 1) = p^power.
    """
    p = np.repeat(rng.uniform(0.05, 0.95, count), size) + rng.normal(0.0, 0.01, count * size)
    p = p.clip(0.01, 0.99)
    y = (np.repeat(rng.random(count), size) < p**power).astype(int)
    return p, y, np.repeat(np.arange(count), size)


def as_confidences(p, y, groups):
    """Judge p as confidences: the same errors and gaps, without the clinical numbers, which take
    four fifths of the time of binary predictions in groups.
    """
    data = from_arrays(p, y, group_rows=groups, confidences=True)
    return judge_data([data], questions=["calibrated", "how_far"])


# Every row its own group


def test_means_and_lines_are_those_of_independent_rows():
    p, y = scalars(300)
    alone = np.random.default_rng(0).permutation(300)
    d = p - y
    ours, usual = mean_interval(d, 0.95, 0.95, row_groups=alone), mean_interval(d, 0.95, 0.95)
    assert (ours.low, ours.high) == pytest.approx((usual.low, usual.high))
    pairs = zip(CalibrationLine()(p, y, groups=alone).values(), CalibrationLine()(p, y).values())
    for ours, usual in pairs:
        widths = ours.high - ours.low, usual.high - usual.low
        assert widths[0] == pytest.approx(widths[1] * np.sqrt(300 / 299))


def test_halves_of_groups_are_halves_of_rows():
    p, y = scalars(300)
    usual = Bootstrap(Binned())(p, y, np.random.default_rng(0))["l1"]
    ours = GroupBootstrap(Binned(), groups=np.arange(300))(p, y, np.random.default_rng(0))["l1"]
    bias = usual.diagnostics["bootstrap_bias"]
    assert ours.diagnostics["bootstrap_bias"] == pytest.approx(bias)
    assert ours.high == pytest.approx(usual.high + max(bias, 0.0))
    assert ours.low == pytest.approx(usual.low) or usual.low == 0.0


def test_a_judgement_is_about_the_same():
    p, y = harness.load_problem("beta_overconfident").sample(1000, np.random.default_rng(0))
    questions = ["calibrated", "how_far"]
    usual, ours = (
        judge_data([from_arrays(p, y, group_rows=groups)], questions=questions)
        for groups in (None, np.arange(1000))
    )
    assert ours.calibrated.rejected and usual.calibrated.rejected
    assert ours.how_far.direction.gap.low == pytest.approx(usual.how_far.direction.gap.low)
    first, second = (one.how_far.errors[0].interval for one in (usual, ours))
    assert first.low < second.value < first.high and second.low < first.value < second.high
    assert 0.5 < (second.high - second.low) / (first.high - first.low) < 1.5


# Rows of a group together


def test_copies_of_rows_add_nothing():
    p, y = scalars(200)
    groups = np.repeat(np.arange(200), 4)
    ours = mean_interval(np.repeat(p - y, 4), 0.95, 0.95, row_groups=groups)
    usual = mean_interval(p - y, 0.95, 0.95)
    assert (ours.low, ours.high) == pytest.approx((usual.low, usual.high))
    for copies, rows in zip(
        CalibrationLine()(np.repeat(p, 4), np.repeat(y, 4), groups=groups).values(),
        CalibrationLine()(p, y).values(),
    ):
        # the leverage of a row is smaller by a factor of 4 among the copies
        assert copies.high - copies.low == pytest.approx(rows.high - rows.low, rel=0.05)


def test_the_test_flips_groups_and_keeps_its_level_for_rare_events():
    p, y = np.full(500, 0.5), np.repeat(np.arange(100) % 2, 5)
    y[:100] = 1  # ten more groups with events than without
    groups, rng = np.repeat(np.arange(100), 5), np.random.default_rng(0)
    test = scalar_test(p, y, rng, 999)
    assert test.p_value < 0.02 < flipped_p_value(test.bins, y, groups, rng)
    # No event where one is expected is no evidence, though all residuals have the same sign.
    p, y = np.full(100, 0.01), np.zeros(100, dtype=int)
    assert flipped_p_value(scalar_test(p, y, rng, 9).bins, y, np.arange(100), rng) > 0.3
    judgement = harness.judge(p, y, group_rows=np.arange(100), questions=["calibrated"])
    assert judgement.calibrated.tests[0].p_value > 0.3


def test_scarce_events_in_few_groups_are_no_evidence():
    """Rows of a group are equal, and p is calibrated. In 13 % of the samples there is no event."""
    counts = dict.fromkeys(("rejected", "gain", "gap", "error", "better"), 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        once = rng.uniform(0.0, 0.1, 40)
        p, y = np.repeat(once, 10), np.repeat(rng.random(40) < once, 10)
        groups = np.repeat(np.arange(40), 10)
        first = as_confidences(p, y, groups)
        answer = harness.judge(
            p, y, second=p / 10, group_rows=groups, questions=["gains", "versus"]
        )
        better = {row.better for row in answer.versus.differences}
        counts["rejected"] += first.calibrated.rejected
        counts["gain"] += answer.gains.best is not None
        counts["gap"] += first.how_far.direction.gap.sign != 0
        counts["error"] += first.how_far.errors[0].interval.low > 0.0
        counts["better"] += "model 2" in better
    assert max(counts.values()) <= 5, counts  # at most 2 are expected; more than 5 are 1 in 100


def test_overconfident_vectors_in_groups_are_rejected_and_the_rest_says_what_is_left_out():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(3), 600)
    y = (true.cumsum(axis=1) > rng.random((600, 1))).argmax(axis=1)
    p = true**2 / (true**2).sum(axis=1, keepdims=True)
    site = rng.integers(0, 2, 600)
    judgement = harness.judge(
        p, y, group_rows=np.arange(600) // 3, groups={"site": site}, second=true
    )
    assert all(test.rejected for test in judgement.calibrated.tests)
    assert [test.rejected for test in judgement.others[0].calibrated.tests] == [False] * 3
    errors = {error.notion: error for error in judgement.how_far.errors}
    assert errors["top_label"].interval.low > 0.0 and errors["classwise"].interval.low > 0.0
    assert "independent rows" in errors["canonical"].reason and not judgement.how_far.certified
    assert any("200 groups" in text for text in judgement.how_far.cautions)
    assert "One row of each group" in judgement.where.sentence
    assert judgement.where.panels[0].curve.n == 200
    assert judgement.versus.differences[1].better == "model 2"
    assert judgement.to_json()["data"]["row_groups"] == 200


def test_folds_consist_of_whole_groups_and_one_row_is_drawn_of_each():
    groups = np.random.default_rng(0).integers(0, 30, 200)
    groups[:30] = np.arange(30)
    fold = folds(200, np.random.default_rng(0), groups)
    assert all(len(set(fold[groups == g])) == 1 for g in range(30)) and set(fold) == set(range(5))
    p, y = vectors(200, 3)
    data = from_arrays(p, y, group_rows=groups, groups={"g": groups})
    part = one_row_each(data, np.random.default_rng(0))
    assert sorted(part.groups["g"]) == list(range(30)) and part.row_groups is None
    rows = [int(np.flatnonzero((p == row).all(axis=1))[0]) for row in part.p]
    assert np.array_equal(part.y, y[rows]) and np.array_equal(part.groups["g"], groups[rows])


@pytest.mark.parametrize("count", [2, 4, 19])
def test_few_groups_have_an_answer(count):
    p, y = scalars(200)
    judgement = harness.judge(p, y, group_rows=np.arange(200) % count)
    assert judgement.how_far.errors[0].reason == "There are fewer than 20 groups of rows."
    assert judgement.how_far.direction.gap.high is not None and judgement.calibrated is not None


@pytest.mark.parametrize(
    "groups, text",
    [
        (["a", "a", "a"], "holds a single group, a;"),
        (["a", None, "b"], "no value in row 1"),
        (["a", "b"], r"has shape \(2,\)"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(groups, text):
    with pytest.raises(BadInputError, match=text):
        harness.judge([0.2, 0.7, 0.4], [0, 1, 0], group_rows=groups)


def test_groups_of_a_file(tmp_path):
    path = tmp_path / "preds.csv"
    path.write_text("p,y,patient,one\n0.2,0,b,x\n0.7,1,a,x\n0.4,0,b,x\n")
    assert from_file(path, group_rows="patient").row_groups.tolist() == [0, 1, 0]
    with pytest.raises(BadInputError, match="'one'"):
        from_file(path, group_rows="one")
    with pytest.raises(BadInputError, match="'absent'"):
        from_file(path, group_rows="absent")


# Coverage

SAMPLES = 120


@pytest.mark.slow
@pytest.mark.parametrize("power", [1.0, 1.5])
def test_intervals_cover_where_those_of_independent_rows_do_not(power):
    p = np.linspace(0.05, 0.95, 100_001)
    error, gap = np.abs(p**power - p).mean(), (p - p**power).mean()
    hits = {"error": [], "gap": [], "gap of independent rows": []}
    rejected = []
    for seed in range(SAMPLES):
        p, y, groups = grouped(100, np.random.default_rng([16, seed]), power=power)
        ours = as_confidences(p, y, groups)
        interval = ours.how_far.errors[0].interval
        hits["error"].append(interval.low <= error + 1e-9 and error <= interval.high)
        rejected.append(ours.calibrated.rejected)
        usual = mean_interval(p - y, 0.95, 0.95)
        for name, interval in (
            ("gap", ours.how_far.direction.gap),
            ("gap of independent rows", usual),
        ):
            hits[name].append(interval.low <= gap <= interval.high)
    assert covers(hits["error"], 0.95) and covers(hits["gap"], 0.95)
    assert np.mean(hits["gap of independent rows"]) < least_share(0.95, SAMPLES, errors=6.0)
    assert power > 1.0 or covers(np.logical_not(rejected), 0.95)


def test_rows_that_only_share_a_group_lose_little():
    """The interval of independent rows in groups is about as wide as that without groups."""
    ratios = []
    for seed in range(20):
        p, y = harness.load_problem("beta_overconfident").sample(1000, np.random.default_rng(seed))
        gaps = [
            mean_interval(p - y, 0.95, 0.95, row_groups=groups)
            for groups in (np.arange(1000) // 5, None)
        ]
        ratios.append((gaps[0].high - gaps[0].low) / (gaps[1].high - gaps[1].low))
    assert np.mean(ratios) == pytest.approx(1.0, abs=4.0 * np.std(ratios) / np.sqrt(20) + 0.02)


# One estimator with rows in groups


@pytest.mark.parametrize("name", ["ici", "calibration_line", "binned15"])
def test_intervals_of_an_estimator_are_wider_for_copies_of_rows(name):
    """Four copies of each row have intervals half as wide if they count as independent."""
    p, y = scalars(200)
    p, y, groups = np.repeat(p, 4), np.repeat(y, 4), np.repeat(np.arange(200), 4)
    alone = np.arange(len(p))
    copies, rows = (
        harness.estimate(name, p, y, "binary", 0, group_rows=g) for g in (groups, alone)
    )
    first = next(iter(copies))
    assert copies[first].value == rows[first].value  # only the interval changes
    widths = [e[first].high - max(e[first].low, 0.0) for e in (copies, rows)]
    assert widths[0] > 1.4 * widths[1]


def test_the_interval_of_the_slope_is_that_of_sums_over_groups():
    """The standard error of halves of groups is about that of the sandwich with the same groups."""
    p, y, groups = grouped(200, np.random.default_rng(0))
    halves = harness.estimate("calibration_line", p, y, "binary", group_rows=groups)["slope"]
    sums = CalibrationLine()(p, y, groups=groups)["slope"]
    assert halves.high - halves.low == pytest.approx(sums.high - sums.low, rel=0.3)


def test_names_of_groups_and_classes_of_vectors_are_accepted():
    p, y = vectors(100, 3)
    patients = np.repeat([f"patient {i}" for i in range(25)], 4)
    for notion in ("top_label", "classwise"):
        e = harness.estimate("ici", p, y, notion, group_rows=patients)["l1"]
        assert 0.0 <= e.low < e.high and e.level == 0.95


def test_rows_in_groups_refuse_what_needs_independent_rows():
    p, y = scalars(60)
    groups = np.repeat(np.arange(30), 2)
    for name in ("certified_interval", "spiegelhalter"):
        with pytest.raises(BadInputError, match="needs independent rows"):
            harness.estimate(name, p, y, "binary", group_rows=groups)
    with pytest.raises(BadInputError, match="group_rows has shape"):
        harness.estimate("ici", p, y, "binary", group_rows=groups[1:])


def test_few_groups_have_no_interval():
    p, y = scalars(60)
    e = harness.estimate("calibration_line", p, y, "binary", group_rows=np.arange(60) % 10)["slope"]
    assert e.low is None and e.high is None
