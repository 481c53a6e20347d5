"""The clinical report: intercept, slope, ICI, E50, E90, Brier score, its scaled form, AUROC."""

import numpy as np
import pytest
from scipy.special import expit, logit

import harness
from harness.errors import BadInputError
from harness.judging.clinical import LABELS, clinical
from harness.judging.data import from_arrays
from harness.judging.direction import direction
from harness.judging.thresholds import check, parse


def overconfident(n, seed=0):
    """Return predictions whose calibration slope is 0.6, and outcomes."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.0, 1.5, n)
    return expit(scores), (rng.random(n) < expit(0.6 * scores - 0.2)).astype(int)


def report(p, y, **options):
    judgement = harness.judge(p, y, questions=["calibrated", "how_far"], **options)
    return {row.name: row for row in judgement.how_far.clinical.numbers}


def test_intercept_and_slope_are_those_of_statsmodels():
    statsmodels = pytest.importorskip("statsmodels.api")
    p, y = overconfident(800)
    rows = report(p, y)
    binomial = statsmodels.families.Binomial()
    line = statsmodels.GLM(y, statsmodels.add_constant(logit(p)), family=binomial).fit(tol=1e-12)
    shift = statsmodels.GLM(y, np.ones((800, 1)), family=binomial, offset=logit(p)).fit(tol=1e-12)
    # ours has a ridge of 1e-6 towards slope 1
    assert rows["slope"].interval.value == pytest.approx(line.params[1], rel=1e-5)
    assert rows["intercept"].interval.value == pytest.approx(shift.params[0], rel=1e-6)


def test_scores_and_areas_by_hand():
    p, y = np.array([0.1, 0.4, 0.4, 0.8, 0.9]), np.array([0, 0, 1, 1, 1])
    rows = report(p, y)
    brier = np.mean((p - y) ** 2)
    assert rows["brier"].interval.value == pytest.approx(brier)
    assert rows["scaled_brier"].interval.value == pytest.approx(1 - brier / 0.24)
    assert rows["auroc"].interval.value == pytest.approx((2 + 2 + 1.5) / 6)
    assert all(row.interval.low is None and row.reason for row in rows.values())  # few events


def test_the_interval_of_the_area_is_that_of_delong():
    """s^2 = var V / m + var W / others, with V, W the shares of the other class that it beats."""
    p, y = overconfident(600, 3)
    found = report(p, y)["auroc"].interval
    wins = (p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])
    m, others = wins.shape
    s = np.sqrt(wins.mean(axis=1).var(ddof=1) / m + wins.mean(axis=0).var(ddof=1) / others)
    assert found.high - found.low == pytest.approx(2 * 1.96 * s, rel=0.01)
    assert found.low + found.high == pytest.approx(2 * wins.mean())


def test_scores_that_separate_all_rows_have_intervals():
    """With p of 0.01 or 0.99, most samples of 60 calibrated rows have no surprise.

    Of 200 intervals with a coverage of 0.95, fewer than 180 hold with probability 0.001.
    """
    rng, hits, drawn = np.random.default_rng(5), np.zeros(3), 0
    for _ in range(200):
        p = rng.choice([0.01, 0.99], 60)
        rows = report(p, (rng.random(60) < p).astype(int))
        found = [rows[name].interval for name in ("auroc", "scaled_brier", "brier")]
        # 99 % of the events have 0.99, and 99 % of the others 0.01: the area is 0.9801 + 0.0099
        hits += [row.low <= truth <= row.high for row, truth in zip(found, (0.99, 0.9604, 0.0099))]
        assert found[0].high <= 1.0 and found[1].high <= 1.0 and found[2].low >= 0.0
        drawn += 1
    assert (hits >= 0.9 * drawn).all(), hits


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.6, 1.0])
def test_intervals_cover(power):
    """With a coverage of 0.95, fewer than 86 of 100 intervals hold with probability 0.00014."""
    truth_p = expit(np.random.default_rng(0).normal(0.0, 1.5, 200_000))
    c = expit(power * logit(truth_p))
    truths = {
        "slope": power,
        "intercept": 0.0,
        "ici": np.abs(truth_p - c).mean(),
        "brier": ((truth_p - c) ** 2 + c * (1 - c)).mean(),
    }
    truths["scaled_brier"] = 1 - truths["brier"] / (c.mean() * (1 - c.mean()))
    hits = dict.fromkeys(truths, 0)
    for seed in range(100):
        rng = np.random.default_rng([seed, 1])
        scores = rng.normal(0.0, 1.5, 400)
        p, y = expit(scores), (rng.random(400) < expit(power * scores)).astype(int)
        data = from_arrays(p, y)
        found = clinical(data, 0.95, direction(data, 0.95), rng, join_zero=power == 1.0)
        for row in found.numbers:
            if row.name in truths:
                hits[row.name] += row.interval.low <= truths[row.name] <= row.interval.high
    assert min(hits.values()) >= 86, hits


def test_edges_have_reasons_and_no_invented_numbers():
    equal = report([0.2] * 60, [0] * 60)
    assert equal["auroc"].interval.value is None and "equal" in equal["auroc"].reason
    assert equal["slope"].interval.value is None and equal["slope"].reason
    certain = report(np.repeat([0.0, 1.0], 40), np.repeat([0, 1], 40))
    assert certain["auroc"].interval.value == 1.0 and certain["brier"].interval.value == 0.0
    assert certain["ici"].interval.value == pytest.approx(0.0, abs=1e-9)
    assert certain["slope"].interval.value is None
    assert harness.judge(np.eye(3), [0, 1, 2]).how_far.clinical is None


def test_rows_of_a_patient_widen_the_intervals():
    p, y = overconfident(200, 5)
    repeated = np.repeat(p, 5), np.repeat(y, 5)
    alone, grouped = report(p, y), report(*repeated, group_rows=np.repeat(np.arange(200), 5))
    for name in ("brier", "scaled_brier", "auroc"):
        one, other = alone[name].interval, grouped[name].interval
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.05)
    assert grouped["ici"].interval.low is not None


def test_numbers_have_names_in_json_limits_and_the_page():
    p, y = overconfident(300)
    judgement = harness.judge(p, y)
    numbers = judgement.to_json()["numbers"]
    assert {f"clinical.{name}.value" for name in LABELS} <= numbers.keys()
    assert "clinical.ici" in judgement.to_markdown() and "TRIPOD" in judgement.to_html()
    with pytest.raises(BadInputError, match=r"clinical\.slope"):
        check([parse("clinical.slop.low=1")], [from_arrays(p, y)])
