"""Confidence bounds from cross-fitted contributions: formula, coverage, and non-emptiness."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from monte_carlo import covers, near
from numpy.random import default_rng
from refusals import refuses
from scipy.integrate import quad
from scipy.optimize import isotonic_regression
from scipy.stats import binom, norm, t

import harness
from harness.calibrators import Isotonic, Temperature
from harness.estimators import Variational
from harness.estimators.variational import cross_fit
from harness.math import fold_confidence as bounds
from harness.math.folds import assign_folds
from harness.math.losses import SCALAR_LOSSES, LogLoss, Lp, Squared

L1 = (Lp(1.0),)


@dataclass(frozen=True)
class QuickIsotonic:
    """Isotonic regression without scikit-learn's checks, three times as fast."""

    determinism = "exact"

    def fit(self, p, y, rng=None):
        values, index, counts = np.unique(p, return_inverse=True, return_counts=True)
        fitted = isotonic_regression(np.bincount(index, y) / counts, weights=counts).x
        return lambda x: np.interp(x, values, fitted)


def test_the_quick_isotonic_is_the_isotonic():
    problem = harness.load_problem("beta_overconfident")
    p, y = problem.sample(200, default_rng(0))
    p[:40] = p[40:80]
    x, _ = problem.sample(100, default_rng(1))
    expected = Isotonic().fit(p, y)(x)
    np.testing.assert_allclose(QuickIsotonic().fit(p, y)(x), expected, atol=1e-12)


# The lower bound: its formula


def e_value(x, fold, a, c):
    """Return the evidence E(c) of the module's docstring, term by term.

    The stakes are 1/2, 1/4 ... 1/64 over a.
    """
    terms = []
    for j in sorted(set(fold)):
        for i in range(6):
            s = 0.5 / 2**i / a
            share = s * (c + a)
            psi = -math.log(1.0 - share) - share
            shifted = [value - c for value, k in zip(x, fold) if k == j]
            terms.append(
                math.exp(s * sum(shifted) - psi / (c + a) ** 2 * sum(d * d for d in shifted))
            )
    return sum(terms) / len(terms)


def lower(x, fold, a, level):
    sums, squares, counts = bounds.moments(np.asarray(x, float), np.asarray(fold), -a)
    return float(bounds.lower([sums], [squares], counts, [-a], level)[0])


@pytest.mark.parametrize(
    "x, fold, a, level",
    [
        ([1, 1], [0, 0], 1.0, 0.15),
        ([0.9, 0.8, 1.0], [0, 0, 0], 1.0, 0.2),
        ([1, 1, -0.2, 1], [0, 0, 1, 1], 1.0, 0.1),
        ([2, 1.5, 2, 1.9, 2, 2], [0, 1, 0, 1, 0, 0], 2.0, 0.2),
        ([2.3, 1.5, 2.3, 1.9, 2.3], [0, 0, 0, 0, 1], 2.3026, 0.25),
        ([math.sqrt(2)] * 6, [0] * 6, math.sqrt(2), 0.5),
    ],
)
def test_the_bound_is_the_largest_error_that_the_formula_refuses(x, fold, a, level):
    grid = np.linspace(0.0, a, 4001)[:-1]
    refused = [c for c in grid if e_value(x, fold, a, c) >= 1.0 / (1.0 - level)]
    assert refused, "no case: nothing is refused"
    bound = lower(x, fold, a, level)
    assert refused[-1] - 1e-9 <= bound <= refused[-1] + grid[1]
    assert e_value(x, fold, a, bound) == pytest.approx(1.0 / (1.0 - level), rel=1e-9)


def test_a_bet_wins_at_least_what_the_formula_says():
    """log(1 + l x) >= l x - psi(l) x^2 for x >= -1: equal at -1 and 0, false just below -1."""
    x = np.linspace(-1.0, 1.0, 2001)
    for share in (1e-3, 0.1, 0.5, 0.9, 0.999):
        psi = -np.log1p(-share) - share
        gap = np.log1p(share * x) - (share * x - psi * x * x)
        assert gap.min() >= -1e-12 and abs(gap[0]) < 1e-12 and abs(gap[1000]) < 1e-12
    share, x, psi = 0.5, -1.1, math.log(2.0) - 0.5
    assert math.log(1.0 + share * x) < share * x - psi * x * x


samples = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
        st.sampled_from([1.0, math.sqrt(2.0), 2.0, math.log(10.0)]),
    )
)


@given(samples)
def test_evidence_against_an_error_falls_with_the_error(sample):
    """E(c) decreases, so that there is one crossing and every smaller error is refused."""
    x, fold, a = sample
    values = [e_value([a * v for v in x], fold, a, c) for c in np.linspace(0.0, a, 40)[:-1]]
    assert all(later < earlier for earlier, later in zip(values, values[1:]))


@given(samples, st.integers(0, 100))
def test_the_bound_does_not_know_the_order_of_folds_or_samples(sample, seed):
    x, fold, a = sample
    x, fold = a * np.abs(np.tile(x, 4)), np.unique(np.tile(fold, 4), return_inverse=True)[1]
    rng = default_rng(seed)
    order, other = rng.permutation(len(x)), rng.permutation(fold.max() + 1)
    assert lower(x[order], other[fold][order], a, 0.6) == pytest.approx(
        lower(x, fold, a, 0.6), abs=1e-9
    )


@given(samples)
def test_the_bound_lies_between_no_error_and_the_largest(sample):
    x, fold, a = sample
    x, fold = a * np.tile(x, 10), np.unique(np.tile(fold, 10), return_inverse=True)[1]
    by_level = [lower(x, fold, a, level) for level in (0.3, 0.6, 0.9, 0.99)]
    assert by_level == sorted(by_level, reverse=True)
    assert 0.0 <= by_level[0] <= a
    if np.bincount(fold, x).max() <= 0.0:
        assert by_level == [0.0] * 4


def test_the_bound_of_certain_errors_nears_the_largest_error():
    by_size = [
        lower(np.full(n, 1.0), np.zeros(n, int), 1.0, 0.95) for n in (5, 10, 100, 10_000, 1_000_000)
    ]
    assert by_size[0] == 0.0 and by_size == sorted(by_size) and 0.99 < by_size[-1] < 1.0
    assert lower(np.full(100, -1.0), np.zeros(100, int), 1.0, 0.95) == 0.0


def test_several_losses_are_bounded_as_each_alone():
    rng = default_rng(0)
    fold = np.arange(300) % 5
    cases = [
        (rng.uniform(-0.5, 1.0, 300), 1.0),
        (rng.uniform(0.0, 2.0, 300), 2.0),
        (rng.uniform(-1.0, 0.5, 300), 1.0),
    ]
    parts = [bounds.moments(x, fold, -a) for x, a in cases]
    sums, squares = ([part[i] for part in parts] for i in (0, 1))
    together = bounds.lower(sums, squares, parts[0][2], [-a for _, a in cases], 0.9)
    assert together.tolist() == [lower(x, fold, a, 0.9) for x, a in cases]
    assert together[1] > together[0] > together[2] == 0.0


def test_moments_cut_what_lies_above_the_range():
    sums, squares, counts = bounds.moments(
        np.array([0.5, np.inf, -1.0, 3.0, 0.25]), np.array([0, 0, 1, 1, 1]), -1.0
    )
    assert sums.tolist() == [1.5, 0.25]
    assert squares.tolist() == [1.25, 2.0625]
    assert counts.tolist() == [2, 3]


# The lower bound: what it promises, without any sampling


@pytest.mark.parametrize("c", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_expected_evidence_against_the_truth_is_at_most_one(c, share):
    """All 2^6 outcomes of six samples in two folds.

    Folds that are copies of each other, the strongest dependence, do not expect more.
    """
    spread = min((1.0 - c) / (1.0 - share), (1.0 + c) / share) * 0.999
    high, low = c + spread * (1.0 - share), c - spread * share
    apart = copied = 0.0
    for outcome in product((high, low), repeat=6):
        chance = share ** sum(v == high for v in outcome) * (1.0 - share) ** sum(
            v == low for v in outcome
        )
        apart += chance * e_value(outcome, [0, 0, 0, 1, 1, 1], 1.0, c)
        copied += chance * e_value(outcome * 2, [0] * 6 + [1] * 6, 1.0, c)
    assert 0.5 < apart <= 1.0 and 0.5 < copied <= 1.0


@pytest.mark.parametrize(
    "n, level", [(8, 0.5), (40, 0.5), (40, 0.8), (40, 0.95), (200, 0.8), (200, 0.95)]
)
def test_the_bound_exceeds_the_truth_at_most_as_often_as_its_level_says(n, level):
    """Contributions are 1 or -1, so that the binomial law gives the exact probability.

    The bound does exceed the truth sometimes, and a normal bound does too often.
    """
    worst = normal_worst = 0.0
    hits = np.arange(n + 1)
    sums, squares = 2.0 * hits - n, np.full(n + 1, float(n))
    bound = np.array(
        [bounds.lower([[s]], [[q]], [n], [-1.0], level)[0] for s, q in zip(sums, squares)]
    )
    mean = sums / n
    normal = mean - norm.ppf(level) * np.sqrt(np.maximum(squares / n - mean**2, 0.0) / n)
    for c in np.linspace(0.0, 0.99, 34):
        chance = binom.pmf(hits, n, (1.0 + c) / 2.0)
        worst = max(worst, chance[bound > c].sum())
        normal_worst = max(normal_worst, chance[normal > c].sum())
    assert worst <= 1.0 - level < normal_worst
    assert worst > 0.02 * (1.0 - level)


def test_copied_folds_bound_as_one_fold():
    x, fold = default_rng(0).uniform(-0.2, 1.0, 60), np.zeros(60, int)
    single = lower(x, fold, 1.0, 0.95)
    assert single > 0.0
    assert lower(np.tile(x, 4), np.repeat(np.arange(4), 60), 1.0, 0.95) == pytest.approx(
        single, abs=1e-12
    )


# The lower bound: coverage of the whole estimator


def calibrated(p, rng):
    return p, (rng.random(len(p)) < p).astype(int), {}


def sharp(n, rng):
    """Sample calibrated p: 0.999 for 95 % of the samples, 1/2 for the others."""
    return calibrated(np.where(rng.random(n) < 0.95, 0.999, 0.5), rng)


def ties(n, rng):
    """Four values, calibrated."""
    return calibrated(rng.choice([0.1, 0.3, 0.5, 0.9], n), rng)


def certain(n, rng):
    """0 or 1, wrong in 2 %: l1 is 0.02, its square 0.0004, E KL infinite."""
    p = rng.integers(0, 2, n).astype(float)
    return (
        p,
        np.where(rng.random(n) < 0.02, 1.0 - p, p).astype(int),
        {"l1": 0.02, "l2_squared": 0.0004, "kl": np.inf},
    )


LOSSES = (Lp(1.0), Squared(), LogLoss())


CASES = {"sharp": sharp, "ties": ties, "certain": certain}  # others: test_lower_bounds.py


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", [QuickIsotonic(), Temperature()], ids=repr)
@pytest.mark.parametrize("case", CASES)
def test_lower_bounds_cover(case, calibrator):
    hits = {loss.name: [] for loss in LOSSES}
    estimator = Variational(calibrator, losses=LOSSES)
    for rep in range(300):
        p, y, truths = CASES[case](200, default_rng([21, rep]))
        estimates = estimator(p, y, default_rng([21, rep, 1]), notion="binary")
        for name, seen in hits.items():
            assert estimates[name].level == 0.95 and estimates[name].kind == "point"
            seen.append(0.0 <= estimates[name].low <= truths.get(name, 0.0))
    for name, seen in hits.items():
        assert covers(seen, 0.95), (name, np.mean(seen))


def test_the_bound_is_not_empty():
    problem = harness.load_problem("dirichlet3_overconfident")
    p, y = problem.sample(10_000, default_rng(6))
    estimates = Variational(Temperature())(p, y, default_rng(7), notion="canonical")
    assert 0.3 < estimates["l1"].low < problem.truth("l1").value
    for name in ("l2", "linf", "l2_squared", "kl", "top_class_l1", "top_class_l1_over"):
        truth = problem.truth(name).value
        assert truth / 2 < estimates[name].low < truth, name
    assert estimates["top_class_l1_under"].low == 0.0


# Where there is no bound


@pytest.mark.parametrize("given_to", [{"stratified": True}, {"folds": 1}])
def test_there_is_no_bound_of_stratified_folds_or_one_fold(given_to):
    p, y = harness.load_problem("beta_overconfident").sample(2000, default_rng(0))
    assert Variational(Temperature())(p, y, default_rng(1))["l1"].low > 0.0
    for e in Variational(Temperature(), **given_to)(p, y, default_rng(1)).values():
        assert e.low is None and e.high is None and e.level is None and e.kind == "point"


def test_a_loss_without_a_least_value_has_no_bound():
    class Own:
        name = "l1"

        def contribution(self, f, q, y, pivot=0.5):
            return np.sign(q - f) * (y - f)

    p, y = harness.load_problem("beta_overconfident").sample(2000, default_rng(0))
    estimates = Variational(Temperature(), losses=(Own(), Lp(2.0)))(p, y, default_rng(1))
    assert (
        estimates["l1"].low is None and estimates["l1"].level is None and estimates["l2"].low > 0.0
    )


# Half widths


def test_half_width_closed_form():
    """Folds of 3 samples 0, 1, 2: s = 1; t of 2 degrees of freedom has a closed shortfall."""
    fold, x = np.array([0, 1, 0, 1, 0, 1]), np.array([0.0, 10.0, 1.0, 11.0, 2.0, 12.0])
    for level in (0.5, 0.9, 0.95, 0.99):
        tail = (1.0 - level) / 2.0
        q = t.isf(tail, 2)
        expected = quad(lambda v: v * t.pdf(v, 2), q, np.inf)[0] / tail
        assert bounds.half_width(x, fold, level) == pytest.approx(
            expected / math.sqrt(3.0), rel=1e-6
        )
        assert bounds.half_width(x, fold, level) > q / math.sqrt(3.0)  # more than the quantile
        assert expected == pytest.approx(1.0 / (tail * math.sqrt(2.0 + q * q)), rel=1e-6)


def test_half_width_weights_folds_by_their_size():
    """Folds of 3 (s = 1) and 6 samples (s^2 = 0.8): the smaller one gives the degrees."""
    fold, x = (
        np.array([0] * 3 + [1] * 6),
        np.array([0.0, 1.0, 2.0] + [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]),
    )
    small = bounds.half_width(x[:3], fold[:3], 0.9) * math.sqrt(3.0)  # the shortfall itself
    expected = small * (1 / 3 / math.sqrt(3.0) + 2 / 3 * math.sqrt(0.8 / 6.0))
    assert bounds.half_width(x, fold, 0.9) == pytest.approx(expected, rel=1e-12)


def test_half_width_of_tiny_folds_is_none():
    assert np.isnan(bounds.half_width(np.arange(5.0), np.array([0, 0, 0, 1, 1]), 0.95))
    assert np.isfinite(bounds.half_width(np.arange(6.0), np.array([0, 0, 0, 1, 1, 1]), 0.95))


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("m", [10, 40])
def test_intervals_cover_even_if_folds_are_copies(level, m):
    """An interval for independent samples covers far less."""
    rng, reps, fold = default_rng(26), 1000, np.repeat(np.arange(5), m)
    ours, independent = [], []
    for _ in range(reps):
        x = np.tile((rng.random(m) < 0.3) - 0.3, 5)
        ours.append(abs(x.mean()) <= bounds.half_width(x, fold, level))
        independent.append(
            abs(x.mean()) <= norm.ppf((1 + level) / 2) * x.std(ddof=1) / math.sqrt(len(x))
        )
    assert covers(ours, level) and np.mean(ours) < 1.0
    assert not covers(independent, level)


# Differences of two models


@dataclass(frozen=True)
class KnowsBoth:
    """Exact C of two models with disjoint predictions: u/2 and 1/2 + u/2, P(Y = 1) = u."""

    determinism = "exact"

    def fit(self, p, y, rng=None):
        return lambda x: np.where(x < 0.5, 2.0 * x, 2.0 * x - 1.0)


def two_models(n, rng):
    """Sample u ~ Beta(2, 1): the L1 errors are 1/3 and 1/6, the squared ones 1/8 and 1/24."""
    u = rng.beta(2.0, 1.0, n)
    return u / 2.0, 0.5 + u / 2.0, (rng.random(n) < u).astype(int)


def test_swapped_models_change_the_sign():
    first, second, y = two_models(150, default_rng(0))
    forward = harness.paired_difference(first, second, y, default_rng(1), level=0.9)
    other = harness.paired_difference(second, first, y, default_rng(1), level=0.9)
    assert set(forward) == {loss.name for loss in SCALAR_LOSSES}
    for name, e in forward.items():
        assert (e.value, e.low, e.high) == pytest.approx(
            (-other[name].value, -other[name].high, -other[name].low), abs=1e-12
        )
        assert e.low < e.value < e.high and e.level == 0.9


@pytest.mark.parametrize("notion", ["binary", "top_label", "canonical"])
def test_the_difference_is_that_of_the_estimates_on_the_same_folds(notion):
    """Under top_label each model is judged by its own top class, with labels of its own."""
    if notion == "binary":
        first, second, y = two_models(100, default_rng(0))
    else:
        first, y = harness.load_problem("dirichlet3_overconfident").sample(100, default_rng(0))
        second = default_rng(1).permuted(first, axis=1)
    reduced = [harness.reduce(p, y, notion) for p in (first, second)]
    if notion == "top_label":
        assert (reduced[0][1] != reduced[1][1]).any()
    for repeats in (1, 3):
        estimator = Variational(Temperature(), repeats=repeats)
        difference = harness.paired_difference(first, second, y, default_rng(5), estimator, notion)
        stream, alone = default_rng(5), []
        for _ in range(repeats):
            fold = assign_folds(reduced[0][1], estimator.folds, False, stream)
            stream.integers(
                2**31 - 1
            )  # the seed of the fits, which temperature scaling does not use
            held_out = [
                (p, labels, [(fold, cross_fit(Temperature(), p, labels, fold, None))])
                for p, labels in reduced
            ]
            alone.append([estimator.evaluate(*sample, notion) for sample in held_out])
        for name, e in difference.items():
            gaps = [sample[name].value - other[name].value for sample, other in alone]
            assert e.value == pytest.approx(np.mean(gaps), abs=1e-12), name
            if repeats == 1:
                assert e.diagnostics is None
            else:
                assert e.diagnostics["split_sd"] == pytest.approx(np.std(gaps, ddof=1), abs=1e-12)
                assert name != "l2_squared" or e.diagnostics["split_sd"] > 1e-6


def test_the_interval_covers_a_known_difference():
    """With exact maps the expected differences are 1/3 - 1/6 and 1/8 - 1/24."""
    truths = {"l1": 1 / 6, "l2_squared": 1 / 12}
    hits, errors, estimates = {name: [] for name in truths}, {name: [] for name in truths}, {}
    for rep in range(250):
        rng = default_rng([27, rep])
        estimates = harness.paired_difference(
            *two_models(200, rng), rng, Variational(KnowsBoth(), losses=(Lp(1.0), Squared()))
        )
        for name, truth in truths.items():
            hits[name].append(estimates[name].low <= truth <= estimates[name].high)
            errors[name].append(estimates[name].value - truth)
    for name in truths:
        assert covers(hits[name], 0.95)
        assert near(errors[name], 0.0, errors=3)
    rng = default_rng(28)
    estimates = harness.paired_difference(
        *two_models(4000, rng), rng, Variational(KnowsBoth(), losses=(Lp(1.0), Squared()))
    )
    assert all(
        0.0 < e.low < truths[name] < e.high < 2 * truths[name] for name, e in estimates.items()
    )  # and is not empty


def test_tiny_folds_give_a_point():
    """8 samples in 5 folds: some have one."""
    first, second, y = two_models(8, default_rng(0))
    for e in harness.paired_difference(first, second, y, default_rng(1)).values():
        assert (e.low, e.high, e.level, e.kind) == (None, None, None, "point")
        assert np.isfinite(e.value)


COLUMNS = np.full((30, 3), 1 / 3)
IMPOSSIBLE = {
    "p has 3 classes; the binary notion needs": dict(p_second=COLUMNS),
    "p has 20 rows but y has 30 labels": dict(p_second=np.full(20, 0.5)),
    "p holds 1.5 at row 0": dict(p_second=np.full(30, 1.5)),
    "no paired interval for a single fold": dict(estimator=Variational(folds=1)),
    "no paired interval for stratified folds": dict(estimator=Variational(stratified=True)),
    "p_second reduces to shape (30, 3)": dict(
        p_first=np.full((30, 2), 1 / 2), p_second=COLUMNS, notion="canonical"
    ),
    "no paired interval for the class-wise notion": dict(notion="classwise"),
    "notion is 'calibration'": dict(notion="calibration"),
    "rng is missing": dict(rng=None),
    "level is 1.0": dict(level=1.0),
}


@pytest.mark.parametrize("words", IMPOSSIBLE)
def test_impossible_pairs_are_refused(words):
    usual = dict(p_first=np.full(30, 0.5), p_second=np.full(30, 0.4), y=np.arange(30) % 2)
    given = usual | {"rng": default_rng(0)} | IMPOSSIBLE[words]
    refuses(lambda: harness.paired_difference(**given), words)


def test_an_infinite_loss_of_both_models_is_no_difference_of_zero():
    """An outcome that both models call impossible: infinity minus infinity has no interval."""
    p, y = np.r_[0.0, np.full(49, 0.5)], np.r_[1, np.arange(49) % 2]
    with np.errstate(invalid="ignore"):
        estimates = harness.paired_difference(p, p, y, default_rng(0), Variational(Temperature()))
    assert (
        np.isnan(estimates["kl"].value)
        and estimates["kl"].low is None
        and estimates["kl"].kind == "point"
    )
    assert estimates["l1"].low is not None
