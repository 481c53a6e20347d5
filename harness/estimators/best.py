"""Estimators of this project: a lower bound by stacked calibrators, and a learned estimate.

BEST_NOTES.md describes how they were developed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri, rel_entr

from harness.calibrators import Isotonic, NadarayaWatson, StructuredMatrixScaling, Temperature
from harness.calibrators.base import Calibrator, CalibratorSpec
from harness.errors import BadInputError, UndefinedError
from harness.estimators import learned
from harness.estimators.base import Estimate, check_integer, check_level, generator
from harness.estimators.ingredients import compute_ingredients, fold_independent
from harness.estimators.stacking import cross_fit_pairs, stack_predictions
from harness.estimators.variational import Variational
from harness.math.estimands import pivot
from harness.math.folds import assign_folds
from harness.math.notions import checked, one_hot

FOLDS = 5
MIN_SAMPLES = 20  # with fewer samples, cross-fitting is uninformative
# Up to the first number of samples, only the network is used; from the second on, only the stack.
LEARNED_SAMPLES = 1e4, 1e6
SEVERAL_PARTITIONS = 1_000  # with more samples, one partition into folds is used
MAX_MATRIX_CLASSES = 30  # with more classes, matrix scaling takes minutes
# A lower end below this multiple of the value is 0 up to rounding.
ROUNDING = 16.0 * np.finfo(np.float64).eps

Ends: TypeAlias = tuple[float, ...]  # value, low and high


@dataclass(frozen=True)
class BestLower:
    """Lower bound, in expectation, from the gain by a stack of calibrators.

        value = mean over held-out samples i of  loss(f_i, y_i) - loss(q(f_i), y_i)
        q = (1 - sum_m w_m) f + sum_m w_m q_m

    f_i is a prediction and y_i its label. q_m is the recalibration map of calibrator m = 1, ..., M,
    and w_m its weight in the stack q. The identity has the remaining weight.

    Parameters
    ----------
    calibrators : tuple of calibrators
        The calibrators of the stack. A calibrator is left out if the sample exceeds its `max_n` or
        `max_classes`, or if it is `StructuredMatrixScaling` and there are more than 30 classes. If
        all are left out, the estimate is undefined.
    folds : int
        Number of folds, at least 3. Maps and weights are fitted on the folds that they are not
        applied to.
    level : float
        Confidence level of the bound `low`.

    Notes
    -----
    The expectation is at most the calibration error of the loss, as in `Variational`, because
    neither the maps nor the weights of a fold use the labels of that fold.

    The weights of fold v satisfy w >= 0 and sum w <= 1. They minimise the squared error on the
    other folds. A sample of fold u is predicted by maps that were fitted without the folds u and v.
    The noise of the weights lowers the estimate of the squared error by O(M / n), and a calibrator
    that fails gets a weight near 0.

    All losses use the same fits. Cost: K (K + 1) / 2 fits of every calibrator with K folds; these
    are 15 fits for five folds, three times as many as in `Variational`.

    References
    ----------
    berta2026, eq. 6 and Proposition 1; Wolpert (1992), Stacked generalization; van der Laan, Polley
    and Hubbard (2007), Super learner.

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> e = BestLower()(p, y, np.random.default_rng(1))["l1"]
    >>> round(e.value, 2), e.low > 0.0
    (0.15, True)
    """

    calibrators: tuple[Calibrator, ...] = (
        Isotonic(),
        Temperature(),
        StructuredMatrixScaling(),
        NadarayaWatson(0.1),
    )
    folds: int = 5
    level: float = 0.95

    notions = ("binary", "top_label", "classwise", "canonical")
    determinism = "statistical"
    null_bias = 0.05
    wants = ("notion",)

    def __post_init__(self) -> None:
        if int(self.folds) != self.folds or self.folds < 3:
            raise BadInputError(
                f"folds is {self.folds}, but folds are left out in pairs; give an integer of at "
                "least 3."
            )
        if not self.calibrators:
            raise BadInputError("calibrators is empty; give at least one calibrator.")
        object.__setattr__(self, "calibrators", tuple(self.calibrators))
        self._variational()

    @property
    def revision(self) -> int:
        return 1 + max(CalibratorSpec.of(calibrator).revision for calibrator in self.calibrators)

    @property
    def estimands(self) -> tuple[str, ...]:
        return self._variational().estimands

    @property
    def seconds(self) -> float:
        seconds = sum(CalibratorSpec.of(calibrator).seconds for calibrator in self.calibrators)
        return self.folds * (self.folds + 1) / 2 * seconds

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        notion: str = "binary",
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        stream = rng if rng is None else np.random.default_rng(rng)
        fold = assign_folds(y, self.folds, False, stream)
        calibrators = [calibrator for calibrator in self.calibrators if _accepts(calibrator, p)]
        if not calibrators:
            raise UndefinedError(
                f"all calibrators are left out, because p of shape {p.shape} exceeds their limits"
            )
        q, weights = stack_predictions(p, y, fold, cross_fit_pairs(calibrators, p, y, fold, stream))
        estimates = self._variational().evaluate(p, y, [(fold, q)], notion)
        share = {"weight_identity": float(1.0 - weights.sum(axis=1).mean())}
        return {name: replace(e, diagnostics=share) for name, e in estimates.items()}

    def _variational(self) -> Variational:
        return Variational(folds=self.folds, level=self.level)


def _accepts(calibrator: Calibrator, p: np.ndarray) -> bool:
    """Return True if the calibrator can be fitted to as many samples and classes as p has."""
    spec = CalibratorSpec.of(calibrator)
    classes = 2 if p.ndim == 1 else p.shape[1]
    if isinstance(calibrator, StructuredMatrixScaling) and classes > MAX_MATRIX_CLASSES:
        return False
    return (spec.max_n is None or len(p) <= spec.max_n) and (
        spec.max_classes is None or classes <= spec.max_classes
    )


@dataclass(frozen=True)
class Best:
    """Learned combination of cheap estimates: an approximate Bayes estimate under a stated prior.

        value = max(sum_j w_j(x) T_j + u h(x), L - 1.645 u, 0)

    T_j are candidate estimates: the held-out and in-sample estimates of 7 recalibration maps (11
    for scalars) and of their stack, binned and debiased estimates, and 0. x are features of the
    sample: its size, the spread of the predictions, and differences of the T_j in units of the
    noise. u is one unit of noise, of order 1 / sqrt(n) for n samples. L is the held-out gain of the
    stack, a lower bound in expectation. A small network, which is stored, returns the weights
    w_j >= 0 of sum 1 and the correction h with |h| <= 1.

    Other estimands follow from the same fits. Let s be the sign of p - 1/2, but 1 for a top-label
    confidence, m = mean(s (p - y)) and t = abs(mean(p - y where s = 0, else 0)). For scalars,

        l1_over = max(l1 - t + m, 0) / 2        l1_under = max(l1 - t - m, 0) / 2

    One of both exceeds l1 if abs(m) > l1 - t, which can happen by chance. kl is the mean of the
    held-out and the in-sample gain of the stack in log-loss, at least 0. It has no interval, and is
    infinite if an outcome occurred whose prediction is 0.

    Parameters
    ----------
    repeats : int
        Number of random partitions into five folds. The estimate is the mean over the partitions.
        Above 1,000 samples a single partition is used, because partitions hardly differ there.
    level : float
        Level of the interval [low, high].

    Notes
    -----
    The value is no bound. It is nearly unbiased on average over the prior. It is too large if the
    miscalibration is too small to be detected, and too small if E[Y given p] is rougher than n
    samples can resolve. For example, a square wave of 20 periods and height 0.08 needs thousands of
    samples (docs/explanation/best.md).

    The interval holds on average over the prior, not for every distribution. Its sides are quantile
    regressions on simulations that the network was not trained on. Simulations that neither used
    give the factors that make the coverage right at several n and levels (conformalised quantile
    regression).

    The method depends on the number of samples:

    * Below 20, the value compares the means of p and y only, and the interval contains all possible
      values.
    * Between 10^4 and 10^6, the value moves from the network to the stack of the maps. The stack
      converges to the error if one of its maps can represent E[Y given p]. The interval covers both
      values. Its measured coverage is in harness/judging/coverage.csv.
    * No vectors with more than 60,000 entries n k were simulated (but up to 1,500 rows for any k).
      Beyond that, the interval stays as wide as that of the largest simulated sample.

    Under the class-wise notion, values and ends are averaged over the classes first, and then the
    lower end is clipped at 0. The other order would give calibrated predictions a lower end above
    0, because some of their classes have one by chance.

    Cost: O(repeats n k log n) for k classes. One repeat takes 6 ms at n = 1,000 for scalars. At
    n = 10,000 and k = 10, it takes 0.2 s and 45 times the memory of p. Scalars are taken in
    blocks: at n = 2 10^6, one repeat takes 4 s and 11 times the memory of p.

    References
    ----------
    Sainsbury-Dale, Zammit-Mangion and Huser (2024), Likelihood-free parameter estimation with
    neural Bayes estimators, The American Statistician 78; Romano, Patterson and Candes (2019),
    Conformalized quantile regression. harness/estimators/BEST_NOTES.md describes the development.
    tools/best_prior.py is the prior, and tools/train_best.py simulates samples and trains the
    network.

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> e = Best(repeats=1)(p, y, np.random.default_rng(1))["l1"]
    >>> round(e.value, 1), e.low < 0.137 < e.high
    (0.1, True)
    """

    repeats: int = 4
    level: float = 0.95

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("l1", "l2", "l2_squared", "rms", "kl", "l1_over", "l1_under")
    determinism = "statistical"
    takes_classwise = True
    wants = ("notion",)
    revision = 7
    null_bias = 0.05

    def __post_init__(self) -> None:
        check_integer("repeats", self.repeats)
        check_level(self.level)

    @property
    def seconds(self) -> float:
        return 0.012 * self.repeats

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        notion: str = "binary",
    ) -> dict[str, Estimate]:
        rng = generator(rng)
        if np.ndim(y) == 2:  # class-wise
            classes = [self._ends(p[:, j], y[:, j], rng, notion) for j in range(p.shape[1])]
            ends = {name: np.mean([e[name] for e in classes], axis=0) for name in classes[0]}
        else:
            ends = self._ends(p, y, rng, notion)
        largest = _largest_values(np.ndim(p) == 2 and np.ndim(y) == 1)
        estimates = {"kl": Estimate(float(ends.pop("kl")[0]))}
        for name, (value, low, high) in ends.items():
            value = float(np.clip(value, 0.0, largest[name]))
            low = float(np.clip(low, 0.0, value))  # after the average over classes (see Notes)
            high = float(max(min(high, largest[name]), value))
            estimates[name] = Estimate(value, low, high, self.level)
        return estimates

    def _ends(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator, notion: str
    ) -> dict[str, Ends]:
        """Return {estimand: (value, low, high)} for p (n,) or (n, k). low may be negative."""
        p, y = checked(p, y)
        ends = _error_of_means(p, y) if len(p) < MIN_SAMPLES else self._learned_ends(p, y, rng)
        for name, (value, low, high) in ends.items():
            ends[name] = value, 0.0 if abs(low) <= ROUNDING * value else low, high
        if p.ndim == 1:
            ends |= self._signed_ends(ends["l1"], p, y, np.sign(p - pivot(notion)))
        return ends | {"rms": tuple(np.sign(end) * abs(end) ** 0.5 for end in ends["l2_squared"])}

    def _learned_ends(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> dict[str, Ends]:
        """Return {estimand: (value, low, high)} averaged over random partitions."""
        kind = "scalar" if p.ndim == 1 else "vector"
        first, last = np.log(LEARNED_SAMPLES)
        share = float(np.clip((np.log(len(p)) - first) / (last - first), 0.0, 1.0))
        parts = []
        shared = fold_independent(p, y)
        for _ in range(int(self.repeats) if len(p) <= SEVERAL_PARTITIONS else 1):
            ingredients = compute_ingredients(p, y, assign_folds(y, FOLDS, False, rng), rng, shared)
            answers = learned.evaluate(kind, ingredients, len(p), self.level)
            part = {
                name: _move_to_stack(*answer, ingredients.limits[name], share)
                for name, answer in answers.items()
            }
            parts.append(part | {"kl": (max(ingredients.kl, 0.0), 0.0, 0.0)})
        ends: dict[str, Ends] = {}
        for name in parts[0]:
            value, below, above = map(float, np.mean([part[name] for part in parts], axis=0))
            ends[name] = value, value - below, value + above
        return ends

    def _signed_ends(
        self, l1: Ends, p: np.ndarray, y: np.ndarray, side: np.ndarray
    ) -> dict[str, Ends]:
        """Return the ends of l1_over and l1_under from those of l1. `side` (n,) is s of the class.

        The difference of both estimands is the signed mean gap. The half width adds the half width
        of this mean to that of l1. Its variance is at least that of calibrated predictions, because
        a few equal outcomes would have none.
        """
        n, gap = len(p), p - y
        mean, undecided = (side * gap).mean(), abs(gap[side == 0].sum()) / n
        variance = max((side * gap).var(), (side**2 * p * (1.0 - p)).mean())
        half = float(ndtri((1.0 + self.level) / 2.0) * np.sqrt(variance / n))
        if n < MIN_SAMPLES:
            half = np.inf
        sides = np.array([0.0, -half, half])
        return {
            name: tuple((np.array(l1) - undecided + sign * mean + sides) / 2.0)
            for name, sign in (("l1_over", 1.0), ("l1_under", -1.0))
        }


def _largest_values(vectors: bool) -> dict[str, float]:
    """Return the largest possible value of each estimand, for vectors or for scalars."""
    if vectors:
        return {"l1": 2.0, "l2_squared": 2.0, "rms": 2.0**0.5, "l2": 2.0**0.5}
    return dict.fromkeys(("l1", "l2_squared", "rms", "l1_over", "l1_under"), 1.0)


def _error_of_means(p: np.ndarray, y: np.ndarray) -> dict[str, Ends]:
    """Return {estimand: (value, low, high)} for very small samples.

    The value compares the means of y and p. The interval [low, high] contains all possible values.
    """
    largest = _largest_values(p.ndim == 2)
    target = y if p.ndim == 1 else one_hot(y, p.shape[1])
    mean_p, mean_y = (np.atleast_1d(x.mean(axis=0)) for x in (p, target))
    gap = mean_y - mean_p
    square = (gap**2).sum()
    values = {"l1": np.abs(gap).sum(), "l2_squared": square}
    if p.ndim == 2:
        values["l2"] = np.sqrt(square)
    entropy = rel_entr(mean_y, mean_p).sum()
    if p.ndim == 1:
        entropy += rel_entr(1.0 - mean_y, 1.0 - mean_p).sum()
    ends: dict[str, Ends] = {
        name: (float(value), 0.0, largest[name]) for name, value in values.items()
    }
    of_outcome = np.where(y == 1, p, 1.0 - p) if p.ndim == 1 else p[np.arange(len(p)), y]
    kl = float(entropy) if of_outcome.all() else np.inf
    return ends | {"kl": (kl, 0.0, np.inf)}


def _move_to_stack(
    value: float, below: float, above: float, limit: float, share: float
) -> tuple[float, float, float]:
    """Return (value, below, above) after moving an estimate towards the value of the stack.

    The interval is [value - below, value + above]. `limit` is the value of the stack. `share`, from
    0 to 1, is the share of the distance to `limit` by which the value moves. The new interval
    contains both the interval of the network and the same interval around the moved value.

    Neither value alone is right for large samples: the network was trained on at most 20,000 rows,
    and the stack overestimates the error of calibrated predictions.
    """
    moved = value + share * (limit - value)
    return moved, max(moved - value, 0.0) + below, max(value - moved, 0.0) + above
