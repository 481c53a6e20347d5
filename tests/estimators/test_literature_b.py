"""Estimators of the literature: closed forms, enumerations, their authors' numbers, edge cases."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from monte_carlo import covers
from numpy.random import default_rng
from scipy.stats import binom, norm

import harness
from harness import UndefinedError, load_estimator
from harness.calibrators import Isotonic, Mixture, Temperature
from harness.estimators import (
    SKCE,
    DebiasedInterval,
    IntervalCE,
    KDETopLabel,
    LaplaceKCE,
    NormalDebiased,
    RootBrier,
    ScalingBinning,
    SKCEBlockTest,
    TCal,
)
from harness.estimators.binned import bin_means
from harness.estimators.debiased_interval import variance
from harness.estimators.interval_ce import shifted_error
from harness.estimators.normal_debiased import folded_mean
from harness.estimators.variational import cross_fit
from harness.math.folds import assign_folds

GOLDEN = Path(__file__).parents[1] / "golden" / "literature"
NUMBERS = json.loads((GOLDEN / "b_numbers.json").read_text())
CONTINUOUS = ("over", "flat")
ALL = (*CONTINUOUS, "lattice")


def sample(name):
    with np.load(GOLDEN / "b_samples.npz") as kept:
        return kept[f"{name}_p"], kept[f"{name}_y"].astype(np.int64)


def values(estimator, p, y, rng=0):
    return {
        name: e.value
        for name, e in estimator(np.asarray(p), np.asarray(y), default_rng(rng)).items()
    }


def all_labels(n):
    return np.array(list(itertools.product((0, 1), repeat=n)))


def probability(labels, c):
    return np.where(labels == 1, c, 1 - c).prod(axis=1)


# The squared error from pairs: its interval, and T-Cal


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bins", [2, 8, 16, 64])
def test_tcal_equals_the_authors_statistic(name, bins):
    estimate = TCal(bins=bins, resamples=1)(*sample(name), default_rng(0))["l2_squared"]
    assert estimate.value == pytest.approx(NUMBERS[name][f"tcal_{bins}"], abs=1e-12)
    assert DebiasedInterval(bins=bins)(*sample(name))["l2_squared"].value == pytest.approx(
        estimate.value, abs=1e-12
    )


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("bins", [5, 15])
def test_the_interval_follows_from_the_authors_statistic_and_variance(name, bins):
    (p, y), (value, v) = sample(name), NUMBERS[name][f"ci_{bins}"]
    estimate = DebiasedInterval(bins=bins)(p, y)["l2_squared"]
    index = np.searchsorted(np.arange(1, bins) / bins, p, side="right")
    sizes, sums, squares = (
        np.bincount(index, x, minlength=bins) for x in (np.ones(len(p)), y - p, (y - p) ** 2)
    )
    assert estimate.value == pytest.approx(value, abs=1e-12)
    assert variance(sizes, sums, squares) == pytest.approx(v, abs=1e-12)
    top, s = max(value, 0.0), np.sqrt(v / len(p))
    assert estimate.high == pytest.approx(top + norm.ppf(0.975) * s, abs=1e-12)
    if value < norm.ppf(0.95) * estimate.diagnostics["null_sd"]:
        assert estimate.low == 0.0
    elif top >= 2 * norm.ppf(0.975) * s:
        assert estimate.low == pytest.approx(top - norm.ppf(0.975) * s, abs=1e-12)
    else:
        assert estimate.low == pytest.approx(
            top / 2 if top >= 2 * norm.ppf(0.95) * s else max(top - norm.ppf(0.95) * s, 0),
            abs=1e-12,
        )


def test_mean_and_null_deviation_by_all_labels():
    """All 32 labels of five samples in two bins: exact mean, and null_sd under calibration."""
    p, c = np.array([0.1, 0.2, 0.4, 0.6, 0.9]), np.array([0.3, 0.6, 0.5, 0.5, 0.7])
    labels, estimator = all_labels(5), DebiasedInterval(bins=2)
    estimates = [estimator(p, y)["l2_squared"] for y in labels]
    t = np.array([e.value for e in estimates])
    d = c - p
    expected = (2 * (d[0] * d[1] + d[0] * d[2] + d[1] * d[2]) / 2 + 2 * d[3] * d[4]) / 5
    assert probability(labels, c) @ t == pytest.approx(expected, abs=1e-12)
    null = probability(labels, p)
    assert null @ t == pytest.approx(0.0, abs=1e-12)
    assert {round(e.diagnostics["null_sd"], 12) for e in estimates} == {
        round(np.sqrt(null @ t**2), 12)
    }


def test_tcal_p_value_is_the_probability_of_labels_as_extreme():
    """The p-value is P(T* >= T) over all 16 labels of four samples, up to 4,000 draws."""
    p, y = np.array([0.1, 0.15, 0.6, 0.8]), np.array([1, 0, 0, 0])

    def top(labels):
        r, scaled = labels - p, []
        for m in (2, 4, 8):  # 2^floor(2 log2(4 / sqrt(ln 4))) = 8
            index = np.minimum((p * m).astype(int), m - 1)
            pairs = [(i, j) for i, j in itertools.combinations(range(4), 2) if index[i] == index[j]]
            weights = np.array(
                [2 / (np.count_nonzero(index == index[i]) - 1) / 4 for i, _ in pairs]
            )
            if pairs:
                c = p * (1 - p)
                t = weights @ [r[i] * r[j] for i, j in pairs]
                scaled.append(t / np.sqrt(weights**2 @ [c[i] * c[j] for i, j in pairs]))
        return max([*scaled, 0.0 if len(scaled) < 3 else -np.inf])

    labels = all_labels(4)
    tops = np.array([top(y_) for y_ in labels])
    exact = probability(labels, p)[tops >= top(y) - 1e-9].sum()
    p_value = values(TCal(resamples=4000), p, y)["p_value"]
    assert p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000) + 1 / 4000)
    assert 0.0 < exact < 1.0


def test_tcal_rejects_what_cancels_in_few_bins():
    """The error changes its sign 16 times, so that wide bins see nothing."""
    rng = default_rng(0)
    p = rng.uniform(0.2, 0.8, 2000)
    y = (rng.random(2000) < p + 0.18 * np.sign(np.sin(32 * np.pi * p))).astype(int)
    p_value = TCal()(p, y, rng)["p_value"]
    assert p_value.value == 1 / 200
    assert (
        abs(DebiasedInterval(bins=2)(p, y)["l2_squared"].value)
        < 0.003
        < DebiasedInterval(bins=64)(p, y)["l2_squared"].value
    )


@pytest.mark.slow
def test_tests_hold_their_level_and_intervals_cover():
    """Rejections at 0.05 and coverage at 0.95 over 400 samples, within 3 standard errors."""
    calibrated, over = (
        harness.load_problem(f"beta_{name}") for name in ("calibrated", "overconfident")
    )
    truth = over.truth("l2_squared", "binary").value
    tests = (TCal(resamples=99), SKCEBlockTest())
    rejected, covered = np.zeros((400, 2)), np.zeros((400, 2))
    for rep in range(400):
        p, y = calibrated.sample(300, default_rng([3, rep]))
        rejected[rep] = [
            test(p, y, default_rng([4, rep]))["p_value"].value <= 0.05 for test in tests
        ]
        at_zero = DebiasedInterval(bins=50)(p, y)["l2_squared"]
        other = DebiasedInterval(bins=50)(*over.sample(300, default_rng([5, rep])))["l2_squared"]
        covered[rep] = at_zero.low <= 0.0, other.low <= truth <= other.high
    assert all(covers(1 - column, 0.95) for column in rejected.T)
    assert all(covers(column, 0.95) for column in covered.T)


# The debiased L1 error


def test_folded_mean_is_the_integral():
    x = np.linspace(-12, 12, 200001)
    for mean, deviation in ((0.0, 1.0), (0.4, 0.7), (2.0, 0.3)):
        expected = np.trapezoid(np.abs(mean + deviation * x) * norm.pdf(x), x)
        assert folded_mean(np.array([mean]), np.array([deviation]))[0] == pytest.approx(
            expected, rel=1e-7
        )
    assert folded_mean(np.array([0.3]), np.array([0.0]))[0] == 0.3


@pytest.mark.parametrize("name", CONTINUOUS)
def test_debiased_l1_equals_the_package_up_to_its_resampling(name):
    expected, error, plug_in = NUMBERS[name]["normal_debiased"]
    p, y = sample(name)
    sizes, mean_p, mean_y = bin_means(p, y, 15, "mass")
    assert sizes / len(p) @ np.abs(mean_p - mean_y) == pytest.approx(plug_in, abs=1e-12)
    assert values(NormalDebiased(), p, y)["l1"] == pytest.approx(expected, abs=4 * error)


def test_debiased_l1_keeps_a_known_share_of_the_excess():
    """One bin of 400 samples of probability 1/2 keeps 2 - sqrt 2 of the plug-in's excess."""
    n, estimator = 400, NormalDebiased(bins=1)
    law = binom.pmf(np.arange(n + 1), n, 0.5)
    likely = np.flatnonzero(law > 1e-9)
    p = np.full(n, 0.5)
    debiased = np.array([values(estimator, p, np.arange(n) < k)["l1"] for k in likely])
    assert law[likely] @ debiased / (law[likely] @ np.abs(likely / n - 0.5)) == pytest.approx(
        2 - np.sqrt(2), abs=0.005
    )


# The debiased root


@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_root_equals_the_package(name):
    p, y = sample(name)
    assert values(ScalingBinning(), p, y)["rms"] == pytest.approx(
        NUMBERS[name]["rms_scaling_binning"], abs=1e-12
    )
    assert values(ScalingBinning(bins=10), p, y)["rms"] == pytest.approx(
        NUMBERS[name]["rms_scaling_binning_10"], abs=1e-12
    )


def test_the_package_switches_to_the_values_of_a_binned_model():
    p, y = sample("nine")
    assert values(ScalingBinning(rule="auto"), p, y)["rms"] == pytest.approx(
        NUMBERS["nine"]["rms_values"], abs=1e-12
    )
    p, y = sample("over")
    assert values(ScalingBinning(rule="auto"), p, y) == values(ScalingBinning(), p, y)


def test_the_squared_error_of_values_is_unbiased_by_all_labels():
    """Ten samples of two values, each five times."""
    p, c, labels = np.repeat([0.2, 0.7], 5), np.repeat([0.4, 0.6], 5), all_labels(10)
    squared = np.array([values(ScalingBinning(rule="auto"), p, y)["l2_squared"] for y in labels])
    assert probability(labels, c) @ squared == pytest.approx((0.2**2 + 0.1**2) / 2, abs=1e-12)


# kernel densities


@pytest.mark.parametrize("name", ALL)
def test_kernel_densities_equal_the_authors(name):
    estimates = KDETopLabel()(*sample(name))
    assert estimates["l1"].value == pytest.approx(NUMBERS[name]["kde_l1"], abs=1e-9)
    assert estimates["l2_squared"].value == pytest.approx(NUMBERS[name]["kde_l2_squared"], abs=1e-9)
    assert estimates["l1"].diagnostics["bandwidth"] == pytest.approx(
        NUMBERS[name]["kde_bandwidth"], rel=1e-12
    )


@pytest.mark.parametrize("p", [0.05, 0.3, 0.97])
def test_kernel_densities_of_constant_predictions(p):
    errors = values(KDETopLabel(), np.full(10, p), [1] * 6 + [0] * 4)
    assert errors["l1"] == pytest.approx(abs(p - 0.6), abs=1e-3)
    assert values(KDETopLabel(), np.full(10, p), [0] * 10)["l1"] == pytest.approx(p, abs=1e-3)


# The interval calibration error


def test_interval_error_closed_forms():
    """One sample, or two equal samples, lie in one bin. Opposite residuals cancel for some
    shifts.
    """
    assert values(IntervalCE(), [0.3], [1])["interval_ce"] == pytest.approx(0.7 + 2**-9)
    assert values(IntervalCE(), [0.3, 0.3], [1, 0])["interval_ce"] == pytest.approx(0.2 + 2**-9)
    p, sums = np.array([0.375, 0.625]), np.array([0.0, 0.1875, 0.0])
    for w in (0.25, 0.5, 1.0):
        assert shifted_error(p, sums, w) == pytest.approx(0.375 * 0.25 / w)


def test_interval_error_equals_the_package():
    assert values(IntervalCE(), *sample("lattice"))["interval_ce"] == pytest.approx(
        NUMBERS["lattice"]["interval"], abs=1e-12
    )
    for name in CONTINUOUS:
        mean, error = NUMBERS[name]["interval_mc"]
        assert values(IntervalCE(), *sample(name))["interval_ce"] == pytest.approx(
            mean, abs=4 * error
        )


# Laplace's kernel


def test_laplace_closed_form():
    errors = values(LaplaceKCE(), [0.0, 1.0], [1, 0])  # residuals 1 and -1 at distance 1
    assert errors["laplace_kce"] == pytest.approx(np.sqrt((1 - np.exp(-1)) / 2))
    assert errors["laplace_kce_squared"] == pytest.approx(-np.exp(-1))
    assert np.isnan(values(LaplaceKCE(), [0.3], [1])["laplace_kce_squared"])  # no pair


@pytest.mark.parametrize("width", [0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ALL)
def test_laplace_sums_equal_the_double_sum(name, width):
    p, y = sample(name)
    products = np.outer(y - p, y - p) * np.exp(-np.abs(p[:, None] - p) / width)
    errors, n = values(LaplaceKCE(width), p, y), len(p)
    assert errors["laplace_kce"] == pytest.approx(np.sqrt(products.sum()) / n, abs=1e-10)
    assert errors["laplace_kce_squared"] == pytest.approx(
        (products.sum() - np.trace(products)) / n / (n - 1), abs=1e-10
    )


@pytest.mark.parametrize("name", ALL)
def test_laplace_error_equals_the_package_over_all_pairs(name):
    assert values(LaplaceKCE(), *sample(name))["laplace_kce"] == pytest.approx(
        NUMBERS[name]["laplace"], abs=1e-9
    )


# The root of the Brier score


def test_root_brier_on_two_columns_is_twice_the_scalar():
    p, y = sample("over")
    scalar, vector = RootBrier()(p, y), RootBrier()(np.column_stack([1 - p, p]), y)
    assert vector["l2_squared"].high == pytest.approx(2 * scalar["l2_squared"].high, rel=1e-12)
    assert scalar["l1"].diagnostics["rbs"] == pytest.approx(np.sqrt(np.mean((p - y) ** 2)))
    assert (
        scalar["rms"].high == scalar["l1"].high == pytest.approx(np.sqrt(scalar["l2_squared"].high))
    )
    assert set(vector) == {"l2", "rms", "l2_squared"}
    assert all(e.kind == "upper" for e in vector.values())


@pytest.mark.parametrize(("n", "c"), [(10, 0.3), (50, 0.1), (50, 0.9), (200, 0.5)])
def test_root_brier_holds_at_its_level_exactly(n, c):
    """p = 1: the error is 1 - c, the bound a function of the number of outcomes."""
    law = binom.pmf(np.arange(n + 1), n, c)
    above = [
        RootBrier()(np.ones(n), (np.arange(n) < k).astype(int))["l1"].high >= 1 - c
        for k in range(n + 1)
    ]
    assert 0.95 <= law @ above


# gains of recalibration, and blocks of SKCE


def test_mixtures_are_never_certain():
    p, y = np.array([0.1, 0.2, 0.7, 0.9]), np.array([0, 0, 1, 1])
    np.testing.assert_allclose(Mixture(Isotonic()).fit(p, y)(p), [0.1, 0.1, 0.9, 0.9])
    v = np.column_stack([p, (1 - p) / 2, (1 - p) / 2])
    q = Mixture(Temperature(), 2.0).fit(v, np.array([1, 2, 0, 0]))(v)
    np.testing.assert_allclose(q, 0.6 * Temperature().fit(v, np.array([1, 2, 0, 0]))(v) + 0.4 / 3)
    assert Mixture(Isotonic()).determinism == "exact"


@pytest.mark.parametrize("name", ["isotonic", "temperature"])
def test_gains_are_losses_before_minus_losses_after(name):
    p, y = sample("over")
    estimator = load_estimator(f"gain_{name}")
    gains = estimator(p, y, default_rng(0))
    stream = default_rng(0)
    q = cross_fit(estimator.calibrator, p, y, assign_folds(y, 5, False, stream), stream)
    before, after = (-np.log(np.where(y == 1, x, 1 - x)).mean() for x in (p, q))
    assert gains["kl"].value == pytest.approx(before - after, abs=1e-12)
    assert np.isfinite(gains["kl"].value)
    assert gains["l2_squared"].value == pytest.approx(
        np.mean((p - y) ** 2 - (q - y) ** 2), abs=1e-12
    )
    assert gains["l2_squared"].low < gains["l2_squared"].value


def test_blocks_give_the_normal_tail():
    p, y = sample("over")
    parts = SKCE(form="block", blocksize=10)(p, y, default_rng(0))["skce"]
    p_value = SKCEBlockTest(blocksize=10)(p, y, default_rng(0))["p_value"]
    assert p_value.value == pytest.approx(
        norm.sf(parts.value / parts.diagnostics["standard_error"]), rel=1e-9
    )
    with pytest.raises(UndefinedError, match="two blocks"):
        SKCEBlockTest(blocksize=10)(p[:19], y[:19], default_rng(0))
    with pytest.raises(UndefinedError, match="same value"):
        SKCEBlockTest()(np.ones(10), np.ones(10, dtype=int), default_rng(0))
