"""Inference if rows come in groups, such as several rows of one patient or document.

Groups are independent of one another, and rows within a group may depend on one another in any way.
The methods are approximate: they hold for many groups, none of which dominates.

* Tests flip the signs of the residuals of whole groups (a wild bootstrap). Under calibration the
  residuals have mean 0, so that the flipped sums vary as the observed sums do.
* Intervals of calibration errors come from random halves of the groups.
* Intervals of means use the sums over groups (`harness.judging.scores.mean_interval`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from harness.errors import BadInputError
from harness.estimators.application import apply
from harness.estimators.base import Estimate, Wrapper
from harness.estimators.bootstrap import Bootstrap
from harness.estimators.calibration_line import FEWEST_EVENTS
from harness.estimators.resampled_interval import MIN_ROWS, End, Sample
from harness.judging.bins import Array, Bins, Integers
from harness.judging.judged import Judged
from harness.judging.scalar_test import scalar_test, smallest_rank, statistics
from harness.judging.scores import count_units, effective_groups
from harness.judging.vector_test import MOST_ROWS, VectorStatistics, vector_test
from harness.math import estimands

FLIPS = 999  # draws of signs for the test of one score
BATCH = 50_000_000  # largest number of signs that are drawn at once
NOTE = (
    "Rows in groups: the p-value is the larger one of the exact test for independent rows and of a "
    "test that flips the signs of the residuals of whole groups. If fewer than "
    f"{FEWEST_EVENTS} groups have an event, the latter uses one row of each group instead. "
)
WEIGHTS_NOTE = (
    "Rows with weights: the p-value is the larger one of a test that flips the signs of the "
    "residuals of rows, and of a test that draws the outcome of each row from its prediction. If "
    f"the events or non-events are worth fewer than {FEWEST_EVENTS} rows of equal weight, it is "
    "that of an exact test of some rows, drawn with probabilities in proportion to their weights. "
)
WEIGHTED_GROUPS_NOTE = (
    "Rows with weights in groups: the p-value is that of a test that flips the signs of the "
    "residuals of whole groups. If the events or non-events are worth fewer than "
    f"{FEWEST_EVENTS} groups of equal weight, it is that of an exact test of one row in each of "
    "some groups, drawn with probabilities in proportion to their weights. "
)


@dataclass(frozen=True)
class GroupBootstrap(Bootstrap):
    """`Bootstrap` with random halves of groups of rows, and without its test of calibration.

    With theta, d, z and the two estimates of the bias of `Bootstrap`, the interval is

        [theta - larger bias - z sd(d), theta - min(smaller bias, 0) + z sd(d)]

    If theta is a mean over rows, sd(d) is its standard error under sampling of whole groups. This
    holds for any dependence within the groups. The upper end is not lowered by the bias, because
    the estimated bias varies as much as theta if there are few groups.

    Parameters
    ----------
    groups : ndarray (n,) of int
        Group of each row, 0..G-1.
    """

    groups: Any = None

    def _ends(
        self, points: Mapping[str, float], sample: Sample, *streams: np.random.Generator
    ) -> dict[str, End]:
        count = int(self.groups.max()) + 1
        if count < MIN_ROWS:
            return {name: (None, {"resamples": 0.0}) for name in points}
        values = self._on_rows(sample, streams[0], self._halves(count, streams[0]))
        ends = {}
        for name, value in points.items():
            interval, diagnostics = self._interval(value, values.get(name, []), count)
            if interval is not None:
                low, high = interval
                interval = low, high + max(diagnostics["bootstrap_bias"], 0.0)
            ends[name] = interval, diagnostics
        return ends

    def _halves(self, count: int, rng: np.random.Generator) -> Iterator[Integers]:
        for _ in range(int(self.resamples)):
            is_drawn = np.zeros(count, dtype=bool)
            is_drawn[rng.permutation(count)[: count // 2]] = True
            yield np.flatnonzero(is_drawn[self.groups])


@dataclass(frozen=True)
class PointsOnly(Wrapper):
    """The point estimates of another estimator, without their bounds for independent rows.

    BadInputError for bounds, intervals and p-values, which need independent rows.
    """

    estimator: Any

    wants = ("notion", "problem")
    takes_classwise = True

    def __call__(
        self, p: Array, y: Integers, rng: Any, notion: str = "binary", problem: Any = None
    ) -> dict[str, Estimate]:
        estimates = apply(self.estimator, p, y, notion, rng, problem)
        for name, e in estimates.items():
            if e.kind != "point" or name in estimands.TESTS:
                raise BadInputError(
                    f"{name} of the estimator is a bound or a p-value, which needs independent "
                    "rows; leave out group_rows, or give an estimator of points such as 'ici'."
                )
        return {name: replace(e, low=None, high=None, level=None) for name, e in estimates.items()}


def flipped_p_value(
    bins: Bins,
    y: Integers,
    groups: Integers,
    rng: np.random.Generator,
    flips: int = FLIPS,
    weighted: bool = False,
) -> float:
    """Return the p-value of the tests of `scalar_test`, with flipped signs in place of resamples.

    If fewer than 10 groups have an event or a non-event, their residuals are too skewed for flips.
    The p-value is then that of the exact test of one row of each group (`first_rows`).

    If groups are the copies of rows with weights (`weighted`), `effective_groups` are counted, and
    the p-value is at least that of a test that draws one outcome per group from its prediction.
    Signs alone rejected up to 14 % of calibrated samples at level 0.05, with few events and
    log-normal weights of a large spread. Drawn outcomes alone would be wrong where heavy and light
    rows have errors that cancel.

    Examples
    --------
    >>> from harness.judging.bins import bin_scores
    >>> p, groups = np.full(300, 0.7), np.repeat(np.arange(60), 5)
    >>> rng = np.random.default_rng(0)
    >>> flipped_p_value(bin_scores(p), (groups % 2).astype(int), groups, rng) < 0.01
    True
    """
    if min(_count(y == outcome, groups, weighted) for outcome in (0, 1)) < FEWEST_EVENTS:
        rows = first_rows(groups, rng, weighted)
        return scalar_test(bins.p[rows], y[rows], rng, flips).p_value
    inside = bins.index >= 0
    count = int(groups.max()) + 1
    residuals = (y - bins.p)[inside]
    sums = csr_array((residuals, (bins.index[inside], groups[inside])), shape=(bins.m, count))
    parts = [bins.residual(y)[None]]
    size = max(1, BATCH // count)
    for start in range(0, flips, size):
        parts.append((sums @ _signs(count, min(size, flips - start), rng)).T)
    values = statistics(bins, np.vstack(parts))
    p_value = smallest_rank(values[0], values[1:])
    p = np.zeros(count)
    p[groups] = bins.p
    if not weighted or not np.array_equal(p[groups], bins.p):
        return p_value
    copies = csr_array(
        (np.ones(inside.sum()), (bins.index[inside], groups[inside])), shape=(bins.m, count)
    )
    parts, size = parts[:1], max(1, size // 2)
    for start in range(0, flips, size):
        u = rng.random((count, min(size, flips - start)))
        parts.append((copies @ ((u < p[:, None]) - p[:, None])).T)
    values = statistics(bins, np.vstack(parts))
    return max(p_value, smallest_rank(values[0], values[1:]))


def flipped_vector_p_value(
    p: Array,
    y: Integers,
    groups: Integers,
    rng: np.random.Generator,
    flips: int,
    weighted: bool = False,
) -> float:
    """Return the p-value of the test of `vector_test`, with flipped signs in place of resamples.

    If fewer than 10 groups have an error or a right prediction of the top class, it is that of the
    test of one row of each group. `weighted` is as in `flipped_p_value`.
    """
    right = p.argmax(axis=1) == y
    if min(_count(mask, groups, weighted) for mask in (right, ~right)) < FEWEST_EVENTS:
        rows = first_rows(groups, rng, weighted)
        return vector_test(p[rows], y[rows], rng).p_value
    if len(p) > MOST_ROWS:
        rows = np.sort(rng.choice(len(p), MOST_ROWS, replace=False))
        p, y, groups = p[rows], y[rows], groups[rows]
    test = VectorStatistics(p / p.sum(axis=1, keepdims=True))
    observed = test(y)
    signs = _signs(int(groups.max()) + 1, flips, rng)
    null = np.stack([test(y, column[groups]) for column in signs.T])
    p_value = smallest_rank(observed, null)
    _, first, index = np.unique(groups, return_index=True, return_inverse=True)
    if not weighted or not np.array_equal(p[first][index], p):
        return p_value
    ends = np.cumsum(p[first], axis=1)
    ends[:, -1] = np.inf
    draws = (np.argmax(rng.random((len(first), 1)) < ends, axis=1) for _ in range(flips))
    null = np.stack([test(labels[index]) for labels in draws])
    return max(p_value, smallest_rank(observed, null))


def _signs(rows: int, columns: int, rng: np.random.Generator) -> Array:
    signs: Array = rng.choice(np.array([-1.0, 1.0]), (rows, columns))
    return signs


def _count(mask: np.ndarray, groups: Integers, weighted: bool) -> float:
    if not weighted or not mask.any():
        return count_units(mask, groups)
    return effective_groups(np.unique(groups[mask], return_inverse=True)[1])


def first_rows(groups: Integers, rng: np.random.Generator, weighted: bool = False) -> Integers:
    """Return the position of one row of each group, drawn at random, in ascending order.

    If groups are the copies of rows with weights (`weighted`), a group is kept with a probability
    in proportion to its size. The rows are then an independent sample of the weighted population.

    Examples
    --------
    >>> groups = np.array([0, 0, 0, 1])
    >>> kept = [first_rows(groups, np.random.default_rng(i), weighted=True) for i in range(300)]
    >>> round(sum(3 in rows for rows in kept) / 300, 1), all(len(rows) > 0 for rows in kept)
    (0.3, True)
    """
    order = rng.permutation(len(groups))
    rows: Integers = np.sort(order[np.unique(groups[order], return_index=True)[1]])
    if weighted:
        sizes = np.bincount(groups)[groups[rows]]
        rows = rows[rng.random(len(rows)) * sizes.max() < sizes]
    return rows


def one_row_each(data: Judged, rng: np.random.Generator) -> Judged:
    """Return one row of each group, drawn at random (`first_rows`). Its rows are independent.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> data = from_arrays([0.1, 0.2, 0.3], [0, 1, 0], group_rows=["a", "b", "b"])
    >>> one_row_each(data, np.random.default_rng(0)).p[:, 1].tolist()
    [0.1, 0.3]
    """
    assert data.row_groups is not None
    rows = first_rows(data.row_groups, rng, data.weighted_rows is not None)
    groups = {name: values[rows] for name, values in data.groups.items()}
    return replace(data, p=data.p[rows], y=data.y[rows], groups=groups, row_groups=None)
