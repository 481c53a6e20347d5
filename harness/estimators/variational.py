"""Variational estimator: the gain of recalibration by a calibrator, on held-out folds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.calibrators import Isotonic
from harness.calibrators.base import Calibrator, CalibratorSpec, fit_each, weighted_fit
from harness.estimators.base import Estimate, check_integer, check_level
from harness.math import fold_confidence
from harness.math import losses as loss_functions
from harness.math.blocks import row_blocks
from harness.math.estimands import pivot
from harness.math.folds import assign_folds
from harness.math.notions import checked, one_hot
from harness.math.risk import ResidualGram
from harness.math.weights import mean, weighted_rows

OWN_REVISION = 2


@dataclass(frozen=True)
class Variational:
    """Lower bound of the calibration error, in expectation: the held-out gain of recalibration.

        value = mean over held-out samples i of  loss(f_i, y_i) - loss(q(f_i), y_i)

    f_i is a prediction and y_i its label. The recalibration map q is fitted on the other folds. For
    the errors that are distances, such as l1, the loss depends on f_i, too (`harness.math.losses`).

    Parameters
    ----------
    calibrator : calibrator
        The method that fits q, an estimate of E[Y given f] (`harness.calibrators`).
    folds : int
        Number of folds. With 1, q is fitted and evaluated on the same samples. This is the
        "overfitted" variant, which is biased upwards and has no bound `low`.
    stratified : bool
        True spreads every class evenly over the folds, as the paper's library does. The held-out
        labels are then not independent of the labels that q was fitted on. The expected estimate
        may exceed the error, and there is no bound `low`. For example, if all p are 1/2 and Y is a
        fair coin, it exceeds the error by 0.4 / sqrt(n).
    pooled : bool
        True takes the mean over all held-out samples. False takes the mean over the folds of the
        means in the folds, as in the paper's experiments. The two differ by O(1 / n).
    losses : tuple
        The losses (`harness.math.losses`). An empty tuple means all standard losses of the notion.
        All losses use the same fits.
    repeats : int
        Number of random partitions into folds over which the estimate is averaged.
    level : float
        Confidence level of the bound `low`.

    Notes
    -----
    The expectation is at most the calibration error of the loss, and equal to it if
    q = E[Y given f]. Estimates may be negative. `low` is a lower confidence bound of the
    calibration error, valid at every n. Under the class-wise notion it bounds the mean over the
    classes.

    If there are several partitions, the diagnostic `split_sd` is the standard deviation over the
    partitions of their estimates. Cost: `repeats` x `folds` fits and predictions of the calibrator.

    References
    ----------
    berta2026, eq. 6, Algorithm 1 and Proposition 1.

    Examples
    --------
    >>> import harness
    >>> from harness.calibrators import Temperature
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> e = Variational(Temperature())(p, y, np.random.default_rng(1))["l1"]
    >>> round(e.value, 2), e.low > 0.0
    (0.15, True)
    """

    calibrator: Any = field(default_factory=Isotonic)
    folds: int = 5
    stratified: bool = False
    pooled: bool = True
    losses: tuple[Any, ...] = ()
    repeats: int = 1
    level: float = 0.95

    notions = ("binary", "top_label", "classwise", "canonical")
    tunable = ("calibrator",)
    wants = ("notion",)

    def __post_init__(self) -> None:
        check_integer("folds", self.folds)
        check_integer("repeats", self.repeats)
        check_level(self.level)
        for name, value in (
            ("losses", tuple(self.losses)),
            ("folds", int(self.folds)),
            ("repeats", int(self.repeats)),
        ):
            object.__setattr__(self, name, value)

    @property
    def estimands(self) -> tuple[str, ...]:
        used = self.losses or loss_functions.SCALAR_LOSSES + loss_functions.CANONICAL_LOSSES
        return tuple(dict.fromkeys(loss.name for loss in used))

    @property
    def determinism(self) -> str:
        exact = self.folds == 1 and self._inner.determinism == "exact"
        return "exact" if exact else "statistical"

    @property
    def _inner(self) -> CalibratorSpec:
        return CalibratorSpec.of(self.calibrator)

    @property
    def null_bias(self) -> float:
        return 0.35 if self.folds == 1 else self._inner.null_bias

    @property
    def revision(self) -> int:
        return OWN_REVISION + self._inner.revision

    @property
    def max_n(self) -> int | None:
        return self._inner.max_n

    @property
    def max_classes(self) -> int | None:
        return self._inner.max_classes

    @property
    def seconds(self) -> float:
        return self.repeats * self.folds * self._inner.seconds

    @property
    def unavailable(self) -> str | None:
        """Reason why the calibrator cannot run here. None if it can run."""
        return self._inner.unavailable

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        notion: str = "binary",
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the estimates.

        With `sample_weight` (n,), fits and means are weighted, and there is no bound `low`: it
        needs samples that count alike.
        """
        p, y = checked(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        partitions = list(self.partitions(p, y, rng, w))
        if w is None:
            return self.evaluate(p, y, partitions, notion)
        means = [self._weighted_means(p, y, w, *partition, notion) for partition in partitions]
        return {
            name: Estimate(
                float(np.mean([each[name] for each in means])),
                diagnostics=split_sd([each[name] for each in means]),
            )
            for name in means[0]
        }

    def _weighted_means(
        self,
        p: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        fold: np.ndarray,
        q: np.ndarray,
        notion: str,
    ) -> dict[str, float]:
        """Return {estimand: weighted mean contribution} for one partition."""
        rows = [slice(None)] if self.pooled else [fold == j for j in range(fold.max() + 1)]
        return {
            name: float(np.mean([mean(x[part], weights[part]) for part in rows]))
            for name, x in self.contributions(p, y, q, notion).items()
        }

    def partitions(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None,
        sample_weight: np.ndarray | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield `repeats` random partitions with their held-out recalibrated predictions.

        Each is a pair (fold, q): the fold of every sample (n,), and predictions q shaped like p.
        The fits have weights (n,) above 0 unless they are None.
        """
        stream = rng if rng is None else np.random.default_rng(rng)
        for _ in range(self.repeats):
            fold = assign_folds(y, self.folds, self.stratified, stream)
            yield fold, cross_fit(self.calibrator, p, y, fold, stream, sample_weight)

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """Return the settings that `Tuned` tries by default: only the field `calibrator`."""
        return {}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting such as {"calibrator": c}, the residual products at `points`.

        The calibrator is fitted to predictions p and labels y. The feature of a point x is
        x - q(x) with the fitted map q. Residual products are inner products of the features of two
        points.
        """
        for setting in settings:
            q = dataclasses.replace(self, **setting).calibrator.fit(p, y, rng)
            yield [ResidualGram((x - q(x)).reshape(len(x), -1)) for x in points]

    def evaluate(
        self,
        p: np.ndarray,
        y: np.ndarray,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        notion: str = "binary",
    ) -> dict[str, Estimate]:
        """Return {estimand: Estimate} from held-out recalibrated predictions.

        `partitions` are pairs (fold, q): the fold of every sample (n,), and predictions q shaped
        like p.
        """
        sums = [self._sums(p, y, fold, q, notion) for fold, q in partitions]
        used = self._used(p.ndim)
        lows = self._lower_bounds([moments for _, moments in sums], used, p.ndim == 1)
        estimates = {}
        for i, (loss, low) in enumerate(zip(used, lows)):
            means = [of_losses[i] for of_losses, _ in sums]
            level = None if low is None else self.level
            estimates[loss.name] = Estimate(
                float(np.mean(means)), low, level=level, diagnostics=split_sd(means)
            )
        return estimates

    def contributions(
        self, p: np.ndarray, y: np.ndarray, q: np.ndarray, notion: str = "binary"
    ) -> dict[str, np.ndarray]:
        """Return {estimand: contributions (n,)}.

        The contribution of a sample is the loss of its prediction minus the loss of its held-out
        recalibrated prediction. q holds these recalibrated predictions and is shaped like p.
        """
        outcome, boundary = _outcome(p, y), pivot(notion)
        return {
            loss.name: loss.contribution(p, q, outcome, boundary) for loss in self._used(p.ndim)
        }

    def _used(self, dimensions: int) -> tuple[Any, ...]:
        """Return the losses for scalars (1 dimension) or vectors (2 dimensions)."""
        standard = loss_functions.SCALAR_LOSSES
        return self.losses or (standard if dimensions == 1 else loss_functions.CANONICAL_LOSSES)

    def _sums(
        self, p: np.ndarray, y: np.ndarray, fold: np.ndarray, q: np.ndarray, notion: str
    ) -> tuple[list[float], np.ndarray]:
        """Return the mean contribution for each loss, and the moments (losses, 3, folds).

        q are the held-out recalibrated predictions, shaped like p. The moments are needed for the
        bounds (`fold_confidence`). They are 0 for losses without a bound.
        """
        used, boundary, folds = self._used(p.ndim), pivot(notion), int(fold.max()) + 1
        totals = np.zeros((len(used), 1 if self.pooled else folds))
        moments = np.zeros((len(used), 3, folds))
        for rows in row_blocks(len(p)):
            block = p[rows], q[rows], _outcome(p[rows], y[rows]), boundary
            for i, loss in enumerate(used):
                x = loss.contribution(*block)
                totals[i] += x.sum() if self.pooled else np.bincount(fold[rows], x, folds)
                if self._has_bound(loss):
                    x = loss.for_bound(*block) if hasattr(loss, "for_bound") else x
                    least = loss.least(p.ndim == 1)
                    moments[i] += fold_confidence.moments(x, fold[rows], least, folds)
        counts = len(p) if self.pooled else np.bincount(fold)
        return [float(mean) for mean in (totals / counts).mean(axis=1)], moments

    def _has_bound(self, loss: Any) -> bool:
        """Return False for one fold, stratified folds, and losses without a least contribution."""
        return self.folds > 1 and not self.stratified and hasattr(loss, "least")

    def _lower_bounds(
        self, moments: Sequence[np.ndarray], used: Sequence[Any], scalar: bool
    ) -> list[float | None]:
        """Return the lower confidence bound for each loss of `used`. None means no bound.

        `moments` holds the moments (losses, 3, folds) of the contributions in each partition.
        """
        bounded = [i for i, loss in enumerate(used) if self._has_bound(loss)]
        lows: list[float | None] = [None] * len(used)
        if bounded:
            sums, squares, counts = np.concatenate(moments, axis=2)[bounded].swapaxes(0, 1)
            least = [used[i].least(scalar) for i in bounded]
            bounds = fold_confidence.lower(sums, squares, counts[0], least, self.level)
            for i, low in zip(bounded, bounds):
                lows[i] = float(low)
        return lows


def _outcome(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return labels y (n,) as floats: (n,) for scalars p (n,), one-hot (n, k) for vectors p."""
    return y.astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])


def split_sd(means: list[float]) -> dict[str, float] | None:
    """Return {"split_sd": standard deviation of the estimates `means`}, one per partition.

    Return None if there is a single partition.
    """
    return {"split_sd": float(np.std(means, ddof=1))} if len(means) > 1 else None


def cross_fit(
    calibrator: Calibrator,
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: Any,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return held-out recalibrated predictions, shaped like p.

    The prediction of a sample is by the calibrator fitted to the other folds. With one fold, the
    calibrator is fitted to all samples. `fold` (n,) numbers the folds from 0. `sample_weight` (n,)
    holds weights above 0, or is None.
    """
    folds = int(fold.max()) + 1
    if folds == 1:
        return weighted_fit(calibrator, p, y, rng, sample_weight)(p)
    q = np.empty_like(p)
    held_out = fold == np.arange(folds)[:, None]
    maps = fit_each(calibrator, p, y, ~held_out, rng, sample_weight)
    for rows, fitted in zip(held_out, maps):
        q[rows] = fitted(p[rows])
    return q
