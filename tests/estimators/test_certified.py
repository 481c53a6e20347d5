"""Certified bounds: closed forms, steps of the proofs, coverage, the effect of missing terms."""

import dataclasses
import math

import numpy as np
import pytest
from golden_data import optimality_gap, tv_denoise
from hypothesis import given
from hypothesis import strategies as st
from monte_carlo import least_share
from slow_params import slow

from harness import BadInputError, UndefinedError, load_estimator, load_problem
from harness.estimators import (
    BVWindow,
    CertifiedInterval,
    LipBkt,
    LowerPreq,
    NWJensen,
    NWKfold,
    TVInsample,
)
from harness.estimators.certified.base import deviation_width, sort_by_score
from harness.estimators.certified.denoising import tvb
from harness.estimators.certified.rank_window_kernels import rank_windows, smooth_ranks
from harness.math.concentration import dkw, empirical_bernstein, kl_lower, kl_upper

UPPER = (
    "tv_kfold", "tv_kfold_basic", "tv_insample", "bv_window", "nw_kfold", "nw_kfold_ciosek2026",
    "nw_kfold_first_order",
    "nw_jensen", "nw_jensen_histogram", "lip_bkt", "lip_bkt_jensen",
)  # fmt: skip
DERIVATIVES = tuple(name for name in UPPER if name.startswith(("nw", "lip")))
ALL = (*UPPER, "lower_preq", "certified_interval", "certified_interval_perturbed")


def rng(seed=0):
    return np.random.default_rng(seed)


def bound(name, p, y, seed=0, **fields):
    estimator = load_estimator(name, **fields)
    return estimator(np.asarray(p, float), np.asarray(y), rng(seed))["l1"]


# Widths


def test_widths_by_hand():
    assert deviation_width(1 / 50, math.exp(-1)) == pytest.approx(0.1)
    assert dkw(50, 2 * math.exp(-1)) == pytest.approx(0.1)
    assert empirical_bernstein(0.0, 8, 2 * math.exp(-3)) == pytest.approx(1.0)
    assert empirical_bernstein(0.5, 1, 0.1) == math.inf


def test_kl_inversion_by_hand():
    """kl(0 || p) = -ln(1 - p); kl(1/2 || p) = -ln(4 p (1 - p)) / 2."""
    assert kl_upper(0.0, 0.3) == pytest.approx(1 - math.exp(-0.3), abs=1e-15)
    assert kl_lower(1.0, 0.3) == pytest.approx(math.exp(-0.3), abs=1e-15)
    assert kl_upper(0.5, -0.5 * math.log(4 * 0.8 * 0.2)) == pytest.approx(0.8, abs=1e-14)
    assert kl_upper(1.0, 0.1) == 1.0
    assert kl_lower(0.0, 0.1) == 0.0
    assert kl_upper(0.3, 0.0) == pytest.approx(0.3, abs=1e-7)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 5))
def test_kl_inversion_is_monotone_and_mirrored(q, other, c):
    low, high = sorted((q, other))
    assert kl_lower(low, c) <= kl_lower(high, c) + 1e-12
    assert kl_upper(low, c) <= kl_upper(high, c) + 1e-12
    assert kl_lower(q, c) <= q <= kl_upper(q, c)
    assert kl_upper(q, c) == pytest.approx(1 - kl_lower(1 - q, c), abs=1e-7)


# Total-variation denoising


def test_two_points_by_hand():
    """Each point moves by strength / weight towards the other point, at most to the weighted
    mean.
    """
    assert tv_denoise([0.0, 1.0], [1.0, 2.0], 0.3) == pytest.approx([0.3, 0.85])
    assert tv_denoise([0.0, 1.0], [1.0, 2.0], 0.7) == pytest.approx([2 / 3, 2 / 3])
    assert tv_denoise([0.0, 1.0], [1.0, 2.0], 0.0) == pytest.approx([0.0, 1.0])
    assert tv_denoise([0.4], [3.0], 9.0) == pytest.approx([0.4])


values = st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 50)), min_size=1, max_size=60)


@given(values, st.floats(0, 60))
def test_optimality_certificate(points, strength):
    """Only the minimiser meets the conditions. It stays in the range of the data."""
    y, weights = np.array(points).T
    v = tv_denoise(y, weights, strength)
    assert optimality_gap(y, weights, v, strength) <= 1e-10 * max(1.0, weights.sum())
    assert y.min() - 1e-12 <= v.min() and v.max() <= y.max() + 1e-12
    moved = v.copy()
    moved[len(v) // 2] += 0.01
    assert optimality_gap(y, weights, moved, strength) > 1e-4  # the certificate can fail


def test_runs_of_equal_labels_change_nothing():
    """Grouping ties and merging equal neighbours does not change the denoised labels."""
    r = rng(3)
    scores = np.sort(r.integers(0, 60, 400) / 59)
    labels = (r.random(400) < scores).astype(np.uint8)
    groups, counts = np.unique(scores, return_counts=True)
    means = np.bincount(np.searchsorted(groups, scores), labels) / counts
    e = TVInsample()(scores, labels.astype(int))["l1"]
    v = tv_denoise(means, counts, 400 * e.diagnostics["lambda"])
    assert e.diagnostics["empirical"] == pytest.approx(counts @ np.abs(v - groups) / 400, abs=1e-12)
    assert e.diagnostics["variation_fitted"] == pytest.approx(np.abs(np.diff(v)).sum(), abs=1e-12)
    assert e.diagnostics["lambda"] == pytest.approx(
        math.sqrt(math.log(4 * (len(groups) - 1) / 0.045) / 3200)
    )


def test_error_at_the_scores():
    """TVB bounds the error on all 200 draws at delta = 0.5, within a factor of ten."""
    n, worst = 500, 0.0
    for seed in range(200):
        r = rng(seed)
        s = np.sort(r.random(n))
        y = (r.random(n) < s**2).astype(float)
        limit = tvb(n, n, 1.0, 0.5)
        v = tv_denoise(y, np.ones(n), n * math.sqrt(math.log(4 * (n - 1) / 0.5) / 8 / n))
        worst = max(worst, math.sqrt(((v - s**2) ** 2).mean()) / limit)
    assert 0.1 < worst < 1.0


# Sorting and windows


def test_sorting_keeps_each_label_with_its_score():
    r = rng(1)
    p = np.concatenate([r.random(50), [0.0, -0.0, 1.0, 0.5, np.nextafter(0.5, 1), 5e-324]])
    y = r.integers(0, 2, len(p))
    scores, labels = sort_by_score(p, y)
    order = np.lexsort((y, p))
    assert (scores == p[order]).all() and (labels == y[order]).all()


def test_rank_windows_by_hand():
    """Three equal scores exceed the window of two: they form their own window."""
    low, high = rank_windows(np.array([0.1, 0.2, 0.3, 0.3, 0.3, 0.4, 0.5]), 2)
    assert low.tolist() == [0, 0, 2, 2, 2, 5, 5] and high.tolist() == [2, 2, 5, 5, 5, 7, 7]


@pytest.mark.parametrize("levels", [7, 40, 10**9])
def test_share_beyond_a_boundary(levels):
    """Largest A_t and column sums equal their definitions."""
    r = rng(levels)
    scores = np.sort(np.round(r.random(150) * levels) / levels)
    labels = r.integers(0, 2, 150).astype(np.uint8)
    low, high = rank_windows(scores, 9)
    weights = np.array(
        [[(lo <= i < hi) / (hi - lo) for i in range(150)] for lo, hi in zip(low, high)]
    )
    shares = [
        (weights[:t, t:].sum() + weights[t:, :t].sum()) / 150
        for t in range(1, 150)
        if scores[t] != scores[t - 1]
    ]
    gap, largest, squares = smooth_ranks(scores, labels, 9)
    assert largest == pytest.approx(max(shares), abs=1e-12)
    assert squares == pytest.approx((weights.sum(axis=0) ** 2).sum() / 150**2, abs=1e-12)
    assert gap == pytest.approx(np.abs(weights @ labels - scores).mean(), abs=1e-12)


def test_bias_bounds_hold_for_any_eta():
    """The bias term bounds the smoothing error of steps and of eta with known derivatives."""
    r = rng(5)
    s = np.sort(r.random(300))
    low, high = rank_windows(s, 20)
    for _ in range(50):
        jumps = np.sort(r.random(3))
        eta = np.searchsorted(jumps, s) / 3
        bias = np.mean([abs(eta[lo:hi].mean() - e) for lo, hi, e in zip(low, high, eta)])
        assert bias <= smooth_ranks(s, np.zeros(300, np.uint8), 20)[1] + 1e-12
    h, b = 1 / 16, 0.05
    for form in ({}, {"histogram": 12}):
        limit = NWJensen(h=h, bandwidth=b, **form)(s, np.zeros(300, int))["l1"].diagnostics["bias"]
        worst = 0.0
        for phase in np.linspace(0, 6, 30):
            eta = 0.5 + 0.5 * np.sin(s / h + phase) * min(
                1.0, h * 16
            )  # |eta'| <= 1/(2h), |eta''| <= 1/(2h^2)
            worst = max(
                worst, np.mean([abs(eta[np.abs(s - x) <= b].mean() - e) for x, e in zip(s, eta)])
            )
        assert limit / 4 < worst <= limit


# Every bound


@pytest.mark.parametrize(
    "name", [name for name in ALL if load_estimator(name).determinism == "rounding"]
)
def test_swapped_labels_and_mirrored_scores_have_the_same_bound(name):
    """Scores 1 - s with labels 1 - y have the same error, and the same bound if it is
    deterministic.
    """
    r = rng(2)
    p = (r.integers(0, 2**20, 600) + 0.5) / 2**20
    y = (r.random(600) < p**2).astype(int)
    assert bound(name, p, y).high == pytest.approx(bound(name, 1 - p, 1 - y).high, abs=1e-9)


@pytest.mark.parametrize("name", UPPER)
def test_the_parts_of_a_bound_add_up(name):
    """The bound is the combination of its parts."""
    p, y = load_problem("score_sine_perturbed").sample(3000, rng(4))
    e = bound(name, p, y)
    if "before_transfer" in e.diagnostics:
        x = e.diagnostics
        assert x["before_transfer"] == pytest.approx(
            min(1.0, x["empirical"] + x["bias"] + x["deviation"])
        )
        assert e.high == pytest.approx(
            kl_upper(x["before_transfer"], math.log(1 / x["delta_2"]) / 3000)
        )
    else:
        assert e.high == pytest.approx(
            sum(e.diagnostics.get(k, 0.0) for k in ("empirical", "bernstein", "bias", "deviation"))
        )
    assert e.kind == "upper" and e.value == e.high and e.level == 0.95


def test_interval_halves_delta():
    p, y = load_problem("score_sine_perturbed").sample(5000, rng(4))
    e = bound("certified_interval", p, y)
    assert e.low == LowerPreq(level=0.975)(p, y, rng())["l1"].low
    assert e.high == BVWindow(level=0.975)(p, y)["l1"].high
    both = CertifiedInterval(uppers=(BVWindow(), NWJensen()))(p, y, rng())["l1"]
    assert both.high == min(
        BVWindow(level=0.9875)(p, y)["l1"].high, NWJensen(level=0.9875)(p, y)["l1"].high
    )
    assert e.value == (e.low + e.high) / 2 and e.kind == "interval"


def test_derived_bounds_are_tighter():
    """At n = 10^4, on every synthetic function."""
    pairs = {
        "tv_insample": "tv_kfold",
        "bv_window": "tv_kfold",
        "nw_jensen": "nw_kfold_first_order",
        "lip_bkt_jensen": "lip_bkt",
    }
    for problem in ("calibrated", "sine", "sigmoid", "steps", "waves", "saturated"):
        instance = load_problem(f"score_{problem}_perturbed")
        p, y = instance.sample(10_000, rng(6))
        for derived, paper in pairs.items():
            fields = {"variation": instance.variation} if derived[:2] in ("tv", "bv") else {}
            assert bound(derived, p, y, **fields).high < bound(paper, p, y, **fields).high


def test_nothing_is_certified_by_a_false_assumption():
    waves, steps = load_problem("score_waves_perturbed"), load_problem("score_steps")
    p, y = waves.sample(200, rng())
    with pytest.raises(UndefinedError, match="variation"):
        BVWindow()(p, y, rng(), problem=waves)
    assert (
        BVWindow(variation=None)(p, y, rng(), problem=waves)["l1"].diagnostics["variation"]
        == waves.variation
    )
    with pytest.raises(UndefinedError, match="declares no variation"):
        TVInsample(variation=None)(p, y)
    with pytest.raises(UndefinedError, match="h of at least 0.03"):
        NWJensen(h=1 / 32)(p, y, rng(), problem=waves)
    with pytest.raises(UndefinedError, match="not perturbed|declares no perturbation"):
        NWKfold(h=None if not hasattr(steps, "perturbation") else 1 / 64)(
            p, y, rng(), problem=steps
        )


# Coverage. The full study is experiment=ciosek2026_coverage

REPS = 120
PROBLEMS = ("sine_perturbed", "waves_perturbed", "ties", "ends", "rare_atom", "coin", "square12")


@pytest.mark.parametrize("name", [*PROBLEMS[2:], *slow(*PROBLEMS[:2])])
def test_coverage(name):
    """At level 0.5, n = 1,000, a bound covers half of the draws, less three standard errors."""
    problem = load_problem(f"score_{name}")
    truth = problem.truth("l1").value
    left_out = {"tv_kfold_basic", "nw_jensen_histogram", "nw_kfold", "certified_interval"}
    if "perturbed" not in name:
        left_out |= {*DERIVATIVES, "certified_interval_perturbed"}
    names = [n for n in ALL if n not in left_out]
    covered = dict.fromkeys(names, 0)
    estimators = {}
    for n in names:
        fields = {"variation": problem.variation} if n[:2] in ("tv", "bv") else {}
        estimators[n] = load_estimator(n, level=0.5, **fields)
    for rep in range(REPS):
        p, y = problem.sample(1000, rng([7, rep]))
        for n in names:
            e = estimators[n](p, y, rng([8, rep]))["l1"]
            covered[n] += (e.low is None or e.low <= truth + 1e-12) and (
                e.high is None or truth <= e.high + 1e-12
            )
    least = least_share(0.5, REPS)
    assert {n: c for n, c in covered.items() if c / REPS < least} == {}


def test_a_higher_level_widens_every_bound():
    p, y = load_problem("score_sine_perturbed").sample(2000, rng(1))
    for name in ALL:
        wide, narrow = (
            dataclasses.replace(load_estimator(name), level=level)(p, y, rng(3))["l1"]
            for level in (0.99, 0.5)
        )
        assert wide.high is None or wide.high > narrow.high
        assert wide.low is None or wide.low <= narrow.low


def test_neighbouring_numbers():
    """Two adjacent floats with eta 0 and 1: the midpoint rounds to one. The error is 1/2."""
    first = np.random.default_rng(1).random(100_000) < 0.5
    for a in (0.9, np.nextafter(0.9, 1.0)):
        p = np.where(first, a, np.nextafter(a, 1.0))
        for name in ("tv_kfold", "tv_insample", "bv_window"):
            assert bound(name, p, (~first).astype(int)).high > 0.5 - 1e-9


def test_crossing_ends_refute_the_assumption():
    """An upper bound with a false assumption lies below the lower bound."""
    p = rng(3).random(100_000)
    y = (rng(4).random(100_000) < p + p * (1 - p) * np.sin(16 * np.pi * p)).astype(int)
    with pytest.raises(UndefinedError, match="refuted"):
        CertifiedInterval(uppers=(NWJensen(h=10.0, bandwidth=0.125),))(p, y, rng(5))


def test_revision_of_an_interval_is_that_of_its_bounds():
    assert CertifiedInterval().revision == (1, LowerPreq.revision, BVWindow.revision)
    assert CertifiedInterval(uppers=(NWJensen(),)).revision != (
        1,
        LowerPreq.revision,
        NWJensen.revision + 1,
    )


def test_unreduced_scores_and_whole_floats():
    with pytest.raises(BadInputError, match=r"p has shape \(2, 2\)"):
        BVWindow()(np.array([[0.5, 0.5], [0.1, 0.9]]), [0, 1])
    p, y = rng().random(200), rng().integers(0, 2, 200)
    assert LipBkt(buckets=7.0)(p, y)["l1"].high == LipBkt(buckets=7)(p, y)["l1"].high
    assert NWJensen(histogram=10.0)(p, y)["l1"].high == NWJensen(histogram=10)(p, y)["l1"].high
    assert LipBkt(h=1e-300)(p, y)["l1"].high == 1.0
    assert LipBkt(h=1e-300, form="jensen")(p, y)["l1"].diagnostics["bias"] == 0.0
    assert BVWindow(variation=1e-310)(p, y)["l1"].diagnostics["window"] == 200
