"""The bootstrap of the arena: it draws problems, and replications within each problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.evaluation.arena.rules import SETTING, floors

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
CHUNK = 32  # settings that are resampled at once; limits memory to arrays of shape (32, B, E)


@dataclass(frozen=True)
class Block:
    """Squared errors of estimators as arrays for the bootstrap, for one notion and estimand.

    S is the number of settings, E of estimators and R of replications. A setting is one problem at
    one n.

    Attributes
    ----------
    names : list of str
        Ids of the estimators.
    squared : array (S, E, R)
        Squared errors, NaN where the cell was not run.
    least : array (S,)
        Floors of the RMSE.
    best : array (S,)
        Position of the best published estimator of each setting.
    lead : array (S,)
        Position of the published estimator with the most replications. The RMSEs of estimators
        with fewer replications are scaled by it, as `harness.evaluation.arena` explains.
    problem, group : array (S,)
        Index of the problem, and of the group (family, n, k) in `groups`.
    groups : list of tuple
        The groups (family, n, k), where k is the number of classes.
    """

    names: list[str]
    squared: Floats
    least: Floats
    best: Ints
    lead: Ints
    problem: Ints
    group: Ints
    groups: list[tuple[Any, ...]]

    @property
    def problems(self) -> int:
        """Number of problems."""
        return int(self.problem.max(initial=-1)) + 1


def build_block(part: pd.DataFrame, names: Sequence[str] | None = None) -> Block:
    """Arrange the rows of `arena.settings` that have a regret as arrays.

    `names` are the estimators in the order of the arrays, by default all in alphabetical order.
    """
    names = sorted(part["estimator"].unique()) if names is None else list(names)
    position = {name: i for i, name in enumerate(names)}
    setting = part.groupby(SETTING, sort=True).ngroup().to_numpy()
    errors = np.stack(part["errors"].to_list())
    first = part.iloc[np.unique(setting, return_index=True)[1]]
    squared = np.full((len(first), len(names), errors.shape[1]), np.nan)
    squared[setting, part["estimator"].map(position).to_numpy()] = errors**2
    best, lead = (first[name].map(position).fillna(-1).to_numpy(int) for name in ("best", "lead"))
    problem = first.groupby(["family", "problem"], sort=True).ngroup().to_numpy()
    by_group = first.groupby(["family", "n", "k"], sort=True)
    groups = list(by_group.groups)
    return Block(
        names, squared, floors(first), best, lead, problem, by_group.ngroup().to_numpy(), groups
    )


def group_means(block: Block, resamples: int, seed: int, draw_problems: bool = True) -> Floats:
    """Return the bootstrapped mean log regret of each estimator in each group (family, n, k).

    The array has shape (groups, resamples + 1, estimators). Index 0 of the second axis is the
    original sample. A setting has the weight with which its problem was drawn. With
    `draw_problems=False` only replications are drawn.
    """
    count, reps = block.problems, block.squared.shape[2]
    rng = np.random.default_rng(seed)
    times, weights = np.ones((resamples + 1, count)), np.ones((count, resamples + 1, reps))
    weights[:, 1:] = rng.multinomial(reps, [1.0 / reps] * reps, size=(count, resamples))
    if draw_problems:
        times[1:] = rng.multinomial(count, [1.0 / count] * count, size=resamples)
    shape = (len(block.groups), resamples + 1, len(block.names))
    total, number = np.zeros(shape), np.zeros(shape)
    for start in range(0, len(block.squared), CHUNK):
        chosen = np.arange(start, min(start + CHUNK, len(block.squared)))
        logs = _log_rmse(block, chosen, weights)
        logs -= logs[np.arange(len(chosen)), :, block.best[chosen]][:, :, None]
        known = ~np.isnan(logs)
        often = times[:, block.problem[chosen]].T[:, :, None] * known
        np.add.at(total, block.group[chosen], np.where(known, logs, 0.0) * often)
        np.add.at(number, block.group[chosen], often)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(number > 0, total / number, np.nan)


def _log_rmse(block: Block, chosen: Ints, weights: Floats) -> Floats:
    """Return the log RMSE of each estimator in some settings, for each resample.

    `chosen` are the positions of the settings, `weights` (problems, B, replications) how often
    each replication was drawn. The result has shape (settings, B, estimators). The RMSE of an
    estimator with fewer replications is scaled by `block.lead`, so that all RMSEs are comparable.
    """
    squared, lead = block.squared[chosen], block.lead[chosen]
    least = block.least[chosen][:, None, None]
    have, w = ~np.isnan(squared), weights[block.problem[chosen]]
    filled = np.where(have, squared, 0.0)
    every = np.arange(len(squared))
    with np.errstate(invalid="ignore", divide="ignore"):
        total = w @ have.transpose(0, 2, 1).astype(float)
        mse = (w @ filled.transpose(0, 2, 1)) / total
        logs: Floats = np.log(np.maximum(np.sqrt(mse), least))
        # Scale the RMSEs in settings where some estimators lack replications of the lead.
        short = np.flatnonzero((have != have[every, lead][:, None]).any(axis=(1, 2)))
        if len(short):
            known = have[every, lead][short]
            errors = filled[every, lead][short]
            on_all = (w[short] @ errors[:, :, None]) / (w[short] @ known[:, :, None].astype(float))
            both = (have[short] & known[:, None]).astype(float).transpose(0, 2, 1)
            on_same = (w[short] @ (both * errors[:, :, None])) / (w[short] @ both)
            on_all, on_same = (
                np.log(np.maximum(np.sqrt(mean), least[short])) for mean in (on_all, on_same)
            )
            logs[short] = np.maximum(logs[short] + on_all - on_same, np.log(least[short]))
    return logs


def nanmean(values: Any, axis: int = 0) -> Floats:
    """Return the mean of the values that are not NaN. If all are NaN, return NaN silently."""
    count = (~np.isnan(values)).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, np.nansum(values, axis=axis) / count, np.nan)


def quantiles(values: Floats, level: float) -> Floats:
    """Return the ends of the bootstrap interval, shape (2, estimators).

    `values` has shape (resamples + 1, estimators). Row 0 is the original sample and is not used,
    except that estimators with NaN there get NaN.
    """
    ends = np.full((2, values.shape[1]), np.nan)
    known = ~np.isnan(values[0])
    if known.any() and len(values) > 1:
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        drawn = values[1:, known]
        # nanquantile takes each column by itself, which is slow.
        quantile = np.nanquantile if np.isnan(drawn).any() else np.quantile
        ends[:, known] = quantile(drawn, tails, axis=0)
    return ends
