"""Our own estimators: a stack of calibrators as a lower bound, and a learned point estimate.

See BEST_NOTES.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from harness.calibrators import Isotonic, NadarayaWatson, StructuredMatrixScaling, Temperature
from harness.calibrators.base import Calibrator, CalibratorSpec
from harness.errors import BadInputError, UndefinedError
from harness.estimators import learned
from harness.estimators.base import Estimate, check_integer, check_level, generator
from harness.estimators.ingredients import compute_ingredients, fold_independent
from harness.estimators.stacking import cross_fit_pairs, stacked
from harness.estimators.variational import Variational
from harness.math.folds import assign_folds
from harness.math.notions import checked, one_hot

FOLDS = 5
MIN_SAMPLES = 20  # with fewer, cross-fitting is uninformative
# Up to the first size the network alone is used, from the second on the stack alone.
LEARNED_SAMPLES = 1e4, 1e6
MAX_MATRIX_CLASSES = 30  # with more, matrix scaling takes minutes
# A lower end below this multiple of the value is the rounding error of 0.
ROUNDING = 16.0 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class BestLower:
    """Lower bound in expectation from a stack of calibrators.

        value = mean over held-out samples i of  loss_f(f_i, y_i) - loss_f(q(f_i), y_i),
        q = (1 - sum w) f + sum_m w_m q_m

    Parameters
    ----------
    calibrators : tuple of calibrators
        Stacked with the identity. Those whose `max_n` or `max_classes` a sample exceeds are left
        out, and `StructuredMatrixScaling` above 30 classes; UndefinedError if none is left.
    folds : int
        At least 3. The maps that judge a fold are fitted on the others, and so are their weights w.
    level : float
        Confidence level of the bound `low`.

    Notes
    -----
    The expectation is at most the error of the loss, as in `Variational`: neither maps nor weights
    see the labels of the fold that they judge. The weights w >= 0, with sum at most 1, minimise the
    squared error of nested held-out predictions: those of fold u by maps fitted without u and v.
    The weights cost O(M / n) of squared error, and no calibrator's failure hurts. All losses come
    from one fit. Cost: K (K + 1) / 2 fits of every calibrator (15 for five folds, three times as
    many as Variational).

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
                f"folds is {self.folds}; an integer of at least 3 is needed, as folds are left "
                "out in pairs."
            )
        if not self.calibrators:
            raise BadInputError("calibrators is empty; give at least one.")
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
        each = sum(CalibratorSpec.of(calibrator).seconds for calibrator in self.calibrators)
        return self.folds * (self.folds + 1) / 2 * each

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
        calibrators = [calibrator for calibrator in self.calibrators if _takes(calibrator, p)]
        if not calibrators:
            raise UndefinedError(f"none of the calibrators takes predictions of shape {p.shape}")
        q, weights = stacked(p, y, fold, cross_fit_pairs(calibrators, p, y, fold, stream))
        estimates = self._variational().evaluate(p, y, [(fold, q)], notion)
        share = {"weight_identity": float(1.0 - weights.sum(axis=1).mean())}
        return {name: replace(e, diagnostics=share) for name, e in estimates.items()}

    def _variational(self) -> Variational:
        return Variational(folds=self.folds, level=self.level)


def _takes(calibrator: Calibrator, p: np.ndarray) -> bool:
    """Return True if the calibrator accepts predictions of this shape."""
    spec = CalibratorSpec.of(calibrator)
    classes = 2 if p.ndim == 1 else p.shape[1]
    if isinstance(calibrator, StructuredMatrixScaling) and classes > MAX_MATRIX_CLASSES:
        return False
    return (spec.max_n is None or len(p) <= spec.max_n) and (
        spec.max_classes is None or classes <= spec.max_classes
    )


@dataclass(frozen=True)
class Best:
    """Learned combination of cheap estimates: the Bayes estimate under a broad prior.

        value = sum_j w_j(x) T_j + s / sqrt(n) h(x)

    T_j are the held-out and in-sample estimates of six to nine recalibration maps and of their
    stack, binned and debiased ones, and 0. x describes the sample: differences of the T_j in units
    of the noise, size, spread of the predictions. w >= 0 with sum 1, and |h| <= 1, come from a
    small stored network.

    Parameters
    ----------
    repeats : int
        Number of random partitions in five folds over which the estimate is averaged.
    level : float
        Level of the interval [low, high].

    Notes
    -----
    It is no bound. It is nearly unbiased under the prior, too high if the miscalibration is too
    small to be detected, and too low if the map is rougher than the sample resolves. The interval
    is calibrated on simulations that the network has not seen (99 % of them; other levels by the
    normal law's quantiles) and holds over the prior, not for every distribution.

    With fewer than 20 samples the value is the error of the mean, with the interval of all possible
    values. Between 10^4 and 10^6 samples the network gives way to the stack, whose limit is the
    error itself if one of its maps can find it. The interval then spans both answers, and its
    measured coverage is in harness/judging/coverage.csv. Class-wise, values and ends are averaged
    over classes before the lower end is clipped at 0: of 100 calibrated classes some have an end
    above 0.

    Cost: O(repeats n k) and sorting. One repeat takes 10 ms at n = 1,000, and 0.25 s at n = 10,000,
    k = 10, where it needs 45 times the memory of p.

    References
    ----------
    harness/estimators/BEST_NOTES.md; benchmarks/train_best.py, which simulates and trains. No
    paper.

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
    estimands = ("l1", "l2", "l2_squared", "rms")
    determinism = "statistical"
    takes_classwise = True
    revision = 2
    null_bias = 0.03

    def __post_init__(self) -> None:
        check_integer("repeats", self.repeats)
        check_level(self.level)

    @property
    def seconds(self) -> float:
        return 0.012 * self.repeats

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        rng = generator(rng)
        if np.ndim(y) == 2:  # class-wise
            classes = [self._ends(p[:, j], y[:, j], rng) for j in range(p.shape[1])]
            ends = {name: np.mean([e[name] for e in classes], axis=0) for name in classes[0]}
        else:
            ends = self._ends(p, y, rng)
        largest = _largest_values(np.ndim(p) == 2 and np.ndim(y) == 1)
        estimates = {}
        for name, (value, low, high) in ends.items():
            value = float(min(value, largest[name]))
            low = float(np.clip(low, 0.0, value))  # only now, after averaging over classes
            high = float(max(min(high, largest[name]), value))
            estimates[name] = Estimate(value, low, high, self.level)
        return estimates

    def _ends(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> dict[str, tuple[float, float, float]]:
        """Return {estimand: (value, low, high)} of scalars or vectors; low may be negative."""
        p, y = checked(p, y)
        ends = _error_of_means(p, y) if len(p) < MIN_SAMPLES else self._learned(p, y, rng)
        for name, (value, low, high) in ends.items():
            ends[name] = value, 0.0 if abs(low) <= ROUNDING * value else low, high
        return ends | {"rms": tuple(np.sign(end) * abs(end) ** 0.5 for end in ends["l2_squared"])}

    def _learned(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> dict[str, tuple[float, float, float]]:
        """Return {estimand: (value, low, high)} by the network, averaged over partitions."""
        kind = "scalar" if p.ndim == 1 else "vector"
        first, last = np.log(LEARNED_SAMPLES)
        share = float(np.clip((np.log(len(p)) - first) / (last - first), 0.0, 1.0))
        parts = []
        shared = fold_independent(p, y)
        for _ in range(int(self.repeats)):
            ingredients = compute_ingredients(p, y, assign_folds(y, FOLDS, False, rng), rng, shared)
            answers = learned.evaluate(kind, ingredients)
            limits = ingredients.limits
            parts.append({name: _moved(*x, limits[name], share) for name, x in answers.items()})
        wider = ndtri((1.0 - self.level) / 2.0) / ndtri(0.025)
        combined = {}
        for name in parts[0]:
            value, below, above = map(float, np.mean([part[name] for part in parts], axis=0))
            combined[name] = value, float(value - wider * below), float(value + wider * above)
        return combined


def _largest_values(vectors: bool) -> dict[str, float]:
    """Return the largest possible value of each estimand."""
    if vectors:
        return {"l1": 2.0, "l2_squared": 2.0, "rms": 2.0**0.5, "l2": 2.0**0.5}
    return {"l1": 1.0, "l2_squared": 1.0, "rms": 1.0}


def _error_of_means(p: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float, float]]:
    """Return {estimand: (value, low, high)} of the mean residual, with all possible values."""
    largest = _largest_values(p.ndim == 2)
    gap = np.atleast_1d(((y if p.ndim == 1 else one_hot(y, p.shape[1])) - p).mean(axis=0))
    square = (gap**2).sum()
    values = {"l1": np.abs(gap).sum(), "l2_squared": square}
    if p.ndim == 2:
        values["l2"] = np.sqrt(square)
    return {name: (float(value), 0.0, largest[name]) for name, value in values.items()}


def _moved(
    value: float, below: float, above: float, limit: float, share: float
) -> tuple[float, float, float]:
    """Return (value, below, above) after the network has given way to the stack by `share`.

    The interval is the hull of the network's interval and of the same interval around the moved
    value. The network was trained on at most 7,000 rows, and the stack's limit is too high for
    calibrated predictions: neither is right alone.
    """
    moved = value + share * (limit - value)
    return moved, max(moved - value, 0.0) + below, max(value - moved, 0.0) + above
