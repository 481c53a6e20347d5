"""Estimators of the literature by hand, by definition and against golden numbers."""

import csv
import itertools
import math

import numpy as np
import pytest
from golden_data import FOLDER
from numpy.random import default_rng
from scipy.special import ndtr

import harness
from harness import BadInputError
from harness.errors import UndefinedError
from harness.estimators import (
    AdaptiveClasswise,
    AverageBinned,
    Binned,
    ChiSquare,
    Corp,
    CubeRootBins,
    Cumulative,
    Debiased,
    SmoothECE,
    Spiegelhalter,
    Sweep,
)
from harness.estimators.application import apply
from harness.estimators.bin_variants import cube_root
from harness.estimators.cumulative import largest_tail, range_tail
from harness.evaluation import reliability
from harness.math import estimands

GOLDEN = FOLDER.parent / "literature_a"
TESTS = (Cumulative("ks"), Cumulative("kuiper"), Spiegelhalter(), ChiSquare())


def value(estimator, p, y, name=None):
    estimates = estimator(np.asarray(p, dtype=float), np.asarray(y))
    return estimates[name or next(iter(estimates))].value


def golden(*sources):
    """Return [(input, parameter, quantity, value)] of some sources."""
    with open(GOLDEN / "golden.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    return [
        (r["input"], r["parameter"], r["quantity"], float(r["value"]))
        for r in rows
        if r["source"].startswith(sources)
    ]


@pytest.fixture(scope="module")
def inputs():
    with np.load(GOLDEN / "inputs.npz") as archive:
        return {
            name: archive[name].astype(np.float64 if name.endswith("_p") else np.int64)
            for name in archive
        }


# Smooth calibration error


def smoothed(p, residual, sigma, mesh=801, mass=1.0):
    """Integrate |sum_i residual_i K(t, p_i)| / sum mass by mirror images, for sigma <= 1."""
    t = np.linspace(0, 1, mesh)
    total = np.zeros(mesh)
    for shift, side in itertools.product((-4, -2, 0, 2, 4), (-1, 1)):
        total += np.exp(-0.5 * ((t[:, None] - side * p - shift) / sigma) ** 2) @ residual
    return np.trapezoid(np.abs(total), t) / (
        math.sqrt(2 * math.pi) * sigma * np.sum(np.broadcast_to(mass, p.shape))
    )


def test_smoothing_keeps_what_has_one_sign():
    """Residuals of one sign give |mean (y - p)| for every bandwidth."""
    for p, y in (([0.3], [1]), ([0.0], [1]), ([1.0], [0]), ([0.2, 0.5, 1.0], [1, 1, 1])):
        expected = abs(np.mean(np.subtract(y, p)))
        for sigma in (None, 0.01, 0.3, 2.0):
            assert value(SmoothECE(sigma), p, y) == pytest.approx(expected, abs=1e-9)


def test_two_opposite_errors_at_the_ends():
    """p = 0, 1 with y = 1, 0: a sum of differences of normal probabilities."""
    sigma = 0.4
    inside = sum(
        2 * (ndtr((0.5 - k) / sigma) - ndtr(-k / sigma)) for k in range(-20, 21, 2)
    )  # of K(t, 0) in [0, 1/2]
    assert value(SmoothECE(sigma), [0, 1], [1, 0]) == pytest.approx(2 * inside - 1, abs=1e-6)


def test_nearly_certain_predictions_have_a_tiny_error():
    """The fixed point is below the spacing of the grid for p = 1e-4 with y = 0 and its mirror."""
    p, y = [1e-4, 1.0 - 1e-4] * 25, [0, 1] * 25
    assert value(SmoothECE(), p, y) == pytest.approx(1e-4, rel=0.05)


def test_the_fixed_point_is_one_and_errors_that_cancel_at_one_place_are_none():
    p, y = harness.load_problem("beta_wavy").sample(300, default_rng(0))
    estimate = SmoothECE()(p, y)["smooth_ece"]
    assert estimate.diagnostics["bandwidth"] == pytest.approx(estimate.value, abs=1e-9)
    assert value(SmoothECE(estimate.value), p, y) == pytest.approx(estimate.value, abs=1e-9)
    assert value(SmoothECE(), [0.5, 0.5], [0, 1]) == 0.0
    assert value(SmoothECE(), [0, 0, 1], [0, 0, 1]) == 0.0


@pytest.mark.parametrize("sigma", [0.01, 0.1, 0.7])
def test_the_grid_is_as_exact_as_said(sigma, inputs):
    p, y = inputs["tied_p"][:60], inputs["tied_y"][:60]
    exact = smoothed(p, (y - p), sigma, mesh=20001, mass=1.0)
    assert value(SmoothECE(sigma), p, y) == pytest.approx(exact, abs=2e-5)


@pytest.mark.parametrize(
    "source, tolerance", [("relplot 1.0.3, 20001", 2e-5), ("relplot 1.0.3", 7e-4)]
)
def test_smooth_errors_of_relplot(source, tolerance, inputs):
    """relplot sums over 200 points and knows the fixed point to 1/1024. Finer runs agree better."""
    rows = [row for row in golden(source) if row[0] == "calibrated"]
    assert len(rows) >= 4
    for name, sigma, _, expected in rows:
        ours = value(
            SmoothECE(float(sigma) if sigma else None), inputs[f"{name}_p"], inputs[f"{name}_y"]
        )
        assert ours == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("name", ["tied", "miscalibrated"])
def test_relplot_halves_the_weight_of_predictions_at_the_ends(name, inputs):
    """Mirror images in relplot leave out the end points of its grid of step 1/1000."""
    p, y = inputs[f"{name}_p"], inputs[f"{name}_y"]
    weight = 1.0 - np.maximum(0.0, 1.0 - 1000.0 * np.minimum(p, 1.0 - p)) / 2.0
    rows = [row for row in golden("relplot 1.0.3, 20001") if row[0] == name and row[1]]
    assert len(rows) == 3
    for _, sigma, _, expected in rows:
        assert smoothed(p, weight * (y - p), float(sigma), mass=weight) == pytest.approx(
            expected, abs=2e-4
        )
        assert (
            value(SmoothECE(float(sigma)), p, y) < expected - 1e-4
        )  # it is further from ours than that


def test_more_smoothing_never_makes_it_larger(inputs):
    p, y = inputs["miscalibrated_p"], inputs["miscalibrated_y"]
    errors = [value(SmoothECE(sigma), p, y) for sigma in (0.005, 0.02, 0.1, 0.5, 3.0)]
    assert all(np.diff(errors) < 1e-9) and errors[-1] == pytest.approx(
        abs((y - p).mean()), abs=1e-6
    )


# Sweep


def test_sweep_by_hand():
    """Two bins have frequencies 1/2, 1/2; three (sizes 2, 1, 1) 1/2, 0, 1: b* = 2."""
    p, y = [0.1, 0.3, 0.6, 0.9], [0, 1, 0, 1]
    estimates = Sweep()(np.array(p), np.array(y))
    assert estimates["l1"].diagnostics["bins"] == 2
    assert estimates["l1"].value == pytest.approx((0.3 + 0.25) / 2)
    assert estimates["l2_squared"].value == pytest.approx((0.09 + 0.0625) / 2)
    assert (
        Sweep()(np.array(p), np.array([1, 1, 0, 0]))["l1"].diagnostics["bins"] == 1
    )  # falls at once: one bin
    assert value(Sweep(), p, [1, 1, 0, 0]) == pytest.approx(0.025)
    assert (
        Sweep()(np.array(p), np.array([0, 0, 1, 1]))["l1"].diagnostics["bins"] == 4
    )  # never falls: n bins


def sweep_by_definition(p, y, rule):
    """Return b* and l1 by trying every number of bins."""
    n = len(p)
    ordered = np.sort(p)

    def means(bins):
        if rule == "width":
            index = np.searchsorted(np.arange(1, bins) / bins, p, side="right")
        else:
            starts = [ordered[math.ceil(j * n / bins)] for j in range(1, bins)]
            index = np.searchsorted(np.unique(starts), p, side="right")
        return [
            (y[index == j].mean(), p[index == j].mean(), (index == j).sum())
            for j in np.unique(index)
        ]

    bins = 1
    while bins < n and all(a[0] <= b[0] for a, b in itertools.pairwise(means(bins + 1))):
        bins += 1
    return bins, sum(size * abs(x - c) for c, x, size in means(bins)) / n


@pytest.mark.parametrize("rule", ["mass", "width"])
def test_sweep_is_its_definition(rule):
    rng = default_rng(1)
    for case in range(60):
        n = int(rng.integers(1, 26))
        p = rng.integers(0, 21, n) / 20.0 if case % 2 else rng.random(n)
        y = (rng.random(n) < (p if case % 3 else p > 0.4)).astype(
            np.int64
        )  # the last are sorted: n bins
        bins, l1 = sweep_by_definition(p, y, rule)
        estimate = Sweep(rule)(p, y)["l1"]
        assert estimate.diagnostics["bins"] == bins and estimate.value == pytest.approx(
            l1, abs=1e-12
        )


def test_sweeps_of_caltrain(inputs):
    rows = golden("caltrain")
    assert len(rows) == 10
    for name, norm, quantity, expected in rows:
        estimand = {"1": "l1", "2": "rms"}[norm]
        ours = value(
            Sweep(quantity.removeprefix("sweep_")),
            inputs[f"{name}_p"],
            inputs[f"{name}_y"],
            estimand,
        )
        assert ours == pytest.approx(expected, abs=1e-12)


# Cumulative residuals


def test_cumulative_residuals_by_hand():
    """p = .2 .4 .8, y = 1 0 0: c = 0, .8, .4, -.4 over 3; sigma^2 = (.16 + .24 + .16) / 9."""
    p, y = [0.8, 0.2, 0.4], [0, 1, 0]
    assert value(Cumulative("ks"), p, y) == pytest.approx(0.8 / 3)
    assert value(Cumulative("kuiper"), p, y) == pytest.approx(1.2 / 3)
    parts = Cumulative("kuiper")(np.array(p), np.array(y))["p_value"].diagnostics
    assert parts["sigma"] == pytest.approx(math.sqrt(0.56) / 3)
    assert parts["scaled"] == pytest.approx(1.2 / math.sqrt(0.56))


def test_equal_predictions_are_added_together():
    p = [0.5] * 4 + [0.9]
    for y in ([1, 1, 0, 0, 1], [0, 1, 0, 1, 1]):
        assert (
            value(Cumulative("ks"), p, y)
            == pytest.approx(0.1 / 5)
            == value(Cumulative("kuiper"), p, y)
        )


def test_cumulative_errors_of_mcgrad_and_of_the_authors_of_ks(inputs):
    rows = golden("mcgrad", "spline-calibration")
    assert len(rows) == 8
    for name, _, quantity, expected in rows:
        p, y = inputs[f"{name}_p"], inputs[f"{name}_y"]
        statistic = "ks" if quantity == "KS" else "kuiper"
        estimates = Cumulative(statistic)(p, y)
        if quantity == "ecce_sigma":
            ours = estimates["kuiper"].diagnostics["scaled"]
        else:
            ours = estimates["p_value" if quantity == "ecce_pvalue" else statistic].value
        assert ours == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(
    "tail, switch, mean",
    [(largest_tail, 1.0, math.sqrt(math.pi / 2)), (range_tail, 1.5, math.sqrt(8 / math.pi))],
)
def test_both_series_of_a_tail_agree_where_they_meet(tail, switch, mean):
    x = np.linspace(0.0, 12.0, 4001)
    of_x = np.array([tail(t) for t in x])
    assert np.trapezoid(of_x, x) == pytest.approx(mean, abs=1e-6)
    assert tail(switch - 1e-12) == pytest.approx(tail(switch), abs=1e-11)
    assert all(np.diff(of_x) <= 1e-15)
    assert of_x[0] == 1.0
    assert 0.0 < tail(10.0) < 1e-20
    assert tail(math.inf) == 0.0


def test_certain_predictions_have_certain_p_values():
    for test in TESTS:
        assert value(test, [0, 1, 1], [0, 1, 1], "p_value") == 1.0
        assert value(test, [0, 1, 1], [1, 1, 1], "p_value") == 0.0


# Isotonic parts of the score


def test_parts_by_hand():
    """p = .1 .1 .6 .8, y = 0 0 1 0: q = 0 0 1/2 1/2, mean y = 1/4."""
    p, y = np.array([0.1, 0.1, 0.6, 0.8]), np.array([0, 0, 1, 0])
    parts = {name: e.value for name, e in Corp()(p, y).items()}
    unc = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    given_p = -(2 * math.log(0.9) + math.log(0.6) + math.log(0.2)) / 4
    assert parts == pytest.approx(
        {
            "l2_squared": (0.01 + 0.01 + 0.16 + 0.64) / 4 - 0.125,
            "sharpness_l2_squared": 0.1875 - 0.125,
            "uncertainty_l2_squared": 0.1875, "kl": given_p - math.log(2) / 2,
            "sharpness_kl": unc - math.log(2) / 2,
            "uncertainty_kl": unc,
        },
        abs=1e-14,
    )  # fmt: skip


def test_parts_make_up_the_scores_and_are_those_of_the_diagram(inputs):
    for name in ("miscalibrated", "calibrated", "tied"):
        p, y = inputs[f"{name}_p"], inputs[f"{name}_y"]
        estimates = {key: e.value for key, e in Corp()(p, y).items()}
        curve = reliability.corp(p, y)
        parts = [estimates[f"{part}l2_squared"] for part in ("", "sharpness_", "uncertainty_")]
        assert parts == pytest.approx([curve.mcb, curve.dsc, curve.unc], abs=1e-13)
        assert parts[0] - parts[1] + parts[2] == pytest.approx(np.mean((p - y) ** 2), abs=1e-13)
        with np.errstate(divide="ignore"):
            logloss = -np.log(np.where(y == 1, p, 1 - p)).mean()
        assert estimates["kl"] - estimates["sharpness_kl"] + estimates[
            "uncertainty_kl"
        ] == pytest.approx(logloss, abs=1e-12)


def test_an_impossible_outcome_makes_kl_alone_infinite():
    parts = {name: e.value for name, e in Corp()(np.array([0.0, 0.5]), np.array([1, 0])).items()}
    assert parts.pop("kl") == math.inf and all(map(math.isfinite, parts.values()))


# Other bins


def test_adaptive_errors_by_hand():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.005, 0.995]])
    y = np.array([[1, 0], [0, 1], [0, 1], [0, 1]])
    assert value(AdaptiveClasswise(1), p, y, "l1") == pytest.approx(
        abs(p.mean(axis=0) - y.mean(axis=0)).mean()
    )
    assert value(AdaptiveClasswise(1, 0.01), p, y, "tace") == pytest.approx(
        ((2.1 - 1) / 3 + (3 - 1.895) / 4) / 2
    )
    assert value(AdaptiveClasswise(1, 0.95), p, y, "tace") == pytest.approx(
        0.005 / 2
    )  # no such prediction of class 0
    with pytest.raises(UndefinedError, match="at least 0.999"):
        AdaptiveClasswise(1, 0.999)(p, y)


def test_adaptive_errors_of_the_authors(inputs):
    p, y = harness.reduce(inputs["classes_p"], inputs["classes_y"], "classwise")
    rows = golden("uncertainty-metrics")
    assert [row[2] for row in rows] == ["ace", "tace"]
    for _, bins, quantity, expected in rows:
        estimator = AdaptiveClasswise(int(bins), 0.01 if quantity == "tace" else 0.0)
        assert value(estimator, p, y) == pytest.approx(expected, abs=1e-12)
    assert (
        value(AdaptiveClasswise(15), p, y)
        == apply(Binned(15, "mass"), p, y, "classwise", None)["l1"].value
    )


def test_average_over_bins_by_hand():
    """Gaps 0.2 of three samples and 0.9 of one: each bin counts as much, empty ones do not."""
    p, y = [0.1, 0.2, 0.3, 0.9], [0, 0, 0, 0]
    assert (
        value(AverageBinned(2), p, y)
        == value(AverageBinned(10), [0.2, 0.9], [0, 0])
        == pytest.approx(0.55)
    )
    assert value(Binned(2), p, y) == pytest.approx(0.375)


@pytest.mark.parametrize("inner", [Binned(rule="mass"), Debiased()])
@pytest.mark.parametrize("n, bins", [(1, 1), (2, 2), (8, 2), (9, 3), (64, 4), (125, 5), (126, 6)])
def test_cube_root_bins(inner, n, bins):
    assert cube_root(n) == bins
    p, y = harness.load_problem("beta_overconfident").sample(n, default_rng(0))
    assert CubeRootBins(inner)(p, y) == type(inner)(bins, "mass")(p, y)


def test_cube_roots_are_exact():
    assert all(cube_root(k**3) == k and cube_root(k**3 + 1) == k + 1 for k in range(1, 2000))


# Tests of calibration


def test_z_by_hand():
    """(.9 * .8 - .2 * .6 + .1 * -.8) / sqrt(.64 * .09 + .36 * .16 + .64 * .09)."""
    estimate = Spiegelhalter()(np.array([0.1, 0.2, 0.9]), np.array([1, 0, 1]))["p_value"]
    z = 0.52 / math.sqrt(0.1728)
    assert estimate.diagnostics["z"] == pytest.approx(z, rel=1e-14)
    assert estimate.value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-12)
    assert value(Spiegelhalter(), [0.5, 0.5], [1, 1]) == 1.0  # nothing to see at 1/2


def test_chi_square_by_hand():
    """Two bins: (1 - .4)^2 / .32 + (2 - 1)^2 / .5, and P(chi^2_2 > x) = exp(-x / 2)."""
    estimate = ChiSquare(2)(np.array([0.2, 0.2, 0.5, 0.5]), np.array([1, 0, 1, 1]))["p_value"]
    assert estimate.value == pytest.approx(math.exp(-(0.36 / 0.32 + 2) / 2), rel=1e-12)
    sure = ChiSquare(3)(np.array([0.0, 0.0, 0.2, 0.2, 0.5, 0.5]), np.array([0, 0, 1, 0, 1, 1]))[
        "p_value"
    ]
    assert (
        sure.value == pytest.approx(estimate.value, rel=1e-12) and sure.diagnostics["degrees"] == 2
    )
    assert (
        value(ChiSquare(1), [0.0, 1.0], [1, 0]) == 0.0
    )  # two impossible outcomes, whose residuals cancel
    assert value(ChiSquare(1), [0.0, 1.0], [0, 1]) == 1.0
    # one of them shares a bin with other predictions
    assert value(ChiSquare(1), [0.0, 0.5, 0.5], [1, 0, 1]) == 0.0


@pytest.mark.parametrize(
    "draw", [lambda rng, n: rng.beta(0.5, 0.5, n), lambda rng, n: rng.integers(0, 11, n) / 10]
)
def test_p_values_of_calibrated_samples_are_uniform(draw):
    """Shares of 600 calibrated samples below 0.05 and 0.5 are within 4 standard errors.

    Ties and discrete steps may make those of cumulative residuals too large.
    """
    rng, p_values = default_rng(5), []
    for _ in range(600):
        p = draw(rng, 500)
        y = (rng.random(500) < p).astype(int)
        p_values.append([value(test, p, y, "p_value") for test in TESTS])
    for level in (0.05, 0.5):
        share, error = (
            (np.array(p_values) <= level).mean(axis=0),
            math.sqrt(level * (1 - level) / 600),
        )
        assert (share <= level + 4 * error).all()
        assert (share[2:] >= level - 4 * error).all()
        assert (share[:2] >= 0.5 * level - 4 * error).all()


@pytest.mark.parametrize("test", TESTS)
def test_miscalibration_is_rejected(test):
    p, y = harness.load_problem("beta_overconfident").sample(1000, default_rng(1))
    assert value(test, p, y, "p_value") < 1e-6


def test_classwise_p_values_are_bonferronis():
    p, y = harness.load_problem("dirichlet3_overconfident").sample(60, default_rng(3))
    x, hits = harness.reduce(p, y, "classwise")
    for test in TESTS:
        single = [test(x[:, j], hits[:, j]) for j in range(3)]
        together = apply(test, x, hits, "classwise", None)
        smallest = min(estimates["p_value"].value for estimates in single)
        assert together["p_value"].value == min(1.0, 3 * smallest)
        for name in set(together) - {"p_value"}:
            mean = np.mean([estimates[name].value for estimates in single])
            assert together[name].value == pytest.approx(mean, rel=1e-14)


def test_estimands_of_definitions_have_no_truth():
    for name in ("smooth_ece", "ks", "tace", "uncertainty_kl", "p_value", "interval_ce", "ckce"):
        assert estimands.check_name(name, "binary") == name and not estimands.has_truth(name)
        assert estimands.is_distance(name) == (name not in ("p_value", "uncertainty_kl"))
    assert estimands.check_name("ckce", "canonical") and estimands.check_name("p_value")
    with pytest.raises(BadInputError):
        estimands.check_name("interval_ce", "canonical")
