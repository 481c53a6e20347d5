"""The numbers of a clinical report on binary predictions, under the names of TRIPOD+AI."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from harness.calibrators.scaling import smoothed
from harness.estimators.calibration_line import FEWEST_EVENTS
from harness.estimators.loess_errors import LoessErrors
from harness.judging.bins import Array, Integers
from harness.judging.clusters import GroupBootstrap, PointsOnly
from harness.judging.data import reduced
from harness.judging.findings import Clinical, ClinicalNumber, Direction, FlexibleCurve
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.scores import (
    count_units,
    implied_deviation,
    mean_interval,
    row_scores,
    score_table,
)
from harness.math.loess import Loess

LABELS = {  # {short name: name in TRIPOD+AI and in the R package CalibrationCurves}
    "intercept": "Calibration intercept (calibration in the large)",
    "slope": "Calibration slope",
    "ici": "ICI (integrated calibration index)",
    "e50": "E50 (median absolute difference)",
    "e90": "E90 (90th percentile)",
    "brier": "Brier score",
    "scaled_brier": "Scaled Brier score (1 is best, 0 is the prevalence)",
    "auroc": "AUROC (c-statistic)",
}
ESTIMANDS = {"ici": "l1", "e50": "e50", "e90": "e90"}
RESAMPLES = 400


def clinical(
    data: Judged, level: float, direction: Direction, rng: np.random.Generator, join_zero: bool
) -> Clinical:
    """Return intercept, slope, ICI, E50, E90, Brier score, its scaled form and AUROC.

    Parameters
    ----------
    data : Judged
        Binary predictions.
    level : float
        Level of each interval by itself.
    direction : Direction
        Slope and intercept, with their intervals.
    rng : numpy.random.Generator
        Stream of the resampled outcomes.
    join_zero : bool
        True extends the intervals of ICI, E50 and E90 to 0: the test finds no error.

    Notes
    -----
    ICI, E50 and E90 are distances v from the loess curve c (`harness.estimators.LoessErrors`). With
    the bias b and the standard deviation s of 400 values for outcomes that are drawn from c, their
    interval is [v - max(b, 0) - z s, v - min(b, 0) + z s]. It is meant for the loess curve of many
    rows, which cannot follow an error that changes its sign often. Its coverage of that quantity,
    at level 0.95 and n = 100 and 1,000, was 91 to 95 % on beta_overconfident, and 75 to 98 % on
    beta_shifted and beta_wavy, where the errors are below 0.035, before it is extended to 0. The
    band of the curve is c +- z s, with s the standard deviation of the linear smoother for outcomes
    with the probabilities c. Brier scores and AUROC have t intervals of the mean of their influence
    functions; for AUROC this is the interval of DeLong et al. (1988). Their standard deviations are
    at least those of labels that are drawn independently from the predictions, for the scaled Brier
    score without the spread of the prevalence. Their coverage was 93 to 100 %. With fewer
    than 10 events or non-events there is no interval. If rows come in groups, groups are counted,
    and the intervals of ICI, E50 and E90 are from random halves of the groups.

    References
    ----------
    Collins et al. (2024), TRIPOD+AI statement, BMJ 385, e078378. Van Calster et al. (2016), A
    calibration hierarchy for risk models was defined, J. Clinical Epidemiology 74, 167-176. DeLong,
    DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44, 837-845.
    """
    p, y = reduced(data, "binary")
    curve, rows = _curve_numbers(p, y, level, data.row_groups, rng)
    if join_zero:
        rows = {name: row.with_zero() for name, row in rows.items()}
    rows |= {"brier": _brier(data, level)}
    reasons = {}
    if 0 < y.sum() < len(y):
        rows |= {"scaled_brier": _scaled_brier(data, level), "auroc": _auroc(data, level)}
    else:
        reasons = dict.fromkeys(("scaled_brier", "auroc"), "All outcomes are equal.")
    for name, interval in (("slope", direction.slope), ("intercept", direction.intercept)):
        if interval is None:
            reasons[name] = direction.slope_reason or "It has no value."
        else:
            rows[name] = interval
    units = min(count_units(y == outcome, data.row_groups) for outcome in (0, 1))
    if units < FEWEST_EVENTS:
        what = "events or non-events" if data.group_count is None else "groups with either outcome"
        few = f"Fewer than {FEWEST_EVENTS} {what} ({units}) are too few for an interval."
        rows = {name: replace(row, low=None, high=None) for name, row in rows.items()}
        reasons = {**dict.fromkeys(rows, few), **reasons}
    return Clinical(
        tuple(
            ClinicalNumber(name, label, rows.get(name, Interval(None)), reasons.get(name))
            for name, label in LABELS.items()
        ),
        curve,
    )


def _curve_numbers(
    p: Array, y: Integers, level: float, row_groups: Integers | None, rng: np.random.Generator
) -> tuple[FlexibleCurve, dict[str, Interval]]:
    """Return the loess curve with its band, and ICI, E50 and E90 with their intervals."""
    estimator = LoessErrors()
    smoother = Loess.of(p, estimator.span)
    fit = smoother.fit(y)
    # A probability of 0 or 1 would have no spread; n outcomes do not show it.
    c = np.clip(fit, 0.5 / len(y), 1.0 - 0.5 / len(y))
    matrix = smoother.matrix()
    deviation = np.sqrt((matrix**2) @ (c * (1.0 - c) / smoother.sizes))
    z = float(ndtri(0.5 + level / 2.0))
    half = z * deviation
    ends = np.clip(fit - half, 0.0, 1.0), np.clip(fit + half, 0.0, 1.0)
    curve = FlexibleCurve(smoother.values, fit, *ends, level)
    values = {name: estimator(p, y)[e].value for name, e in ESTIMANDS.items()}
    if row_groups is not None:
        grouped = GroupBootstrap(PointsOnly(estimator), groups=row_groups, level=level)(p, y, rng)
        intervals = {name: grouped[estimand] for name, estimand in ESTIMANDS.items()}
        return replace(curve, low=None, high=None), {
            name: Interval(e.value, e.low, e.high, level) for name, e in intervals.items()
        }
    outcomes = rng.binomial(smoother.sizes[:, None], c[:, None], (len(c), RESAMPLES))
    fits = matrix @ (outcomes / smoother.sizes[:, None])
    start = _distances(smoother, c[:, None])[:, 0]
    drawn = _distances(smoother, fits)
    bias, spread = drawn.mean(axis=1) - start, z * drawn.std(axis=1)
    rows = {}
    for i, (name, value) in enumerate(values.items()):
        low = value - max(bias[i], 0.0) - spread[i]
        rows[name] = Interval(value, max(low, 0.0), value - min(bias[i], 0.0) + spread[i], level)
    return curve, rows


def _distances(smoother: Loess, fits: Array) -> Array:
    """Return ICI, E50 and E90, (3, r), of the curves fits (m, r) at the values of a smoother."""
    distance = np.abs(smoother.values[:, None] - fits)
    weights = smoother.sizes / smoother.sizes.sum()
    order = np.argsort(distance, axis=0)
    share = np.cumsum(weights[order], axis=0)
    ranked = np.take_along_axis(distance, order, axis=0)
    quantiles = [
        ranked[(share < level).sum(axis=0), np.arange(fits.shape[1])] for level in (0.5, 0.9)
    ]
    return np.array([weights @ distance, *quantiles])


def _brier(data: Judged, level: float) -> Interval:
    least = implied_deviation(score_table(data.p)[1], data.p)
    _, brier = row_scores(data.p, data.y)
    interval = mean_interval(brier, level, level, row_groups=data.row_groups, least=least)
    return _clipped(interval, 0.0, 1.0)


def _clipped(interval: Interval, least: float, most: float) -> Interval:
    """Return an interval within the values that its quantity can have."""
    if interval.low is None or interval.high is None:
        return interval
    return replace(interval, low=max(interval.low, least), high=min(interval.high, most))


def _scaled_brier(data: Judged, level: float) -> Interval:
    """Return 1 - B / (r (1 - r)), with the Brier score B and the share r of events."""
    _, brier = row_scores(data.p, data.y)
    rate, mean = float(data.y.mean()), float(brier.mean())
    variance = rate * (1.0 - rate)
    influence = -(brier - mean) / variance
    influence += mean / variance**2 * (1.0 - 2.0 * rate) * (data.y - rate)
    value = 1.0 - mean / variance
    least = implied_deviation(score_table(data.p)[1], data.p) / variance
    interval = mean_interval(
        value + influence, level, level, row_groups=data.row_groups, least=least
    )
    return _clipped(interval, -math.inf, 1.0)


def _auroc(data: Judged, level: float) -> Interval:
    """Return the area under the ROC curve with the interval of DeLong et al. (1988).

    Its standard deviation is at least the one for labels that are drawn independently from the
    predictions, mixed as in `implied_deviation`. Without it, the interval of events that all have
    larger scores than the other rows would have no width.
    """
    p, y = reduced(data, "binary")
    value, of_event, of_other = _auroc_influence(p, y.astype(np.float64))
    q = smoothed(data.p, 4.0 * len(p))[:, 1]
    _, drawn_event, drawn_other = _auroc_influence(p, q)
    least = float(np.sqrt(np.mean(q * drawn_event**2 + (1.0 - q) * drawn_other**2)))
    influence = np.where(y == 1, of_event, of_other)
    interval = mean_interval(
        value + influence, level, level, row_groups=data.row_groups, least=least
    )
    return _clipped(replace(interval, value=value), 0.0, 1.0)


def _auroc_influence(p: Array, event: Array) -> tuple[float, Array, Array]:
    """Return the AUROC, and the influence of an event and of no event in each row.

    `event` (n,) is the probability of an event in the rows with scores p (n,).

    >>> value, of_event, of_other = _auroc_influence(np.array([0.2, 0.4, 0.4]), np.array([0, 0, 1]))
    >>> value, of_event.round(3).tolist(), of_other.round(3).tolist()
    (0.75, [-1.5, 0.0, 0.0], [0.375, -0.375, -0.375])
    """
    place = np.unique(p, return_inverse=True)[1]
    events, others = np.bincount(place, event), np.bincount(place, 1.0 - event)
    above, below = ((np.cumsum(x) - x / 2.0) / x.sum() for x in (others, events))
    value, share = float(events @ above / events.sum()), float(event.mean())
    of_event, of_other = (above - value) / share, (1.0 - below - value) / (1.0 - share)
    return value, of_event[place], of_other[place]
