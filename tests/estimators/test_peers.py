"""Estimators of other libraries: agreement with ours, and their known defects.

Without the extra `peers` only the tests of its absence run; the others are skipped with the reason.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import norm

from harness import BadInputError, UndefinedError, list_estimators, load_estimator, run
from harness.calibrators import Isotonic, Temperature
from harness.calibrators.scaling import smoothed
from harness.estimators import MMCE, Binned, Debiased, Variational, peers
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine, Power

ALL = [name for name in list_estimators() if name.startswith("peer_")]
DEFECT = "the defect is gone: update the docstring in harness/estimators/peers"


def peer(name, **settings):
    estimator = load_estimator(name, **settings)
    if estimator.unavailable:
        pytest.skip(estimator.unavailable)
    return estimator


def sample(n=1500, seed=0):
    """Overconfident, no ties, neither 0 nor 1."""
    return Beta(map=LogitAffine(0.4, 0.3)).sample(n, default_rng(seed))


# Without the packages


def test_what_is_not_installed_is_skipped_with_its_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(peers.base, "installed", lambda package: None)
    for name in ALL:
        estimator = load_estimator(name)
        assert f"the package {estimator.package} is not installed" in estimator.unavailable
        with pytest.raises(BadInputError, match="package"):
            estimator(*sample(20), default_rng(0))
    config = [
        "problem=beta_overconfident",
        "estimator=[peer_netcal_ece15]",
        "n=20",
        "reps=1",
        "engine=serial",
        f"out={tmp_path}",
    ]
    (row,) = run(config).to_dict("records")
    assert row["status"] == "skipped" and "netcal is not installed" in row["reason"]


def test_another_version_is_another_revision(monkeypatch):
    monkeypatch.setattr(peers.base, "installed", lambda package: "9.9")
    assert load_estimator("peer_netcal_ece15").revision == (1, "9.9")


# The same definition gives the same value


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("name", "estimand", "ours", "tolerance"),
    [
        ("peer_netcal_ece15", "l1", Binned(), 1e-9),
        (
            "peer_netcal_ece15_mass",
            "l1",
            Binned(rule="mass"),
            1e-9,
        ),  # 1,500 samples: the quantiles lie between the bins
        ("peer_netcal_mce15", "linf", Binned(), 1e-9),
        ("peer_torchmetrics_ece15", "l1", Binned(), 1e-9),
        ("peer_torchmetrics_ece15", "rms", Binned(), 1e-9),
        ("peer_torchmetrics_ece15", "linf", Binned(), 1e-9),
        ("peer_uncertainty_calibration_ece15", "l1", Binned(), 1e-9),
        ("peer_uncertainty_calibration_debiased", "l2_squared", Debiased(), 1e-9),
        ("peer_relplot_ece15", "l1", Binned(), 1e-9),
        ("peer_probmetrics_ece15", "l1", Binned(), 1e-5),  # single precision
    ],
)
def test_binned_errors_agree_with_ours(name, estimand, ours, tolerance, seed):
    p, y = sample(seed=seed)
    p = np.clip(p, 1e-6, 1 - 1e-6)
    assert peer(name)(p, y)[estimand].value == pytest.approx(
        ours(p, y)[estimand].value, abs=tolerance
    )


def test_the_mean_over_bins_is_as_we_say():
    p, y = sample()
    index = np.minimum((p * 15).astype(int), 14)
    gaps = [abs(p[index == b].mean() - y[index == b].mean()) for b in np.unique(index)]
    assert peer("peer_netcal_ace15")(p, y)["ace_average"].value == pytest.approx(
        np.mean(gaps), abs=1e-9
    )


def test_mmce_agrees_above_one_half():
    """If class 1 is predicted throughout, netcal's MMCE is the paper's."""
    p, y = sample(400)
    p = 0.5 + p / 2
    assert peer("peer_netcal_mmce")(p, y)["mmce"].value == pytest.approx(
        MMCE(0.4)(p, y)["mmce"].value, abs=1e-9
    )


def test_the_normal_debiased_error_is_its_expectation():
    """The mean of 1,000 draws equals the closed form within 4 standard errors."""
    p, y = sample()
    estimate = peer("peer_uncertainty_calibration_normal_debiased")(p, y, default_rng(0))[
        "l1"
    ].value
    index = np.argsort(np.argsort(p)) * 15 // len(p)
    gaps = np.array([(y[index == b] - p[index == b]).mean() for b in range(15)])
    shares = np.array([y[index == b].mean() for b in range(15)])
    sd = np.sqrt(shares * (1 - shares) / 100)
    folded = sd * np.sqrt(2 / np.pi) * np.exp(-(gaps**2) / 2 / sd**2) + gaps * (
        1 - 2 * norm.cdf(-gaps / sd)
    )
    error = np.sqrt((sd**2 + gaps**2 - folded**2).sum()) / 15 / np.sqrt(1000)
    assert estimate == pytest.approx(2 * np.abs(gaps).mean() - folded.mean(), abs=4 * error)


def smooth_ece(p, y):
    """Return the fixed point of the smoothed residual's norm, by reflected Gaussians."""
    t = np.linspace(0, 1, 401)
    places = np.concatenate([sign * p + 2 * turn for turn in (-1, 0, 1) for sign in (1, -1)])
    residual = np.tile(y - p, 6)

    def value(sigma):
        smooth = norm.pdf((t[:, None] - places) / sigma) @ residual / sigma / len(p)
        return np.trapezoid(np.abs(smooth), t)

    low, high = 1e-3, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) > middle else (low, middle)
    return value(high)


@pytest.mark.parametrize("name", ["peer_relplot_smece", "peer_probmetrics_smece"])
def test_smooth_ece_is_the_fixed_point(name):
    """The peers' grid of 200 points and ten bisections leave an error of 1e-3 in sigma."""
    p, y = sample(200)
    assert peer(name)(p, y)["smooth_ece"].value == pytest.approx(smooth_ece(p, y), abs=3e-3)


def test_relplots_random_measures_on_a_constant():
    """p = 1/2, y = 1: every binned error is 1/2, and the smallest width is 2^-9."""
    p, y = np.full(50, 0.5), np.ones(50, int)
    assert peer("peer_relplot_intce")(p, y, default_rng(0))["interval_ce"].value == pytest.approx(
        0.5 + 2**-9
    )
    assert peer("peer_relplot_laplace")(p, y, default_rng(0))["laplace_kce"].value == pytest.approx(
        0.5
    )


@pytest.mark.parametrize(
    ("name", "estimand"), [("peer_probmetrics_kuiper", "kuiper"), ("peer_probmetrics_ks", "ks")]
)
def test_cumulative_residuals(name, estimand):
    p, y = sample(300)
    order = np.argsort(p)
    path = np.concatenate([[0.0], np.cumsum((y - p)[order])]) / len(p)
    expected = {"kuiper": path.max() - path.min(), "ks": np.abs(path).max()}[estimand]
    assert peer(name)(p, y)[estimand].value == pytest.approx(expected, abs=1e-5)


class Mixed:
    """A calibrator mixed with the uniform as in probmetrics."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, p, y, rng=None):
        q, n = self.inner.fit(p, y, rng), len(p)
        return lambda x: smoothed(q(x), n)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("peer_probmetrics_ts_mix_insample", Temperature()),
        ("peer_probmetrics_isotonic_mix_insample", Isotonic()),
    ],
)
@pytest.mark.parametrize("k", [2, 3])
def test_what_recalibration_gains(name, ours, k):
    if k == 2:
        p, y = sample(400)
    else:
        p, y = Dirichlet(3, map=Power(0.3)).sample(400, default_rng(0))
    p = np.clip(p, 1e-4, None) if k == 3 else np.clip(p, 1e-4, 1 - 1e-4)
    p = p / p.sum(axis=1, keepdims=True) if k == 3 else p
    expected = Variational(Mixed(ours), folds=1)(
        p, y, None, notion="binary" if k == 2 else "canonical"
    )
    gains = peer(name)(p, y)
    for estimand in ("l2_squared", "kl"):
        assert gains[estimand].value == pytest.approx(expected[estimand].value, abs=2e-5)


# Their known defects: where one is gone, what our docstring says is no longer true


def test_netcals_mmce_of_calibrated_predictions_is_far_from_zero():
    """p <= 1/2 is compared with class 0 being right, but stays the probability of class 1."""
    r = default_rng(0)
    p = r.random(2000)
    y = (r.random(2000) < p).astype(int)
    assert MMCE(0.4)(p, y)["mmce"].value < 0.05
    assert peer("peer_netcal_mmce")(p, y)["mmce"].value > 0.15, DEFECT


def test_netcal_takes_two_labels_for_two_classes():
    peer("peer_netcal_ece15")
    from netcal.metrics import ECE

    p, y = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]]), np.array([0, 1])
    with pytest.raises(RuntimeError, match="binary"):
        ECE(15).measure(p, y)


@pytest.mark.parametrize("name", ["peer_torchmetrics_ece15", "peer_relplot_ece15"])
def test_a_confidence_of_one_has_a_bin_of_its_own(name):
    """In our bins, 0.95 (right) and 1.0 (wrong) share the last bin: |0.975 - 0.5|.

    In separate bins they give 0.05 / 2 + 1 / 2.
    """
    p, y = np.array([0.95, 1.0]), np.array([1, 0])
    assert Binned()(p, y)["l1"].value == pytest.approx(0.475)
    assert peer(name)(p, y)["l1"].value == pytest.approx(0.525), DEFECT


def test_relplot_never_draws_the_last_sample():
    p, y = sample(60)
    other = y.copy()
    other[-1] = 1 - y[-1]
    estimator = peer("peer_relplot_laplace")
    values = [estimator(p, given, default_rng(3))["laplace_kce"].value for given in (y, other)]
    assert values[0] == values[1], DEFECT


@pytest.mark.parametrize("name", ["peer_probmetrics_kuiper", "peer_probmetrics_ks"])
def test_probmetrics_minds_the_order_of_equal_predictions(name):
    """Ten of p = 1/2, five right: the path leaves 0 by 1/4 in order, by 1/20 alternating."""
    p, y = np.full(10, 0.5), np.arange(10) < 5
    estimator = peer(name)
    (first,), (mixed,) = (
        estimator(p, labels.astype(int)).values() for labels in (y, np.arange(10) % 2 == 0)
    )
    assert first.value == pytest.approx(0.25, abs=1e-6) and mixed.value == pytest.approx(
        0.05, abs=1e-6
    ), DEFECT


def test_too_few_samples_are_undefined():
    p, y = sample(20)
    with pytest.raises(UndefinedError, match="two samples"):
        peer("peer_uncertainty_calibration_normal_debiased")(p, y, default_rng(0))
