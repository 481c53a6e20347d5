"""Ingredients of the learned estimate, and functions to compute them for scalars and vectors.

A member is a method of fitting a recalibration map q. It is fitted K + 1 times: to the samples
outside each of K folds, which gives its held-out predictions, and to all samples, which gives its
in-sample predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from harness.estimators.ingredient_kernels import displacement_sums
from harness.estimators.stacking import solve_weights, stack_products

FLOOR = 1e-7  # smallest probability in logarithms; float32 resolves no smaller steps near 1
NEWTON = 7  # largest number of Newton steps
# Predictions of all members, predictions p, and outcomes, for a block of samples.
Predictions: TypeAlias = tuple[list[np.ndarray], np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Ingredients:
    """Ingredients of the learned estimate `Best`, computed from one sample.

    Parameters
    ----------
    candidates : dict of str to ndarray
        Candidate estimates of each estimand. Their order is the same for all scalar samples, and
        for all vector samples.
    limits : dict of str to float
        The estimate of each estimand for large samples. It is the mean of two estimates by the
        stack of all members: the held-out gain, and the held-out distance of q from p.
    lowest : dict of str to float
        Held-out gain of the stack: a lower bound of each estimand, in expectation.
    kl : float
        Mean of the held-out and the in-sample gain of the stack in log-loss. It is infinite if an
        outcome occurred whose prediction is 0.
    units : dict of str to float
        The typical size of the noise of each estimand.
    features : ndarray
        Features of the sample for the network, without a unit.
    events : float
        Number of events or of non-events, whichever is smaller; for vectors, of errors. It is the
        expected or the observed number, whichever is larger.
    classes : int
        Number of classes.
    """

    candidates: dict[str, np.ndarray]
    limits: dict[str, float]
    lowest: dict[str, float]
    kl: float
    units: dict[str, float]
    features: np.ndarray
    events: float
    classes: int


def normal_equations(
    x: np.ndarray, residual: np.ndarray, held_out: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the normal equations of K + 1 linear regressions.

    One regression is fitted to the samples outside each of K folds, and the last to all samples.
    x (n, d) are features and `residual` (n,) or (n, columns) the targets r. `held_out` selects the
    samples of each fold; its last entry is None.

    Returns
    -------
    grams, sides : arrays (K + 1, d, d) and (K + 1, d, ...)
        x'x and x'r over the samples outside each fold, and at last over all samples.
    fold_grams, fold_sides : arrays (K, d, d) and (K, d, ...)
        x'x and x'r over the samples of each fold.
    """
    grams = np.array([x[h].T @ x[h] for h in held_out[:-1]])
    sums = np.array([x[h].T @ residual[h] for h in held_out[:-1]])
    return *sum_other_folds(grams, sums), grams, sums


def sum_other_folds(grams: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of `grams` and of `sums` over all folds except fold v, for every fold v.

    The first axis of both arguments is the fold. The results have one more entry on this axis: the
    last entry is the sum over all folds.
    """
    gram, side = (np.concatenate([a.sum(axis=0) - a, a.sum(axis=0)[None]]) for a in (grams, sums))
    return gram, side


def training_masks(fold: np.ndarray) -> np.ndarray:
    """Return masks (K + 1, n) of training samples: those outside each fold, and at last all."""
    return np.array([*(fold != v for v in range(int(fold.max()) + 1)), np.ones(len(fold), bool)])


@dataclass(frozen=True)
class Evaluation:
    """Statistics of the predictions of all members and of their stack.

    Parameters
    ----------
    candidates : dict of str to ndarray
        Candidate estimates of each estimand; those of the stack are last.
    kl : float
        As in `Ingredients`.
    v : float
        Mean squared residual of the held-out predictions of the stack.
    """

    candidates: dict[str, np.ndarray]
    kl: float
    v: float

    @property
    def limits(self) -> dict[str, float]:
        """Estimates for large samples, as in `Ingredients`."""
        return {name: float(x[-4:-2].mean()) for name, x in self.candidates.items()}

    @property
    def lowest(self) -> dict[str, float]:
        """Held-out gains of the stack, as in `Ingredients`."""
        return {name: float(x[-3]) for name, x in self.candidates.items()}


def evaluate_members(predictions: Callable[[], Iterable[Predictions]], n: int) -> Evaluation:
    """Compute candidate estimates from the predictions of all members and of their stack.

    Parameters
    ----------
    predictions : callable without arguments
        Returns the blocks of a sample. Each is a tuple: a list of the held-out and in-sample
        predictions (2, m) or (2, m, k) of each member, predictions p (m,) or (m, k), and outcomes
        as 0 and 1, shaped like p. It is called twice.
    n : int
        Number of samples of all blocks.

    """
    gram, target = np.zeros(1), np.zeros(1)
    for members, p, y in predictions():
        products = stack_products(p, y, np.array([m[0] for m in members]))
        gram, target = gram + products[0], target + products[1]
    weights = solve_weights(gram / n, target / n)
    sums, squares, gain = np.zeros(1), 0.0, 0.0
    for members, p, y in predictions():
        stack = sum(w * (m - p) for w, m in zip(weights, members)) + p
        sums = sums + _displacements([*members, stack], p, y)
        squares += ((y - stack[0]) ** 2).sum()
        gain += sum(_log_loss_gain(q + (p - q) / n, p, y) for q in stack) / 2.0
    means = sums / n
    candidates = {
        "l1": means[:, :2].ravel(),
        "l2_squared": np.column_stack([means[:, 2], 2.0 * means[:, 3] - means[:, 2]]).ravel(),
    }
    if means.shape[1] > 4:
        candidates["l2"] = means[:, 4:].ravel()
    return Evaluation(candidates, float(gain / n), float((squares + 0.5) / (n + 1.0)))


def _log_loss_gain(q: np.ndarray, p: np.ndarray, y: np.ndarray) -> float:
    """Return the sum over samples of log q_y - log p_y; infinite if some p_y is 0.

    The arguments are (m,) with outcomes y in {0, 1}, or (m, k) with one-hot outcomes y.
    """
    hit = y > 0.5
    if p.ndim == 1:
        after, before = np.where(hit, q, 1.0 - q), np.where(hit, p, 1.0 - p)
    else:
        after, before = q[hit], p[hit]
    if (before <= 0.0).any():
        return np.inf
    with np.errstate(over="ignore"):  # the gain is infinite, too, if p_y is near 0
        return float(np.log(np.maximum(after / before, np.finfo(float).tiny)).sum())


def _displacements(members: Sequence[np.ndarray], p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return sums over a block, one row for the held-out and one for the in-sample q of a member.

    For scalars the columns are the sums of |d|, sign(d) r, d^2 and d r, with d = q - p and
    residuals r = y - p. For vectors they are those of `displacement_sums`.
    """
    r = y - p
    if p.ndim == 2:
        return np.array(
            [displacement_sums(np.ascontiguousarray(q), p, r) for m in members for q in m]
        )
    moves = (q - p for m in members for q in m)
    return np.array(
        [(np.abs(d).sum(), (np.sign(d) * r).sum(), (d * d).sum(), (d * r).sum()) for d in moves]
    )


def combine_ingredients(
    candidates: dict[str, np.ndarray],
    members: Evaluation,
    n: int,
    law: Sequence[float],
    events: float,
    classes: int,
) -> Ingredients:
    """Return the `Ingredients` of a sample of size n.

    `candidates` are all candidate estimates, those of the `members` included. `law` are features of
    the distribution of the predictions. `events` and `classes` are those of `Ingredients`.
    """
    v = members.v
    units = {"l1": np.sqrt(v / n), "l2": np.sqrt(v / n)}
    typical = np.median(candidates["l2_squared"])
    units["l2_squared"] = v / n + 2.0 * np.sqrt(max(typical, 0.0) * v / n)
    scaled1 = candidates["l1"] / units["l1"]
    scaled2 = candidates["l2_squared"] / (v / n)
    middle1, middle2 = np.median(scaled1), np.median(scaled2)
    features = np.concatenate([
        [np.log(n) / 2.0 - 3.4],
        law,
        [np.arcsinh(middle1), np.arcsinh(middle2), np.sign(middle2) * np.sqrt(abs(middle2)) / 10.0],
        np.arcsinh(scaled1[1:] - middle1),
        np.arcsinh((scaled2[1:] - middle2) / (1.0 + 2.0 * np.sqrt(max(middle2, 0.0)))),
    ])  # fmt: skip
    return Ingredients(
        candidates, members.limits, members.lowest, members.kl, units,
        np.clip(features, -8.0, 8.0), events, classes,
    )  # fmt: skip
