"""Estimators of other libraries, the optional extra `peers`.

The libraries are relplot, netcal, uncertainty-calibration, torchmetrics and probmetrics. Without
one of them its cells are skipped with that reason. Nothing is corrected: p is checked and passed on
in double precision, and the library's result is the value, with all known defects. Libraries are
imported when they are first called.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from harness.common.seeds import as_seed
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate
from harness.math.notions import checked

SCALAR = ("binary", "top_label", "classwise")


def installed(package: str) -> str | None:
    """Return the version of an installed distribution, or None.

    Examples
    --------
    >>> installed("numpy") is not None, installed("no-such-package") is None
    (True, True)
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


class _Peer:
    """Base of all. A subclass has `package` and `value(p, y, rng)` -> {estimand: number}."""

    package: str
    notions: tuple[str, ...] = SCALAR

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return the library's numbers by estimand."""
        raise NotImplementedError

    @property
    def unavailable(self) -> str | None:
        """Reason why it cannot run here, or None."""
        if installed(self.package) is not None:
            return None
        return f"the package {self.package} is not installed; install calharness[peers]"

    @property
    def revision(self) -> tuple[int, str]:
        """Part of the key: another version of the library may give other numbers."""
        return (1, installed(self.package) or "absent")

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: Any = None) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if self.unavailable is not None:
            raise BadInputError(f"{type(self).__name__} cannot run: {self.unavailable}.")
        if p.ndim == 2 and "canonical" not in self.notions:
            raise BadInputError(
                f"p has shape {p.shape}; {type(self).__name__} takes one probability per sample, "
                "(n,)."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = {
                name: float(value) for name, value in self.value(p.copy(), y.copy(), rng).items()
            }
        if not np.isfinite([*values.values()]).all():
            text = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise UndefinedError(f"{self.package} gives {text}")
        return {name: Estimate(value) for name, value in values.items()}


class Measure(NamedTuple):
    """Properties of one measure of a library."""

    estimands: tuple[str, ...]
    determinism: str = "rounding"
    null_bias: float = 0.1
    max_n: int | None = None


class _PeerOfMeasures(_Peer):
    """Base of peers with a field `measure`. A subclass has the properties of its `measures`."""

    measure: str
    measures: dict[str, Measure]

    def __post_init__(self) -> None:
        _check_allowed("measure", self.measure, tuple(self.measures))

    @property
    def estimands(self) -> tuple[str, ...]:
        return self.measures[self.measure].estimands

    @property
    def determinism(self) -> str:
        return self.measures[self.measure].determinism

    @property
    def null_bias(self) -> float:
        return self.measures[self.measure].null_bias

    @property
    def max_n(self) -> int | None:
        return self.measures[self.measure].max_n


@contextlib.contextmanager
def _seeded(rng: Any) -> Iterator[None]:
    """Seed numpy's global generator, from which some libraries draw, and restore it afterwards."""
    state = np.random.get_state()
    np.random.seed(as_seed(rng))
    try:
        yield
    finally:
        np.random.set_state(state)


@dataclass(frozen=True)
class Relplot(_PeerOfMeasures):
    """Measures of relplot, by their authors: smooth, interval, Laplace-kernel and binned error.

        smooth_ece    smECE: L1 norm of the smoothed residual, at the bandwidth that equals it
        interval_ce   intCE_rand: min over widths of (mean binned error over random grids) + width
        laplace_kce   laplace_calibration_approx: root of a Monte Carlo mean of residual pairs
                      times exp(-|f - f'|)
        l1            binnedECE, of 15 bins

    Parameters
    ----------
    measure : {"smooth_ece", "interval_ce", "laplace_kce", "l1"}

    Notes
    -----
    smooth_ece uses a grid of 200 points; the bandwidth is from ten bisections. interval_ce uses 100
    random grids per width. laplace_kce never draws the last sample, pairs samples with themselves,
    and is the root of an absolute value. All are biased upwards. l1: p = 1 has its own bin.
    Cost: n, and n times 1,000 for interval_ce.

    References
    ----------
    Blasiok and Nakkiran (2023), Smooth ECE: principled reliability diagrams via kernel smoothing;
    relplot 1.0.3.

    Examples
    --------
    >>> Relplot("smooth_ece").estimands
    ('smooth_ece',)
    """

    measure: str = "smooth_ece"

    package = "relplot"
    measures = {
        "smooth_ece": Measure(("smooth_ece",)),
        "interval_ce": Measure(("interval_ce",), "statistical"),
        "laplace_kce": Measure(("laplace_kce",), "statistical"),
        "l1": Measure(("l1",)),
    }

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        import relplot

        if self.measure == "smooth_ece":
            return {"smooth_ece": relplot.smECE(p, y)}
        if self.measure == "l1":
            return {"l1": relplot.metrics.binnedECE(p, y, nbins=15)}
        if self.measure == "laplace_kce" and len(p) < 2:
            raise UndefinedError(
                "relplot draws from all samples but the last, so it needs two; there is one"
            )
        with _seeded(rng):
            if self.measure == "interval_ce":
                return {"interval_ce": relplot.metrics.intCE_rand(p, y)}
            return {"laplace_kce": relplot.metrics.laplace_calibration_approx(p, y)}


@dataclass(frozen=True)
class Netcal(_PeerOfMeasures):
    """Measures of netcal: binned errors of 15 bins, and MMCE.

        l1            ECE: sum_b n_b / n |mean p in b - mean y in b|, of equal width
        l1, mass      the same between quantiles
        ace_average   ACE: the mean of |gap| over the bins that are not empty
        linf          MCE: the largest |gap|
        mmce          MMCE, see below

    Parameters
    ----------
    measure : {"l1", "ace_average", "linf", "mmce"}
    bins : int
    rule : {"width", "mass"}

    Notes
    -----
    p is clipped to [2.2e-16, 1 - 2.2e-16]. For one probability per sample, mmce compares "the
    predicted class is 1" with y, but takes p as the confidence. For p <= 1/2 this is the residual
    of the wrong class, so calibrated predictions score far above 0 (null_bias). All are biased
    upwards. Cost: n log n, n^2 for mmce.

    References
    ----------
    Kuppers et al. (2020), Multivariate confidence calibration for object detection; netcal 1.4.0.

    Examples
    --------
    >>> Netcal("ace_average").estimands
    ('ace_average',)
    """

    measure: str = "l1"
    bins: int = 15
    rule: str = "width"

    package = "netcal"
    measures = {
        "l1": Measure(("l1",)),
        "ace_average": Measure(("ace_average",)),
        "linf": Measure(("linf",)),
        "mmce": Measure(("mmce",), null_bias=0.5, max_n=10_000),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_allowed("rule", self.rule, ("width", "mass"))

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        from netcal import metrics

        if self.measure == "mmce":
            return {"mmce": metrics.MMCE().measure(p, y)}
        kind = {"l1": metrics.ECE, "ace_average": metrics.ACE, "linf": metrics.MCE}[self.measure]
        metric = kind(self.bins, equal_intervals=self.rule == "width")
        try:
            return {self.measure: metric.measure(p, y)}
        except ValueError as error:  # ties among the quantiles
            raise UndefinedError(f"netcal: {error}") from error


@dataclass(frozen=True)
class UncertaintyCalibration(_PeerOfMeasures):
    """Measures of uncertainty-calibration: debiased squared error, normal-debiased l1, binned l1.

        debiased          l2_squared = sum_b n_b / n [gap_b^2 - mean y (1 - mean y) / (n_b - 1)],
                          rms = sqrt(max(l2_squared, 0))
        normal_debiased   l1 = 2 (plug-in)
                               - (mean plug-in of 1,000 normal draws of the bins' frequencies)
        plugin            l1 = sum_b n_b / n |gap_b|

    Parameters
    ----------
    measure : {"debiased", "normal_debiased", "plugin"}
    bins : int
    rule : {"width", "mass"}

    Notes
    -----
    debiased: as `debiased15`; rms is biased upwards near calibration. normal_debiased: undefined if
    a bin has fewer than two samples. It may be negative, and is biased downwards if bins hold gaps
    of both signs. Bins are (a, b]. Cost: a Python loop over n.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, Definition 5.1;
    uncertainty-calibration 0.1.4.

    Examples
    --------
    >>> UncertaintyCalibration().estimands
    ('l2_squared', 'rms')
    """

    measure: str = "debiased"
    bins: int = 15
    rule: str = "mass"

    package = "uncertainty-calibration"
    measures = {
        "debiased": Measure(("l2_squared", "rms")),
        "normal_debiased": Measure(("l1",), "statistical"),
        "plugin": Measure(("l1",)),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_allowed("rule", self.rule, ("width", "mass"))

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        from calibration import utils

        get_edges = utils.get_equal_bins if self.rule == "mass" else utils.get_equal_prob_bins
        binned = utils.bin(list(zip(p, y)), get_edges(p.tolist(), num_bins=self.bins))
        if self.measure == "debiased":
            squared = utils.unbiased_square_ce(binned)
            return {"l2_squared": squared, "rms": max(squared, 0.0) ** 0.5}
        if self.measure == "plugin":
            return {"l1": utils.plugin_ce(binned, power=1)}
        if min(map(len, binned)) < 2:
            raise UndefinedError("a bin has fewer than two samples")
        with _seeded(rng):
            return {"l1": utils.normal_debiased_ce(binned, power=1)}


@dataclass(frozen=True)
class Torchmetrics(_Peer):
    """Binned errors of torchmetrics.

        l1   = sum_b n_b / n |gap_b|,   with bins [j/B, (j+1)/B)
        rms  = sqrt(sum_b n_b / n gap_b^2)
        linf = max_b |gap_b|

    Parameters
    ----------
    bins : int

    Notes
    -----
    p = 1 has its own bin next to the last one, so their gaps do not cancel. Biased upwards.
    Cost: n.

    References
    ----------
    Guo et al. (2017), eq. 3; Kumar, Liang and Ma (2019); torchmetrics 1.9.0,
    BinaryCalibrationError.

    Examples
    --------
    >>> Torchmetrics().estimands
    ('l1', 'rms', 'linf')
    """

    bins: int = 15

    package = "torchmetrics"
    estimands = ("l1", "rms", "linf")
    determinism = "rounding"
    null_bias = 0.1

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        import torch
        from torchmetrics.functional.classification import binary_calibration_error as error

        given = torch.from_numpy(p), torch.from_numpy(y)
        norms = {"l1": "l1", "rms": "l2", "linf": "max"}
        return {
            name: float(error(*given, n_bins=self.bins, norm=norm)) for name, norm in norms.items()
        }


@dataclass(frozen=True)
class Probmetrics(_PeerOfMeasures):
    """Metrics of probmetrics: smooth ECE, Kuiper, Kolmogorov-Smirnov and binned l1.

        smooth_ece   relplot's           kuiper   range of the cumulative residual (0 included)
        l1           torchmetrics'       ks       its largest absolute value

    Parameters
    ----------
    measure : {"smooth_ece", "kuiper", "ks", "l1"}

    Notes
    -----
    For one probability per sample, in single precision. kuiper and ks take equal p one after the
    other, so their order matters. For l1, p is clipped to [1e-7, 1 - 1e-7], and absent classes are
    removed. Biased upwards. Cost: n log n.

    References
    ----------
    berta2026, probmetrics 1.3.0; Arrieta-Ibarra et al. (2022), Metrics of calibration for
    probabilistic predictions (Kuiper).

    Examples
    --------
    >>> Probmetrics("kuiper").estimands
    ('kuiper',)
    """

    measure: str = "smooth_ece"

    package = "probmetrics"
    measures = {name: Measure((name,)) for name in ("smooth_ece", "kuiper", "ks", "l1")}

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        from probmetrics import metrics

        if self.measure == "l1" and y.min() == y.max():
            raise UndefinedError("probmetrics removes absent classes, and one is left")
        kinds = {
            "smooth_ece": metrics.SmoothCalibrationError,
            "kuiper": metrics.KuiperCalibrationMetric,
            "ks": metrics.KolmogorovSmirnovCalibrationMetric,
            "l1": metrics.CalibrationError,
        }
        return {self.measure: kinds[self.measure]().compute(*_distributions(p, y))}


@dataclass(frozen=True)
class ProbmetricsGain(_Peer):
    """Gain from recalibration, by probmetrics: the variational estimate of two losses.

        l2_squared, kl = mean loss(f, y) - mean loss(q(f), y)

    q is fitted on the other folds, and mixed with the uniform distribution.

    Parameters
    ----------
    recalibrator : {"temp-scaling", "isotonic"}
    folds : int
        1: in-sample.

    Notes
    -----
    The losses are the Brier score and the log-loss. A lower bound in expectation, up to the
    stratification of the folds, as `harness.estimators.Variational` with `stratified`. In-sample it
    is biased upwards. Single precision. Cost: `folds` fits.

    References
    ----------
    berta2026, eq. 6; probmetrics 1.3.0, MetricsWithCalibration.

    Examples
    --------
    >>> ProbmetricsGain("isotonic").estimands
    ('l2_squared', 'kl')
    """

    recalibrator: str = "temp-scaling"
    folds: int = 5

    package = "probmetrics"
    notions = (*SCALAR, "canonical")
    estimands = ("l2_squared", "kl")
    null_bias = 0.1

    def __post_init__(self) -> None:
        _check_allowed("recalibrator", self.recalibrator, ("temp-scaling", "isotonic"))

    @property
    def determinism(self) -> str:
        return "rounding" if self.folds == 1 else "statistical"

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        from probmetrics.calibrators import get_calibrator
        from probmetrics.metrics import BrierLoss, CombinedMetrics, LogLoss, MetricsWithCalibration
        from probmetrics.splitters import AllSplitter, CVSplitter

        if self.folds > 1 and np.bincount(y).max() < self.folds:
            raise UndefinedError(
                f"probmetrics needs a class of at least {self.folds} samples for as many folds"
            )
        gain = MetricsWithCalibration(
            CombinedMetrics([BrierLoss(), LogLoss()]),
            get_calibrator(self.recalibrator, calibrate_with_mixture=True),
            val_splitter=AllSplitter() if self.folds == 1 else CVSplitter(n_cv=self.folds),
            cal_name="own",
            random_state=None if self.folds == 1 else as_seed(rng),
        )
        try:
            metrics = gain.compute_all(*_distributions(p, y))
        except (ValueError, IndexError) as error:  # too few samples for its folds, or a class lacks
            raise UndefinedError(f"probmetrics: {error}") from error
        brier, logloss = (
            next(value for name, value in metrics.items() if name.startswith(f"calib-err_{loss}_"))
            for loss in ("brier", "logloss")
        )
        return {"l2_squared": brier / (2.0 if p.ndim == 1 else 1.0), "kl": logloss}


def _distributions(p: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """Return (y, p) as distributions of probmetrics."""
    import torch
    from probmetrics.distributions import CategoricalDirac, CategoricalProbs

    both = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    return CategoricalDirac(torch.from_numpy(y), n_classes=both.shape[1]), CategoricalProbs(
        torch.from_numpy(both)
    )


def _check_allowed(name: str, value: object, values: tuple[str, ...]) -> None:
    if value not in values:
        raise BadInputError(f"{name} is {value!r}; allowed are {', '.join(values)}.")
