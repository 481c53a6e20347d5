"""Estimators of the library probmetrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.common.seeds import as_seed
from harness.errors import UndefinedError
from harness.estimators.base import check_choice
from harness.estimators.peers.base import SCALAR, Measure, Peer, PeerOfMeasures


@dataclass(frozen=True)
class Probmetrics(PeerOfMeasures):
    """Metrics of probmetrics: smooth ECE, Kuiper, Kolmogorov-Smirnov and binned l1.

        smooth_ece   the smooth ECE of relplot
        kuiper       the range of the cumulative residual, 0 included
        ks           the largest absolute value of the cumulative residual
        l1           the binned error of torchmetrics

    The cumulative residual at t is the sum of y - p over the samples with p <= t, divided by n.

    Parameters
    ----------
    measure : {"smooth_ece", "kuiper", "ks", "l1"}
        The metric that is computed.

    Notes
    -----
    All metrics are biased upwards. For one probability per sample, the library computes in single
    precision.

    * kuiper and ks add samples of equal p one after the other, so that the order of these samples
      matters.
    * For l1, p is clipped to [1e-7, 1 - 1e-7], and absent classes are removed.

    Cost: O(n log n).

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
        """Return {estimand: number} from probmetrics, for scalar predictions p and labels y."""
        from probmetrics import metrics

        if self.measure == "l1" and y.min() == y.max():
            raise UndefinedError(
                f"l1 of probmetrics needs both labels, 0 and 1; all labels are {y.min()}"
            )
        kinds = {
            "smooth_ece": metrics.SmoothCalibrationError,
            "kuiper": metrics.KuiperCalibrationMetric,
            "ks": metrics.KolmogorovSmirnovCalibrationMetric,
            "l1": metrics.CalibrationError,
        }
        return {self.measure: kinds[self.measure]().compute(*_distributions(p, y))}


@dataclass(frozen=True)
class ProbmetricsGain(Peer):
    """Gain from recalibration, by probmetrics: the variational estimate of two losses.

        l2_squared = mean Brier(f, y) - mean Brier(q(f), y)
        kl         = mean log-loss(f, y) - mean log-loss(q(f), y)

    f is a prediction and y its label. The recalibration map q is fitted on the other folds and
    mixed with the uniform distribution.

    Parameters
    ----------
    recalibrator : {"temp-scaling", "isotonic"}
        The method that fits q.
    folds : int
        Number of folds. With `folds=1`, q is fitted and judged on the same samples.

    Notes
    -----
    The gain is a lower bound of the calibration error in expectation, up to an effect of the folds:
    the library stratifies them by label (see `stratified` of `harness.estimators.Variational`).
    With one fold the gain is biased upwards. The library computes in single precision. Cost:
    `folds` fits.

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
        check_choice("recalibrator", self.recalibrator, ("temp-scaling", "isotonic"))

    @property
    def determinism(self) -> str:
        return "rounding" if self.folds == 1 else "statistical"

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return both gains from probmetrics, for predictions p (n,) or (n, k) and labels y."""
        from probmetrics.calibrators import get_calibrator
        from probmetrics.metrics import BrierLoss, CombinedMetrics, LogLoss, MetricsWithCalibration
        from probmetrics.splitters import AllSplitter, CVSplitter

        if self.folds > 1 and np.bincount(y).max() < self.folds:
            raise UndefinedError(
                f"probmetrics needs a class of at least {self.folds} samples for {self.folds} folds"
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
        except (ValueError, IndexError) as error:  # a fold lacks samples, or lacks a class
            raise UndefinedError(f"probmetrics: {error}") from error
        brier, logloss = (
            next(value for name, value in metrics.items() if name.startswith(f"calib-err_{loss}_"))
            for loss in ("brier", "logloss")
        )
        return {"l2_squared": brier / (2.0 if p.ndim == 1 else 1.0), "kl": logloss}


def _distributions(p: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """Return (labels, predictions) as probmetrics' distributions. Scalars p become two columns."""
    import torch
    from probmetrics.distributions import CategoricalDirac, CategoricalProbs

    columns = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    return CategoricalDirac(torch.from_numpy(y), n_classes=columns.shape[1]), CategoricalProbs(
        torch.from_numpy(columns)
    )
