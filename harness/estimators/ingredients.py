"""Cheap statistics of a sample from one cross-fit of simple recalibration maps, for `Best`.

A member is a method of fitting a recalibration map q to predictions p and outcomes y. A fit to the
samples outside each fold gives the held-out predictions of the member, and a fit to all samples
gives its in-sample predictions. Each of the two gives four statistics:

    gain1 = mean <sign(q - p), y - p>      plug1 = mean |q - p|_1
    gain2 = mean |p - y|^2 - |q - y|^2     plug2 = mean |q - p|^2

For vectors there are also a gain and a distance in the 2-norm. A held-out gain is a lower bound of
the error, in expectation. An in-sample gain is too large by about as much as the held-out gain is
too small, so that their mean is nearly free of the noise of the fit.

All linear members share one Gram matrix per fold.
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
    """Return the ingredients of a sample for one partition into folds.

    p is (n,) with labels y in {0, 1}, or (n, k) with labels y from 0 to k - 1. `fold` (n,) numbers
    the folds from 0. `shared` is the result of `fold_independent(p, y)`, which can be computed once
    for several partitions; None computes it.
    """
    shared = fold_independent(p, y) if shared is None else shared
    if isinstance(shared, Scalars):
        return ingredients_of_scalars(p, y, fold, shared)
    return ingredients_of_vectors(p, y, fold, rng, shared)


def fold_independent(p: np.ndarray, y: np.ndarray) -> Scalars | Vectors:
    """Return the statistics of a sample that do not depend on the folds."""
    return Scalars(p, y) if p.ndim == 1 else Vectors(p, y)
