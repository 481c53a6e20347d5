"""Comparison and choice of estimators by the calibration-estimation risk (gruber2025, Algorithm 1).

An estimator that provides residual products has three members. products(p, y, points, settings,
rng) yields for every setting {field: value} in turn the `risk.ResidualGram` at each array of
`points`, fitted on (p, y). search_space(scalar) returns the usual settings. `tunable` lists the
fields that settings may hold.
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
    """Return all combinations of {field: values}, the last field fastest.

    An empty grid has one setting, which changes nothing.
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
    """Yield (j, i, products at the held-out samples of fold j, [products at each of `points`]).

    Setting i is fitted on the other folds. An estimator may define `fold_products` itself to fit
    all folds together, in any order.
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
    """Return the largest of every diagnostic over several fits (None: no diagnostics)."""
    largest: dict[str, float] = {}
    for fit in diagnostics:
        for name, value in (fit or {}).items():
            largest[name] = max(value, largest.get(name, value))
    return largest


def check_grid(estimator: Any, grid: Any) -> None:
    """Raise BadInputError unless `grid` is None, or {field: values} of tunable fields."""
    if not (hasattr(estimator, "products") and hasattr(estimator, "search_space")):
        raise BadInputError(
            f"estimator is a {type(estimator).__name__}, which offers no residual products; "
            "DirichletKernel, KernelRidge, Binned and Variational do."
        )
    if grid is None:
        return
    tunable = ", ".join(estimator.tunable)
    if not isinstance(grid, dict):
        raise BadInputError(f"grid is {grid!r}; {{field: values}} is needed, of {tunable}.")
    for name, values in grid.items():
        if name not in estimator.tunable:
            raise BadInputError(
                f"grid holds {name!r}; {type(estimator).__name__} is tuned in {tunable}."
            )
        if not isinstance(values, (list, tuple)) or not values:
            raise BadInputError(
                f"grid.{name} is {values!r}; a list of at least one value is needed."
            )
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
    """Return the risk of every setting on every held-out fold, shape (settings, folds)."""
    u = residuals(p, y)
    risks = np.empty((len(settings), int(fold.max()) + 1))
    for j, i, held_out, _ in fold_products(estimator, settings, p, y, fold, rng):
        risks[i, j] = risk(u[fold == j], held_out)
    return risks
