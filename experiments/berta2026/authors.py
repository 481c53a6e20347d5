"""What the authors' scripts do and the library does not (NOTES.md)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from harness import estimators
from harness.errors import UndefinedError
from harness.estimators import Estimate
from harness.estimators.variational import cross_fit
from harness.math import estimands, losses
from harness.math.notions import checked


class AuthorsSeed:
    """Estimators whose rng is the replication's number, the integer with which the authors' scripts seed everything."""

    def replication_rng(self, rep):
        return rep


class Binned(AuthorsSeed, estimators.Binned):
    """As `harness.estimators.Binned`; k-means begins at the authors' integer seed."""


class Variational(AuthorsSeed, estimators.Variational):
    """As `harness.estimators.Variational`, on the folds of scikit-learn's KFold(shuffle=True, random_state=seed), or
    StratifiedKFold, and with calibrators that begin at the same seed."""

    def partitions(self, p, y, rng):
        for seed in range(rng, rng + self.repeats):
            fold = folds_of_scikit_learn(y, self.folds, self.stratified, seed)
            yield fold, cross_fit(self.calibrator, p, y, fold, seed)


def folds_of_scikit_learn(y, folds, stratified, seed):
    """The fold in which scikit-learn's splitter holds every sample out; all 0 for one fold."""
    fold = np.zeros(len(y), dtype=np.int64)
    if folds == 1:
        return fold
    if len(y) < folds:
        raise UndefinedError(f"{len(y)} samples cannot be split into {folds} folds")
    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class with fewer samples than folds
        for j, (_, held_out) in enumerate(splitter.split(y, y)):
            fold[held_out] = j
    return fold


@dataclass(frozen=True)
class LogLoss(losses.LogLoss):
    """As `harness.math.losses.LogLoss`, the prediction f clipped to [floor, 1 - floor] as well."""

    def contribution(self, f, q, y, pivot=0.5):
        return super().contribution(np.clip(f, self.floor, 1.0 - self.floor), q, y, pivot)


def top_class_l1_split_at_half(f, c, side):
    """The "over" or "under" confident part of E |f_t - C_t|, t = argmax f, as the authors' library splits it: by the side of 1/2
    on which f_t lies, as if t were one of two classes. f, c: (n, k)."""
    rows, top = np.arange(len(f)), f.argmax(axis=1)
    return estimands.value(f"l1_{side}", f[rows, top], c[rows, top], "binary")


@dataclass(frozen=True)
class MonteCarloTruth(AuthorsSeed):
    """The Monte Carlo truth that the authors' script drew before the samples of this seed: mean d(f, C) over 100,000 draws, l1,
    and l2 for vectors. Exists only for a problem that draws as their script does (`authors_truth`)."""

    notions = ("binary", "canonical")
    estimands = ("l1", "l2")
    determinism = "exact"
    revision = 1
    null_bias = 1e-12
    wants = ("problem",)
    needs_posterior = True

    def __call__(self, p, y, rng, problem=None):
        p, y = checked(p, y)
        if not hasattr(problem, "authors_truth"):
            raise UndefinedError("the problem does not draw as the authors' script does; only there did they draw a truth")
        names = self.estimands[: 1 if p.ndim == 1 else 2]
        return {name: Estimate(problem.authors_truth(name, rng)) for name in names}
