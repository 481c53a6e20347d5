"""Variational estimator: loss x calibrator x folds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from harness.calibrators import Isotonic
from harness.calibrators.base import Calibrator, CalibratorSpec, fit_each
from harness.estimators.base import Estimate, check_integer, check_level
from harness.math import fold_confidence
from harness.math import losses as loss_functions
from harness.math.estimands import pivot
from harness.math.folds import assign_folds
from harness.math.notions import checked, one_hot
from harness.math.risk import ResidualGram

OWN_REVISION = 2


# Pairs of a loss and its contributions in each partition.
Contributions: TypeAlias = list[tuple[Any, list[np.ndarray]]]


@dataclass(frozen=True)
class Variational:
    """Lower bound of the calibration error in expectation: the held-out gain of recalibration.

        value = mean over held-out samples i of  loss_f(f_i, y_i) - loss_f(q(f_i), y_i)

    with q fitted on the other folds.

    Parameters
    ----------
    calibrator : calibrator
        Fits q, an estimate of E[Y given f] (`harness.calibrators`).
    folds : int
        1 fits and evaluates on the same samples: the "overfitted" variant, biased upwards, without
        a bound.
    stratified : bool
        True spreads every class evenly over the folds, as the paper's library does. Then the
        held-out class shares equal those that q was fitted on, and the estimate can exceed the
        error in expectation (p = 1/2 throughout, Y a fair coin: by 0.4 / sqrt(n)). There is no
        bound.
    pooled : bool
        True averages all held-out samples, False the means of the folds, as in the paper's
        experiments; they differ by O(1 / n).
    losses : tuple
        The losses (`harness.math.losses`); empty means all standard ones of the notion. One fit per
        fold serves all of them.
    repeats : int
        Number of random partitions over which the estimate is averaged.
    level : float
        Confidence level of the bound `low`.

    Notes
    -----
    The expectation is at most the calibration error of the loss, with equality when q = E[Y given
    f]; estimates may be negative. `low` is a lower confidence bound of the calibration error, valid
    for every n (class-wise for the mean over classes). With several partitions the diagnostic
    split_sd is the standard deviation of a single partition's estimate, given the sample. Cost:
    `repeats` x `folds` fits and predictions of the calibrator.

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
        """Why the calibrator cannot run here, or None."""
        return self._inner.unavailable

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        notion: str = "binary",
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        return self.evaluate(p, y, list(self.partitions(p, y, rng)), notion)

    def partitions(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield `repeats` pairs (fold of every sample, held-out recalibrated predictions)."""
        stream = rng if rng is None else np.random.default_rng(rng)
        for _ in range(self.repeats):
            fold = assign_folds(y, self.folds, self.stratified, stream)
            yield fold, cross_fit(self.calibrator, p, y, fold, stream)

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """Return the settings that `tuned` tries: its own calibrator (a grid compares several)."""
        return {}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """Yield, for every setting, the residual products at each array of `points`.

        A setting holds fields such as another calibrator. Features are x - q(x), q fitted on (p,
        y).
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
        """Return {estimand: Estimate} from partitions (fold, q) with held-out q, shaped like p."""
        used = self.contributions(p, y, partitions, notion)
        lows = self._lows(p, y, used, partitions, pivot(notion))
        estimates = {}
        for (loss, x), low in zip(used, lows):
            means = [self._mean(terms, fold) for terms, (fold, _) in zip(x, partitions)]
            level = None if low is None else self.level
            estimates[loss.name] = Estimate(
                float(np.mean(means)), low, level=level, diagnostics=split_sd(means)
            )
        return estimates

    def contributions(
        self,
        p: np.ndarray,
        y: np.ndarray,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        notion: str = "binary",
    ) -> Contributions:
        """Return pairs of a loss and its contributions (n,) in each partition."""
        outcome, boundary = _outcome(p, y), pivot(notion)
        standard = loss_functions.SCALAR_LOSSES if p.ndim == 1 else loss_functions.CANONICAL_LOSSES
        return [
            (loss, [loss.contribution(p, q, outcome, boundary) for _, q in partitions])
            for loss in self.losses or standard
        ]

    def _lows(
        self,
        p: np.ndarray,
        y: np.ndarray,
        used: Contributions,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        boundary: float,
    ) -> list[float | None]:
        """Return lower confidence bounds, one per loss, None where there is none."""
        bounded = [i for i, (loss, _) in enumerate(used) if hasattr(loss, "least")]
        lows: list[float | None] = [None] * len(used)
        if self.folds == 1 or self.stratified or not bounded:
            return lows
        # Moments (3, losses, folds of all partitions).
        rows, least = [], []
        for loss, x in (used[i] for i in bounded):
            if hasattr(loss, "for_bound"):
                x = [loss.for_bound(p, q, _outcome(p, y), boundary) for _, q in partitions]
            least.append(loss.least(p.ndim == 1))
            moments = [
                fold_confidence.moments(terms, fold, least[-1])
                for terms, (fold, _) in zip(x, partitions)
            ]
            rows.append(np.concatenate(moments, axis=1))
        sums, squares, counts = np.stack(rows, axis=1)
        bounds = fold_confidence.lower(sums, squares, counts[0], least, self.level)
        for i, low in zip(bounded, bounds):
            lows[i] = float(low)
        return lows

    def _mean(self, contributions: np.ndarray, fold: np.ndarray) -> float:
        """Return the mean over all samples, or over the means of the folds."""
        if self.pooled:
            return float(contributions.mean())
        return float((np.bincount(fold, contributions) / np.bincount(fold)).mean())


def _outcome(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the labels as floats: (n,), or one-hot (n, k) for vectors."""
    return y.astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])


def split_sd(means: list[float]) -> dict[str, float] | None:
    """Return the diagnostics of several partitions, None for one."""
    return {"split_sd": float(np.std(means, ddof=1))} if len(means) > 1 else None


def cross_fit(
    calibrator: Calibrator, p: np.ndarray, y: np.ndarray, fold: np.ndarray, rng: Any
) -> np.ndarray:
    """Return held-out predictions: row i is predicted by the calibrator fitted on the other folds.

    With one fold, it is fitted on all samples.
    """
    folds = int(fold.max()) + 1
    if folds == 1:
        return calibrator.fit(p, y, rng)(p)
    q = np.empty_like(p)
    held_out = fold == np.arange(folds)[:, None]
    for rows, fitted in zip(held_out, fit_each(calibrator, p, y, ~held_out, rng)):
        q[rows] = fitted(p[rows])
    return q
