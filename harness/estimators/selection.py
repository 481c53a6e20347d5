"""Comparison and choice of estimators by the calibration-estimation risk (gruber2025, Algorithm 1).

The functions of this module need an estimator that can compute residual products: the inner
products of estimated residuals at pairs of points. A setting is {field: value} for fields of the
estimator. Such an estimator has

    products(p, y, points, settings, rng)
        Yields, for every setting, a `risk.ResidualGram` for each array of `points`. The estimator
        with this setting is fitted to predictions p and labels y.
    search_space(scalar)
        Returns the values that are usually tried, as {field: values}.
    tunable
        The names of the fields that a setting may have.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math.risk import ResidualGram, residuals, risk


def grid_settings(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of {field: values}. The values of the last field vary fastest.

    An empty grid gives one setting, {}.
    """
    return [dict(zip(grid, values)) for values in itertools.product(*grid.values())]


def fold_products(
    estimator: Any,
    settings: Sequence[dict[str, Any]],
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator | None,
    points: Sequence[np.ndarray] = (),
) -> Iterator[tuple[int, int, ResidualGram, list[ResidualGram]]]:
    """Yield the residual products of every setting, fitted without each fold.

    Each item is (j, i, products of the samples of fold j, [products of each array of `points`]).
    The estimator with setting i is fitted to the other folds.

    An estimator may have a method `fold_products` that fits all folds together. It may yield the
    items in any order.
    """
    if hasattr(estimator, "fold_products"):
        yield from estimator.fold_products(settings, p, y, fold, points)
        return
    for j in range(int(fold.max()) + 1):
        held_out = fold == j
        evaluated = [p[held_out], *points]
        fits = estimator.products(p[~held_out], y[~held_out], evaluated, settings, rng)
        for i, products in enumerate(fits):
            yield j, i, products[0], products[1:]


def largest_diagnostics(diagnostics: Iterable[dict[str, float] | None]) -> dict[str, float]:
    """Return the largest value of every diagnostic over several fits.

    `diagnostics` holds None for a fit without diagnostics.
    """
    largest: dict[str, float] = {}
    for fit in diagnostics:
        for name, value in (fit or {}).items():
            largest[name] = max(value, largest.get(name, value))
    return largest


def check_grid(estimator: Any, grid: Any) -> None:
    """Raise BadInputError unless `grid` is None, or {field: values} of tunable fields."""
    if not (hasattr(estimator, "products") and hasattr(estimator, "search_space")):
        raise BadInputError(
            f"estimator is a {type(estimator).__name__}, which has no residual products; give "
            "DirichletKernel, KernelRidge, Binned or Variational."
        )
    if grid is None:
        return
    tunable = ", ".join(estimator.tunable)
    if not isinstance(grid, dict):
        raise BadInputError(
            f"grid is {grid!r}; give {{field: values}} with fields among {tunable}."
        )
    for name, values in grid.items():
        if name not in estimator.tunable:
            raise BadInputError(
                f"grid holds {name!r}, which cannot be tuned for {type(estimator).__name__}; give "
                f"fields among {tunable}."
            )
        if not isinstance(values, (list, tuple)) or not values:
            raise BadInputError(f"grid.{name} is {values!r}; give a list of at least one value.")
    for setting in grid_settings(grid):
        dataclasses.replace(estimator, **setting)  # raises BadInputError for an invalid value


def validation_risks(
    estimator: Any,
    settings: Sequence[dict[str, Any]],
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Return the risk of every setting on every held-out fold, (settings, folds).

    The estimator is fitted to the other folds. `fold` (n,) numbers the folds from 0.
    """
    u = residuals(p, y)
    risks = np.empty((len(settings), int(fold.max()) + 1))
    for j, i, held_out, _ in fold_products(estimator, settings, p, y, fold, rng):
        risks[i, j] = risk(u[fold == j], held_out)
    return risks
