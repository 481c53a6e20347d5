"""Our own estimators: a stack of calibrators as a lower bound, and a learned point estimate (see BEST_NOTES.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibrators import Isotonic, NadarayaWatson, StructuredMatrixScaling, Temperature
from harness.calibrators.base import CalibratorSpec
from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.estimators.stacking import cross_fit_pairs, stacked
from harness.estimators.variational import Variational
from harness.math.folds import fold_of
from harness.math.notions import checked

MOST_MATRIX_CLASSES = 30  # above, matrix scaling takes minutes


@dataclass(frozen=True)
class BestLower:
    """A lower bound in expectation from a stack of calibrators.

        value = mean over held-out samples i of  loss_f(f_i, y_i) - loss_f(q(f_i), y_i),   q = (1 - sum w) f + sum_m w_m q_m

    Parameters
    ----------
    calibrators : tuple of calibrators
        What is stacked with the identity. Those whose `max_n` or `max_classes` a sample exceeds are left out.
    folds : int
        At least 3. The maps that a fold is judged by are fitted on the others, and so are their weights w.
    level : float
        Confidence level of the bound `low`.

    Notes
    -----
    The expectation is at most the error of the loss, as in `Variational`: neither maps nor weights see the labels of the fold that
    they are judged on. w >= 0 with sum at most 1 are of least squared error on predictions held out inside: of fold u, by maps
    fitted without u and v. The weights cost O(M / n) of squared error, and no calibrator's failure hurts. All losses come from one
    fit. Cost: K (K + 1) / 2 fits of every calibrator (15 for five folds, three times Variational's).

    References
    ----------
    berta2026, eq. 6 and Proposition 1; Wolpert (1992), Stacked generalization; van der Laan, Polley and Hubbard (2007), Super
    learner.

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> found = BestLower()(p, y, np.random.default_rng(1))["l1"]
    >>> round(found.value, 2), found.low > 0.0
    (0.15, True)
    """

    calibrators: tuple = (Isotonic(), Temperature(), StructuredMatrixScaling(), NadarayaWatson(0.1))
    folds: int = 5
    level: float = 0.95

    notions = ("binary", "top_label", "classwise", "canonical")
    determinism = "statistical"
    revision = 1
    null_bias = 0.05
    wants = ("notion",)

    def __post_init__(self):
        if int(self.folds) != self.folds or self.folds < 3:
            raise BadInputError(f"folds is {self.folds}; an integer of at least 3 is needed, as folds are left out in pairs.")
        if not self.calibrators:
            raise BadInputError("calibrators is empty; give at least one.")
        object.__setattr__(self, "calibrators", tuple(self.calibrators))
        self._variational()

    @property
    def estimands(self):
        return self._variational().estimands

    @property
    def seconds(self):
        return self.folds * (self.folds + 1) / 2 * sum(CalibratorSpec.of(one).seconds for one in self.calibrators)

    def __call__(self, p, y, rng=None, notion="binary"):
        p, y = checked(p, y)
        stream = rng if rng is None else np.random.default_rng(rng)
        fold = fold_of(y, self.folds, False, stream)
        calibrators = [one for one in self.calibrators if _takes(one, p)]
        q, weights = stacked(p, y, fold, cross_fit_pairs(calibrators, p, y, fold, stream))
        found = self._variational().evaluate(p, y, [(fold, q)], notion)
        share = {"weight_identity": float(1.0 - weights.sum(axis=1).mean())}
        return {name: Estimate(e.value, e.low, e.high, e.level, e.kind, share) for name, e in found.items()}

    def _variational(self):
        return Variational(folds=self.folds, level=self.level)


def _takes(calibrator, p):
    spec = CalibratorSpec.of(calibrator)
    classes = 2 if p.ndim == 1 else p.shape[1]
    if isinstance(calibrator, StructuredMatrixScaling) and classes > MOST_MATRIX_CLASSES:
        return False
    return (spec.max_n is None or len(p) <= spec.max_n) and (spec.max_classes is None or classes <= spec.max_classes)
