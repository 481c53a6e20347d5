"""Parts that the ingredients of scalars and of vectors share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.estimators.ingredient_kernels import moved
from harness.estimators.stacking import convex_weights

FLOOR = 1e-7  # floor of probabilities in logarithms: float32 resolves no finer near 1
NEWTON = 7  # at most so many Newton steps


@dataclass(frozen=True)
class Ingredients:
    """Ingredients of the learned estimate.

    Parameters
    ----------
    candidates : dict of str to ndarray
        Candidate values of each estimand, in the same order for all samples of one kind.
    limits : dict of str to float
        Estimate of each estimand for large samples: the stack's, between its held-out lower bound
        and its own claim.
    units : dict of str to float
        Unit of noise of each estimand.
    features : ndarray
        Features without unit.
    """

    candidates: dict[str, np.ndarray]
    limits: dict[str, float]
    units: dict[str, float]
    features: np.ndarray


def normal_equations(
    x: np.ndarray, residual: np.ndarray, held_out: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return grams x'x and sides x'r without each fold and of all, and those of each fold."""
    grams = np.array([x[h].T @ x[h] for h in held_out[:-1]])
    sums = np.array([x[h].T @ residual[h] for h in held_out[:-1]])
    return *without_each(grams, sums), grams, sums


def without_each(grams: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over all folds but one, followed by those over all."""
    gram, side = (np.concatenate([a.sum(axis=0) - a, a.sum(axis=0)[None]]) for a in (grams, sums))
    return gram, side


def training_masks(fold: np.ndarray) -> np.ndarray:
    """Return masks (K + 1, n): the training samples of the map of each fold, and all samples."""
    return np.array([*(fold != v for v in range(int(fold.max()) + 1)), np.ones(len(fold), bool)])


def assembled(fitted: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return held-out and in-sample predictions (2, n, ...) of a member from those of each fit."""
    out = np.array([fitted[-1], fitted[-1]])
    for h, q in zip(held_out[:-1], fitted):
        out[0, h] = q[h]
    return out


def evaluate_members(
    members: Sequence[np.ndarray], p: np.ndarray, y: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, float], float]:
    """Return candidates and limits by estimand, and the mean squared residual of the stack."""
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
                sums = moved(np.ascontiguousarray(q), p, r)
                plug1, gain1, plug2, cross, norm, gain = sums / len(p)
                values["l2"] += [norm, gain]
            values["l1"] += [plug1, gain1]
            values["l2_squared"] += [plug2, 2.0 * cross - plug2]
    squares = (y - members[-1][0]) ** 2
    v = (squares.sum() + 0.5) / (len(p) + 1.0)
    candidates = {name: np.array(x) for name, x in values.items() if x}
    return candidates, {name: float(x[-4:-2].mean()) for name, x in candidates.items()}, float(v)


def combine(
    candidates: dict[str, np.ndarray],
    limits: dict[str, float],
    v: float,
    n: int,
    law: Sequence[float],
) -> Ingredients:
    """Combine candidates, units and features into `Ingredients`."""
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
