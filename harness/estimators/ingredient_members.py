"""Ingredients of the learned estimate, and functions to compute them for scalars and vectors.

A member is a method of fitting a recalibration map q. It is fitted K + 1 times: to the samples
outside each of K folds, which gives its held-out predictions, and to all samples, which gives its
in-sample predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.estimators.ingredient_kernels import displacement_sums
from harness.estimators.stacking import convex_weights

FLOOR = 1e-7  # smallest probability in logarithms; float32 resolves no smaller steps near 1
NEWTON = 7  # largest number of Newton steps


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
    units : dict of str to float
        The typical size of the noise of each estimand.
    features : ndarray
        Features of the sample for the network, without a unit.
    """

    candidates: dict[str, np.ndarray]
    limits: dict[str, float]
    units: dict[str, float]
    features: np.ndarray


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


def assemble_predictions(fitted: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return held-out and in-sample predictions (2, n, ...) of a member.

    `fitted` (K + 1, n, ...) are the predictions of its fits without each fold and on all samples.
    """
    out = np.array([fitted[-1], fitted[-1]])
    for h, q in zip(held_out[:-1], fitted):
        out[0, h] = q[h]
    return out


def evaluate_members(
    members: Sequence[np.ndarray], p: np.ndarray, y: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, float], float]:
    """Return candidate estimates from the predictions of all members and of their stack.

    Parameters
    ----------
    members : sequence of arrays (2, n) or (2, n, k)
        Held-out and in-sample predictions of each member.
    p, y : arrays (n,) or (n, k)
        Predictions, and outcomes as 0 and 1.

    Returns
    -------
    candidates : dict of str to ndarray
        Candidate estimates of each estimand; those of the stack are last.
    limits : dict of str to float
        As in `Ingredients`.
    v : float
        Mean squared residual of the held-out predictions of the stack.
    """
    members = list(members)
    weights = convex_weights(p, y, np.array([m[0] for m in members]))
    stack = sum(w * (m - p) for w, m in zip(weights, members)) + p
    members.append(stack)
    r = y - p
    values: dict[str, list[float]] = {"l1": [], "l2_squared": [], "l2": []}
    for m in members:
        for q in m:
            if p.ndim == 1:
                d = q - p
                plug1, gain1 = np.abs(d).mean(), (np.sign(d) * r).mean()
                plug2, cross = (d * d).mean(), (d * r).mean()
            else:
                sums = displacement_sums(np.ascontiguousarray(q), p, r)
                plug1, gain1, plug2, cross, norm, gain = sums / len(p)
                values["l2"] += [norm, gain]
            values["l1"] += [plug1, gain1]
            values["l2_squared"] += [plug2, 2.0 * cross - plug2]
    squares = (y - members[-1][0]) ** 2
    v = (squares.sum() + 0.5) / (len(p) + 1.0)
    candidates = {name: np.array(x) for name, x in values.items() if x}
    return candidates, {name: float(x[-4:-2].mean()) for name, x in candidates.items()}, float(v)


def combine_ingredients(
    candidates: dict[str, np.ndarray],
    limits: dict[str, float],
    v: float,
    n: int,
    law: Sequence[float],
) -> Ingredients:
    """Return the `Ingredients` of a sample of size n.

    `candidates`, `limits` and `v` are as returned by `evaluate_members`. `law` are features of the
    distribution of the predictions.
    """
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
    return Ingredients(candidates, limits, units, np.clip(features, -8.0, 8.0))
