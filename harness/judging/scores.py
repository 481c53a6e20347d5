"""Proper scores of rows, and means with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from harness.calibrators.scaling import smoothed
from harness.estimators.calibration_line import FEWEST_EVENTS
from harness.judging.bins import Array, Integers
from harness.judging.data import reduced
from harness.judging.interval import Interval
from harness.judging.judged import Judged


def row_scores(p: Array, y: Integers) -> tuple[Array, Array]:
    """Return the log-loss and the Brier score of every row of p (n, k) with labels y (n,).

    The log-loss is infinite if the label had probability 0. The Brier score is that of one column
    for two classes, and the sum over all columns for more.

    Examples
    --------
    >>> log_loss, brier = row_scores(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([1, 1]))
    >>> log_loss.round(3).tolist(), brier.tolist()
    ([0.693, inf], [0.25, 1.0])
    """
    given = p[np.arange(len(y)), y]
    log_loss, brier = score_table(p, given[:, None])
    return log_loss[:, 0], brier[:, 0]


def score_table(p: Array, given: Array | None = None) -> tuple[Array, Array]:
    """Return the log-loss and the Brier score of p (n, k) for every possible label, (n, k) each.

    `given` (n, m) are the probabilities of the labels that are scored, by default p.

    Examples
    --------
    >>> log_loss, brier = score_table(np.array([[0.5, 0.3, 0.2]]))
    >>> log_loss.round(3).tolist(), brier.round(2).tolist()
    ([[0.693, 1.204, 1.609]], [[0.38, 0.78, 0.98]])
    """
    given = p if given is None else given
    with np.errstate(divide="ignore"):
        log_loss = -np.log(np.minimum(given, 1.0))
    if p.shape[1] == 2:
        return log_loss, (1.0 - given) ** 2
    brier: Array = np.einsum("ij,ij->i", p, p)[:, None] - 2.0 * given + 1.0
    return log_loss, brier


def implied_deviation(d: Array, q: Array, units: float | None = None) -> float:
    """Return the standard deviation of d[i, y] over rows i, with labels y drawn from q.

    d (n, k) holds a number for every possible label. The probabilities q (n, k) are mixed with a
    uniform label of weight 1 / (4 n + 1): n rows do not exclude a quarter of such a label. Labels
    for which d is infinite are left out: a model gives them probability 0, and no row shows how
    often they occur. If the n rows tell as much as `units` independent ones, `units` replaces n in
    this weight, and the result is multiplied by the root of n / units.

    Examples
    --------
    >>> d, q = np.tile([0.0, 1.0], (10, 1)), np.tile([0.9, 0.1], (10, 1))
    >>> round(implied_deviation(d, q), 4)
    0.3126
    """
    is_finite, n = np.isfinite(d), len(d)
    units = float(n) if units is None else units
    d, q = np.where(is_finite, d, 0.0), np.where(is_finite, smoothed(q, 4.0 * units), 0.0)
    weight = q.sum()
    if not weight > 0.0:
        return 0.0
    mean = (q * d).sum() / weight
    return float(np.sqrt((q * (d - mean) ** 2).sum() / weight * n / units))


def scarce_outcomes(models: Sequence[Judged]) -> str | None:
    """Return the outcome of which the rows have fewer than 10, with its number: "errors (3)".

    For two classes the outcomes are the classes. For more, they are errors and right predictions,
    and the model with most of them counts. If rows come in groups, the groups with such a row are
    counted, because all rows of a group may have the same outcome. None if no outcome is scarce.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> scarce_outcomes([from_arrays(np.full(100, 0.1), np.repeat([1, 0], [3, 97]))])
    'rows of class 1 (3)'
    """
    first = models[0]
    groups = first.row_groups
    if first.k == 2 and not first.confidences:
        masks = {f"rows of class {c}": [first.y == j] for j, c in enumerate(first.classes)}
    else:
        right = [reduced(model, "top_label")[1] == 1 for model in models]
        masks = {"errors": [~mask for mask in right], "right predictions": right}
    counts = {
        name: max(count_units(mask, groups) for mask in of_name) for name, of_name in masks.items()
    }
    name = min(counts, key=lambda outcome: counts[outcome])
    if counts[name] >= FEWEST_EVENTS:
        return None
    return f"{name if first.group_count is None else f'groups with {name}'} ({counts[name]})"


def count_units(mask: NDArray[np.bool_], row_groups: Integers | None) -> int:
    """Return the number of rows in `mask`, or if rows come in groups, the groups of these rows."""
    return int(mask.sum()) if row_groups is None else len(np.unique(row_groups[mask]))


def effective_groups(row_groups: Integers) -> float:
    """Return how many independent rows tell as much as n rows with equal outcomes in each group.

    With n_g rows in group g, these are n^2 / sum of n_g^2.

    >>> effective_groups(np.repeat([0, 1, 2], 5))
    3.0
    """
    sizes = np.bincount(row_groups).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def independent_units(models: Sequence[Judged], row_groups: Integers | None) -> float | None:
    """Return `effective_groups` if rows come in groups and an outcome is scarce, else None.

    The groups of a scarce outcome do not show how far their rows depend on one another. Their
    outcomes are then taken as equal.
    """
    if row_groups is None or scarce_outcomes(models) is None:
        return None
    return effective_groups(row_groups)


def mean_interval(
    d: Array,
    level: float,
    each: float,
    inflation: float = 1.0,
    row_groups: Integers | None = None,
    least: float = 0.0,
) -> Interval:
    """Return the mean of d (n,) with its t interval, mean +- t s inflation / sqrt(n).

    s is the standard deviation of d, but at least `least`. `inflation` is a factor on the width.
    The interval is computed at level `each`. It is labelled with `level`, at which several such
    intervals hold together. For n = 1 it has no ends. If the mean is infinite, so are both ends; if
    it is infinity minus infinity, there is no value.

    If rows come in G `row_groups`, s^2 is G / ((G - 1) n) times the sum over the groups of (sum of
    d - mean over the rows of the group)^2, and t has G - 1 degrees of freedom. If every row is a
    group of its own, this is the same interval.

    Examples
    --------
    >>> d, groups = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1, 2, 2])
    >>> interval = mean_interval(d, 0.95, 0.95, row_groups=groups)
    >>> usual = mean_interval(d[::2], 0.95, 0.95)
    >>> interval.value, round(interval.high, 9) == round(usual.high, 9)
    (1.0, True)
    """
    with np.errstate(invalid="ignore"):
        n, mean = len(d), float(d.mean())
    if math.isnan(mean):
        return Interval(None, level=level)
    if math.isinf(mean):
        return Interval(mean, mean, mean, level)
    if n < 2:
        return Interval(mean, level=level)
    if row_groups is None:
        count, error = n, float(d.std(ddof=1)) / math.sqrt(n)
    else:
        sums = np.bincount(row_groups, d - mean)
        count = len(sums)
        error = math.sqrt(float((sums**2).sum()) * count / (count - 1)) / n
    error = max(error, least / math.sqrt(n))
    half = float(stdtrit(count - 1, 0.5 + each / 2.0)) * error * inflation
    return Interval(mean, mean - half, mean + half, level)


def infinite_loss(log_losses: Array, data: Judged) -> str:
    """Return a sentence on the rows (n,) with an infinite log-loss, which make its mean infinite.

    >>> from harness.judging.data import from_arrays
    >>> infinite_loss(np.array([0.1, math.inf]), from_arrays([0.1, 0.0], [0, 1]))
    'The log-loss is infinite: 1 row had probability 0 for the label that occurred.'
    """
    rows = data.count_rows(int(np.isinf(log_losses).sum()))
    return f"The log-loss is infinite: {rows} had probability 0 for the label that occurred."
