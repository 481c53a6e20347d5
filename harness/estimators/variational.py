"""The variational estimator: loss x calibrator x folds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness import losses as loss_functions
from harness.calibrators import Isotonic
from harness.errors import BadInput, Undefined
from harness.estimands import pivot
from harness.estimators.base import Estimate
from harness.notions import checked, one_hot


@dataclass(frozen=True)
class Variational:
    """mean over held-out samples of loss_f(f, y) - loss_f(q, y), q fitted on the other folds (berta2026, eq. 6, Algorithm 1).

    Its expectation is at most the calibration error of the loss, with equality when q = E[Y given f]; estimates may be
    negative. One fit per fold serves all losses. `folds = 1` fits and evaluates on the same samples: the "overfitted" variant,
    biased upwards. `stratified` spreads every class evenly over the folds; `pooled` averages all held-out samples, otherwise
    the fold means are averaged (as the authors' experiments do; they differ by O(1/n)). `losses` empty means all standard ones
    of the notion. Cost: `folds` fits and predictions of the calibrator.
    """

    calibrator: Any = field(default_factory=Isotonic)
    folds: int = 5
    stratified: bool = True
    pooled: bool = True
    losses: tuple = ()
    legacy_seed: bool = False

    notions = ("binary", "top_label", "classwise", "canonical")
    revision = 1
    wants = ("notion",)

    def __post_init__(self):
        if int(self.folds) != self.folds or self.folds < 1:
            raise BadInput(f"folds is {self.folds}; an integer of at least 1 is needed (1 = fit and evaluate on the same data).")
        object.__setattr__(self, "losses", tuple(self.losses))

    @property
    def estimands(self):
        used = self.losses or loss_functions.SCALAR_LOSSES + loss_functions.CANONICAL_LOSSES
        return tuple(dict.fromkeys(loss.name for loss in used))

    @property
    def determinism(self):
        return "exact" if self.folds == 1 and self.calibrator.determinism == "exact" else "statistical"

    @property
    def null_bias(self):
        return 0.35 if self.folds == 1 else getattr(self.calibrator, "null_bias", 0.05)

    @property
    def max_n(self):
        return getattr(self.calibrator, "max_n", None)

    @property
    def max_classes(self):
        return getattr(self.calibrator, "max_classes", None)

    def __call__(self, p, y, rng=None, notion="binary"):
        p, y = checked(p, y)
        fold = fold_of(y, self.folds, self.stratified, rng)
        q = cross_fit(self.calibrator, p, y, fold, rng)
        return self.evaluate(p, q, y, fold, notion)

    def evaluate(self, p, q, y, fold, notion="binary"):
        """{estimand: Estimate} from held-out recalibrated predictions q (n,) or (n, k)."""
        outcome = y.astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
        standard = loss_functions.SCALAR_LOSSES if p.ndim == 1 else loss_functions.CANONICAL_LOSSES
        at = pivot(notion)
        return {loss.name: Estimate(self._mean(loss.contribution(p, q, outcome, at), fold)) for loss in self.losses or standard}

    def _mean(self, contributions, fold):
        if self.pooled:
            return float(contributions.mean())
        return float((np.bincount(fold, contributions) / np.bincount(fold)).mean())


def fold_of(y, folds: int, stratified: bool, rng):
    """Fold index of every sample, sizes differing by at most one. rng a Generator, or an integer: then, unless stratified,
    exactly the folds of scikit-learn's KFold(folds, shuffle=True, random_state=rng). Raises Undefined with fewer samples than
    folds."""
    n = len(y)
    if n < folds:
        raise Undefined(f"{n} samples cannot be split into {folds} folds")
    fold = np.zeros(n, dtype=np.int64)
    if folds == 1:
        return fold
    if rng is None:
        raise BadInput("rng is missing; give a numpy Generator, which decides the folds.")
    if isinstance(rng, (int, np.integer)):
        order = np.arange(n)
        np.random.RandomState(int(rng)).shuffle(order)
    else:
        order = rng.permutation(n)
    if stratified:
        order = order[np.argsort(y[order], kind="stable")]
        fold[order] = np.arange(n) % folds
    else:
        fold[order] = np.repeat(np.arange(folds), [len(part) for part in np.array_split(order, folds)])
    return fold


def cross_fit(calibrator, p, y, fold, rng):
    """Held-out predictions: row i is predicted by the calibrator fitted on the other folds (on all, if there is one fold)."""
    folds = int(fold.max()) + 1
    if folds == 1:
        return calibrator.fit(p, y, rng)(p)
    q = np.empty_like(p)
    for j in range(folds):
        held_out = fold == j
        q[held_out] = calibrator.fit(p[~held_out], y[~held_out], rng)(p[held_out])
    return q
