"""The variational estimator: loss x calibrator x folds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from harness.calibrators import Isotonic
from harness.calibrators.base import Calibrator, CalibratorSpec, fit_each
from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.math import fold_confidence
from harness.math import losses as loss_functions
from harness.math.estimands import pivot
from harness.math.folds import fold_of
from harness.math.notions import checked, one_hot, reduce
from harness.math.risk import ResidualGram

OWN_REVISION = 2


Contributions: TypeAlias = list[
    tuple[Any, list[np.ndarray]]
]  # of each loss: those of each partition


@dataclass(frozen=True)
class Variational:
    """A lower bound of the calibration error in expectation: what recalibration gains on held-out samples.

        value = mean over held-out samples i of  loss_f(f_i, y_i) - loss_f(q(f_i), y_i),   q fitted on the other folds

    Parameters
    ----------
    calibrator : calibrator
        What fits q, an estimate of E[Y given f] (`harness.calibrators`).
    folds : int
        1 fits and evaluates on the same samples: the "overfitted" variant, biased upwards, without a bound.
    stratified : bool
        Whether every class is spread evenly over the folds, as the paper's library does. Then the class shares held out are
        those that q was fitted on, the estimate can exceed the error in expectation (p = 1/2 throughout, Y a fair coin: by 0.4
        / sqrt(n)), and there is no bound.
    pooled : bool
        Whether all held-out samples are averaged, or the means of the folds, as in the paper's experiments; they differ by O(1
        / n).
    losses : tuple
        The losses (`harness.math.losses`); none means all standard ones of the notion. One fit per fold serves all of them.
    repeats : int
        Over how many random partitions the estimate is averaged.
    level : float
        Confidence level of the bound `low`.

    Notes
    -----
    The expectation is at most the calibration error of the loss, with equality when q = E[Y given f]; estimates may be
    negative. `low` is a lower confidence bound of the calibration error, valid for every n (classwise for the mean over
    classes). With several partitions the diagnostic split_sd is the standard deviation of a single partition's estimate,
    given the sample. Cost: `repeats` x `folds` fits and predictions of the calibrator.

    References
    ----------
    berta2026, eq. 6, Algorithm 1 and Proposition 1.

    Examples
    --------
    >>> import harness
    >>> from harness.calibrators import Temperature
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> found = Variational(Temperature())(p, y, np.random.default_rng(1))["l1"]
    >>> round(found.value, 2), found.low > 0.0
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
        if int(self.folds) != self.folds or self.folds < 1:
            raise BadInputError(
                f"folds is {self.folds}; an integer of at least 1 is needed (1 = fit and evaluate on the same data)."
            )
        if int(self.repeats) != self.repeats or self.repeats < 1:
            raise BadInputError(f"repeats is {self.repeats}; an integer of at least 1 is needed.")
        if not 0.0 < self.level < 1.0:
            raise BadInputError(
                f"level is {self.level}; a number between 0 and 1 is needed, such as 0.95."
            )
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
        return (
            "exact"
            if self.folds == 1 and CalibratorSpec.of(self.calibrator).determinism == "exact"
            else "statistical"
        )

    @property
    def null_bias(self) -> float:
        return 0.35 if self.folds == 1 else CalibratorSpec.of(self.calibrator).null_bias

    @property
    def revision(self) -> int:
        return OWN_REVISION + CalibratorSpec.of(self.calibrator).revision

    @property
    def max_n(self) -> int | None:
        return CalibratorSpec.of(self.calibrator).max_n

    @property
    def max_classes(self) -> int | None:
        return CalibratorSpec.of(self.calibrator).max_classes

    @property
    def seconds(self) -> float:
        return self.repeats * self.folds * CalibratorSpec.of(self.calibrator).seconds

    @property
    def unavailable(self) -> str | None:
        """Why the calibrator cannot run here, or None."""
        return CalibratorSpec.of(self.calibrator).unavailable

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
        """`repeats` pairs (fold of every sample, held-out recalibrated predictions)."""
        stream = rng if rng is None else np.random.default_rng(rng)
        for _ in range(self.repeats):
            fold = fold_of(y, self.folds, self.stratified, stream)
            yield fold, cross_fit(self.calibrator, p, y, fold, stream)

    def search_space(self, scalar: bool) -> dict[str, tuple[Any, ...]]:
        """What `tuned` tries: the calibrator that it has (a grid of several compares them)."""
        return {}

    def products(
        self,
        p: np.ndarray,
        y: np.ndarray,
        points: Sequence[np.ndarray],
        settings: Sequence[dict[str, Any]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[ResidualGram]]:
        """For every setting (fields such as another calibrator), residual products at every array of `points`: features x - q(x),
        q fitted on (p, y)."""
        for one in settings:
            q = dataclasses.replace(self, **one).calibrator.fit(p, y, rng)
            yield [ResidualGram((x - q(x)).reshape(len(x), -1)) for x in points]

    def evaluate(
        self,
        p: np.ndarray,
        y: np.ndarray,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        notion: str = "binary",
    ) -> dict[str, Estimate]:
        """{estimand: Estimate} from partitions (fold, q), q like p and held out."""
        used = self.contributions(p, y, partitions, notion)
        lows = self._lows(p, y, used, partitions, pivot(notion))
        found = {}
        for i, (loss, x) in enumerate(used):
            means = [self._mean(terms, fold) for terms, (fold, _) in zip(x, partitions)]
            diagnostics = {"split_sd": float(np.std(means, ddof=1))} if len(means) > 1 else None
            low = lows[i]
            found[loss.name] = Estimate(
                float(np.mean(means)),
                low,
                None,
                None if low is None else self.level,
                "point",
                diagnostics,
            )
        return found

    def contributions(
        self,
        p: np.ndarray,
        y: np.ndarray,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        notion: str = "binary",
    ) -> Contributions:
        """[(loss, [(n,) contributions of each partition])]."""
        outcome, at = _outcome(p, y), pivot(notion)
        standard = loss_functions.SCALAR_LOSSES if p.ndim == 1 else loss_functions.CANONICAL_LOSSES
        return [
            (loss, [loss.contribution(p, q, outcome, at) for _, q in partitions])
            for loss in self.losses or standard
        ]

    def _lows(
        self,
        p: np.ndarray,
        y: np.ndarray,
        used: Contributions,
        partitions: Sequence[tuple[np.ndarray, np.ndarray]],
        at: float,
    ) -> list[float | None]:
        """Lower confidence bounds, None where there are none."""
        bounded = [i for i, (loss, _) in enumerate(used) if hasattr(loss, "least")]
        lows: list[float | None] = [None] * len(used)
        if self.folds == 1 or self.stratified or not bounded:
            return lows
        found, least = [], []
        for loss, x in (used[i] for i in bounded):
            if hasattr(loss, "for_bound"):
                x = [loss.for_bound(p, q, _outcome(p, y), at) for _, q in partitions]
            least.append(loss.least(p.ndim == 1))
            found.append(
                [
                    fold_confidence.moments(terms, fold, least[-1])
                    for terms, (fold, _) in zip(x, partitions)
                ]
            )
        sums, squares, counts = (
            np.array([np.concatenate([of_one[part] for of_one in of_loss]) for of_loss in found])
            for part in range(3)
        )
        for i, low in zip(
            bounded, fold_confidence.lower(sums, squares, counts[0], least, self.level)
        ):
            lows[i] = float(low)
        return lows

    def _mean(self, contributions: np.ndarray, fold: np.ndarray) -> float:
        if self.pooled:
            return float(contributions.mean())
        return float((np.bincount(fold, contributions) / np.bincount(fold)).mean())


def _outcome(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y.astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])


def cross_fit(
    calibrator: Calibrator, p: np.ndarray, y: np.ndarray, fold: np.ndarray, rng: Any
) -> np.ndarray:
    """Held-out predictions: row i is predicted by the calibrator fitted on the other folds (on all, if there is one fold)."""
    folds = int(fold.max()) + 1
    if folds == 1:
        return calibrator.fit(p, y, rng)(p)
    q = np.empty_like(p)
    held_out = fold == np.arange(folds)[:, None]
    for own, fitted in zip(held_out, fit_each(calibrator, p, y, ~held_out, rng)):
        q[own] = fitted(p[own])
    return q


def paired_difference(
    p_first: ArrayLike,
    p_second: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator | int,
    estimator: Variational | None = None,
    notion: str = "binary",
    level: float = 0.95,
) -> dict[str, Estimate]:
    """The variational error of one model minus that of another on the same samples, with an interval.

        value = mean over held-out samples of  contribution(first) - contribution(second)

    Parameters
    ----------
    p_first, p_second : array_like of shape (n,) or (n, k)
        Predictions of the two models.
    y : array_like of shape (n,)
        The labels, common to both.
    rng : numpy.random.Generator or int
        What the folds are drawn from; both models are cross-fitted on the same partitions.
    estimator : Variational, optional
        How; with several folds that are not stratified.
    notion : {"binary", "top_label", "canonical"}
        Which reduction is judged.
    level : float
        Confidence level of the interval.

    Returns
    -------
    dict of str to Estimate
        By estimand, with low and high; without them where a loss is infinite, or a fold too small.

    Raises
    ------
    BadInputError
        Where the predictions do not fit together, or no paired interval exists (classwise, one fold, stratified folds).

    Notes
    -----
    The interval is that of a mean of paired differences (`half_width`), asymptotic in the size of a fold. It is about what
    the fitted maps reveal of both errors: E[contribution] of each is at most its error, and a difference of two lower bounds
    is no bound of the difference of the errors.

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_calibrated").sample(2000, np.random.default_rng(0))
    >>> worse = p**2 / (p**2 + (1 - p) ** 2)
    >>> found = paired_difference(worse, p, y, np.random.default_rng(1))["l1"]
    >>> found.low > 0.0
    True
    """
    estimator = estimator or Variational()
    if not isinstance(estimator, Variational):
        raise BadInputError(
            f"estimator is a {type(estimator).__name__}; a paired interval needs a variational one."
        )
    if not 0.0 < level < 1.0:
        raise BadInputError(f"level is {level}; a number between 0 and 1 is needed, such as 0.95.")
    first, y_first = reduce(p_first, y, notion)
    second, y_second = reduce(p_second, y, notion)
    if first.shape != second.shape:
        raise BadInputError(
            f"p_second reduces to shape {second.shape}, p_first to {first.shape}; they must be alike."
        )
    if estimator.folds == 1 or estimator.stratified or notion == "classwise":
        what = (
            "classwise"
            if notion == "classwise"
            else "folds = 1"
            if estimator.folds == 1
            else "stratified folds"
        )
        raise BadInputError(
            f"a paired interval does not exist with {what}; give several random folds and a notion of one outcome."
        )
    found = {}
    differences: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    stream = (
        None if rng is None else np.random.default_rng(rng)
    )  # without one, the folds say that it is missing
    for _ in range(estimator.repeats):
        fold = fold_of(y_first, estimator.folds, False, stream)
        seed = as_seed(stream)
        sides = []
        for p, labels in ((first, y_first), (second, y_second)):
            q = cross_fit(
                estimator.calibrator, p, labels, fold, np.random.default_rng(seed)
            )  # both sides' fits draw alike
            sides.append(estimator.contributions(p, labels, [(fold, q)], notion))
        with np.errstate(invalid="ignore"):  # two infinite losses have no difference
            for (loss, (a,)), (_, (b,)) in zip(*sides):
                differences.setdefault(loss.name, []).append((a - b, fold))
    for name, terms in differences.items():
        values = [float(x.mean()) for x, _ in terms]
        finite = all(
            np.isfinite(x).all() for x, _ in terms
        )  # an outcome that one model calls impossible is infinitely wrong
        half = (
            float(np.mean([fold_confidence.half_width(x, fold, level) for x, fold in terms]))
            if finite
            else float("nan")
        )
        value = float(np.mean(values))
        diagnostics = {"split_sd": float(np.std(values, ddof=1))} if len(values) > 1 else None
        low, high = (None, None) if np.isnan(half) else (value - half, value + half)
        found[name] = Estimate(
            value, low, high, None if low is None else level, diagnostics=diagnostics
        )
    return found
