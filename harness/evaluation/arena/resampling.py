"""The bootstrap of the arena: problems, and replications within problems, the same for all estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.evaluation.arena.rules import SETTING, floors


@dataclass(frozen=True)
class Block:
    """The settings of one notion and estimand as arrays: S settings, E estimators, R reps.

    squared (S, E, R) squared errors, NaN where not run; at_least (S,) floors; best (S,) position of the best published estimator,
    lead (S,) of the one by which fewer reps are scaled; problem (S,) and cell (S,) codes; cells the (family, n, k).
    """

    names: list
    squared: Any
    at_least: Any
    best: Any
    lead: Any
    problem: Any
    problems: int
    cell: Any
    cells: list


def block_of(part, names=None):
    """The arrays of the rows `part` with a regret."""
    names = sorted(part["estimator"].unique()) if names is None else list(names)
    setting = part.groupby(SETTING, sort=True).ngroup().to_numpy()
    column = part["estimator"].map({name: i for i, name in enumerate(names)}).to_numpy()
    errors = np.stack(part["errors"].to_numpy()) if len(part) else np.zeros((0, 1))
    count = int(setting.max(initial=-1)) + 1
    squared = np.full((count, len(names), errors.shape[1]), np.nan)
    squared[setting, column] = errors**2
    first = part.iloc[np.unique(setting, return_index=True)[1]]
    at_least = floors(first)
    code = {name: i for i, name in enumerate(names)}
    best, lead = (first[name].map(code).fillna(-1).to_numpy(int) for name in ("best", "lead"))
    keys = list(zip(first["family"], first["n"], first["k"]))
    cells = sorted(set(keys))
    of_cell = {key: i for i, key in enumerate(cells)}
    problem = first.groupby(["family", "problem"], sort=True).ngroup().to_numpy()
    cell = np.array([of_cell[key] for key in keys], dtype=int)
    return Block(
        names, squared, at_least, best, lead, problem, int(problem.max(initial=-1)) + 1, cell, cells
    )


def resampled(count, reps, resamples, rng, problems=True):
    """(times each problem is drawn (B + 1, P), weights of its reps (P, B + 1, R)); the first is the sample itself."""
    times, weights = np.ones((resamples + 1, count)), np.ones((count, resamples + 1, reps))
    weights[:, 1:] = rng.multinomial(reps, [1.0 / reps] * reps, size=(count, resamples))
    if problems:
        times[1:] = rng.multinomial(count, [1.0 / count] * count, size=resamples)
    return times, weights


def _log_rmse(block, chosen, weights):
    """log of the comparable RMSEs of the settings `chosen` under weights: (S', B, E), NaN where there is none."""
    squared, at_least = block.squared[chosen], block.at_least[chosen]
    have, w = ~np.isnan(squared), weights[block.problem[chosen]]
    filled, of_lead = (
        np.where(have, squared, 0.0),
        squared[np.arange(len(squared)), block.lead[chosen]],
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        total = w @ have.transpose(0, 2, 1).astype(float)
        mse = (w @ filled.transpose(0, 2, 1)) / total
        least = at_least[:, None, None]
        logs = np.log(np.maximum(np.sqrt(mse), least))
        short = np.flatnonzero(
            (have != have[np.arange(len(have)), block.lead[chosen]][:, None]).any(axis=(1, 2))
        )
        if len(short):  # some estimators have some of the reps only
            known = ~np.isnan(of_lead[short])
            lead = np.where(known, of_lead[short], 0.0)
            on_all = (w[short] @ lead[:, :, None]) / (w[short] @ known[:, :, None].astype(float))
            both = (have[short] & known[:, None]).astype(float).transpose(0, 2, 1)
            on_same = (w[short] @ (both * lead[:, :, None])) / (w[short] @ both)
            on_all, on_same = (
                np.log(np.maximum(np.sqrt(m), least[short])) for m in (on_all, on_same)
            )
            logs[short] = np.maximum(logs[short] + on_all - on_same, np.log(least[short]))
    return logs


def cell_means(block, times, weights, chunk=32):
    """Mean log regret by cell, (C, B + 1, E), over its settings as often as their problems are drawn."""
    shape = (len(block.cells), times.shape[0], len(block.names))
    total, count = np.zeros(shape), np.zeros(shape)
    for start in range(0, len(block.squared), chunk):
        chosen = np.arange(start, min(start + chunk, len(block.squared)))
        logs = _log_rmse(block, chosen, weights)
        logs -= logs[np.arange(len(chosen)), :, block.best[chosen]][:, :, None]
        fine = ~np.isnan(logs)
        often = times[:, block.problem[chosen]].T[:, :, None] * fine
        np.add.at(total, block.cell[chosen], np.where(fine, logs, 0.0) * often)
        np.add.at(count, block.cell[chosen], often)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, total / count, np.nan)


def nanmean(values, axis=0):
    """The mean of what is not NaN; NaN where nothing is."""
    count = (~np.isnan(values)).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, np.nansum(values, axis=axis) / count, np.nan)


def quantiles(values, level):
    """Interval over the resamples, all but the first along axis 0."""
    found = np.full((2, values.shape[1]), np.nan)
    fine = ~np.isnan(values[0])
    if fine.any() and len(values) > 1:
        found[:, fine] = np.nanquantile(
            values[1:, fine], [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0
        )
    return found
