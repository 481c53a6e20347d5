"""Cheap statistics of a sample from one cross-fit of simple recalibration maps, for `Best`.

A member is a method of fitting a map q. Every member is fitted without each fold, and on all
samples. Its held-out and in-sample predictions give

    gain1 = mean <sign(q - p), y - p>      plug1 = mean |q - p|_1
    gain2 = mean |p - y|^2 - |q - y|^2     plug2 = mean |q - p|^2      (vectors: also the 2-norm)

A held-out gain is a lower bound in expectation. An in-sample gain is too high by about as much, so
that their mean is nearly free of the member's own noise. All linear members share one Gram matrix
per fold.
"""

from __future__ import annotations

import numpy as np

from harness.estimators.ingredient_members import Ingredients
from harness.estimators.scalar_ingredients import Scalars, ingredients_of_scalars
from harness.estimators.vector_ingredients import Vectors, ingredients_of_vectors


def compute_ingredients(
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator,
    shared: Scalars | Vectors | None = None,
) -> Ingredients:
    """Return the ingredients of a sample: p (n,) with y in {0, 1}, or p (n, k) with y in 0..k-1.

    `fold` runs from 0 to K - 1. `shared` is the result of `fold_independent(p, y)`, computed once
    for several partitions of one sample.
    """
    shared = fold_independent(p, y) if shared is None else shared
    if isinstance(shared, Scalars):
        return ingredients_of_scalars(p, y, fold, shared)
    return ingredients_of_vectors(p, y, fold, rng, shared)


def fold_independent(p: np.ndarray, y: np.ndarray) -> Scalars | Vectors:
    """Return the parts that do not depend on the folds: orders, bases of functions, statistics."""
    return Scalars(p, y) if p.ndim == 1 else Vectors(p, y)
