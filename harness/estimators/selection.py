"""Comparing and choosing estimators by the calibration-estimation risk on held-out samples (gruber2025, Algorithm 1).

An estimator that offers residual products has products(p, y, points, settings, rng), which for every setting {field: value} in
turn yields the `risk.Products` at each array of `points`, fitted on (p, y), and search_space(scalar), the settings that are
usually tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from harness.risk import residuals, risk


def settings_of(grid) -> list[dict]:
    """{field: values} -> all combinations, the last field fastest; an empty grid is the one setting as it is."""
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def fold_products(estimator, settings, p, y, fold, rng, points=()) -> Iterator[tuple]:
    """(j, i, products at the held-out samples of fold j, [products at each of `points`]) of setting i fitted on the other
    folds."""
    for j in range(int(fold.max()) + 1):
        held_out = fold == j
        at = [p[held_out], *points]
        for i, found in enumerate(estimator.products(p[~held_out], y[~held_out], at, settings, rng)):
            yield j, i, found[0], found[1:]


def validation_risks(estimator, settings, p, y, fold, rng):
    """Risk of every setting on every held-out fold, shape (settings, folds)."""
    u = residuals(p, y)
    risks = np.empty((len(settings), int(fold.max()) + 1))
    for j, i, held_out, _ in fold_products(estimator, settings, p, y, fold, rng):
        risks[i, j] = risk(u[fold == j], held_out)
    return risks
