"""Comparing and choosing estimators by the calibration-estimation risk on held-out samples (gruber2025, Algorithm 1).

An estimator that offers residual products has products(p, y, points, settings, rng), which for every setting {field: value} in
turn yields the `risk.ResidualGram` at each array of `points`, fitted on (p, y), search_space(scalar), the settings that
are usually tried, and `tunable`, the fields that settings may hold."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math.risk import ResidualGram, residuals, risk


def settings_of(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """{field: values} -> all combinations, the last field fastest; an empty grid is the one setting as it is."""
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
    """(j, i, products at the held-out samples of fold j, [products at each of `points`]) of setting i fitted on the other
    folds. An estimator may have a way of its own to all folds together, `fold_products`, in whatever order."""
    if hasattr(estimator, "fold_products"):
        yield from estimator.fold_products(settings, p, y, fold, points)
        return
    for j in range(int(fold.max()) + 1):
        held_out = fold == j
        at = [p[held_out], *points]
        for i, found in enumerate(
            estimator.products(p[~held_out], y[~held_out], at, settings, rng)
        ):
            yield j, i, found[0], found[1:]


def largest_diagnostics(diagnostics: Iterable[dict[str, float] | None]) -> dict[str, float]:
    """The largest of every number over several fits' diagnostics (None: none)."""
    found: dict[str, float] = {}
    for name, value in (item for one in diagnostics for item in (one or {}).items()):
        found[name] = max(value, found.get(name, value))
    return found


def check_grid(estimator: Any, grid: Any) -> None:
    """Raise BadInputError unless grid is {field: values} of fields that the estimator can be tuned in, or None."""
    if not (hasattr(estimator, "products") and hasattr(estimator, "search_space")):
        raise BadInputError(
            f"estimator is a {type(estimator).__name__}, which offers no residual products; DirichletKernel, KernelRidge, Binned "
            "and Variational do."
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
    for one in settings_of(grid):
        dataclasses.replace(
            estimator, **one
        )  # which raises BadInputError on a value that cannot be


def validation_risks(
    estimator: Any,
    settings: Sequence[dict[str, Any]],
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator | None,
) -> np.ndarray:
    """Risk of every setting on every held-out fold, shape (settings, folds)."""
    u = residuals(p, y)
    risks = np.empty((len(settings), int(fold.max()) + 1))
    for j, i, held_out, _ in fold_products(estimator, settings, p, y, fold, rng):
        risks[i, j] = risk(u[fold == j], held_out)
    return risks
