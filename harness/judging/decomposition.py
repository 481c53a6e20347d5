"""Parts of proper scores: miscalibration, discrimination and uncertainty."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from harness.common.wording import format_number
from harness.judging.bins import Array
from harness.judging.findings import Decomposition, ErrorEstimate, Gains
from harness.judging.gain import largest_in
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.scores import infinite_loss, row_scores

ROUNDING = 1e-12  # a discrimination nearer to 0 counts as 0
NAMES = {"brier": "Brier score", "log": "log score"}


def decompositions(
    data: Judged, squared: ErrorEstimate, gains: Gains, level: float
) -> tuple[Decomposition, ...]:
    """Split the Brier score and the log score into their parts.

        score = miscalibration - discrimination + uncertainty

    With p_j the probability of class j, y the label, s the score and e the event:

    * The Brier score is the mean of (s - e)^2 for two classes, and of sum_j (p_j - [y = j])^2 for
      more. Its miscalibration E |p - C|^2, with C = E[Y given p], is `squared`, the headline
      estimate of the last notion, but at least the largest gain in `gains`.
    * The log score is the mean of -log p_y in nats. Its miscalibration E KL(C, p) is the largest
      gain in `gains`, or 0 if all gains are negative.

    No recalibration can gain more than the miscalibration. Therefore a miscalibration below a gain
    that the same page shows would be wrong. The uncertainty is the score of the class frequencies,
    and the discrimination is the remainder.

    A score is not split if it is infinite, if its miscalibration has no estimate, or if the parts
    contradict each other: a discrimination below 0, or a miscalibration above the score. The
    parts are then None, and `reason` tells why.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> data = from_arrays(np.repeat([0.2, 0.8], 50), np.repeat([0, 1], 50))
    >>> error = ErrorEstimate("binary", "l2_squared", "best", "", Interval(0.03), "point")
    >>> brier, log = decompositions(data, error, Gains("No map was fitted.", (), None), 0.95)
    >>> round(brier.mean_score, 3), round(brier.discrimination, 3), brier.uncertainty
    (0.04, 0.24, 0.25)
    >>> log.reason
    'The log score (0.223) is not decomposed. No map was fitted.'
    """
    frequency = np.bincount(data.y, minlength=data.k) / data.n
    log_losses, briers = row_scores(data.p, data.y)
    return _split_brier(data, briers, squared, gains, frequency), _split_log(
        data, log_losses, gains, frequency, level
    )


def _split_brier(
    data: Judged, briers: Array, squared: ErrorEstimate, gains: Gains, frequency: Array
) -> Decomposition:
    """Split the Brier score of rows (n,). `frequency` (k,) is that of the classes."""
    uncertainty = float(1.0 - np.sum(frequency**2)) / (2.0 if data.k == 2 else 1.0)
    error, reason = squared.interval, squared.reason
    source = "learned estimate" if data.row_groups is None else squared.label
    how = f"{source} of the mean squared calibration error. {squared.coverage_note}".strip()
    largest = largest_in("brier", gains.gains)
    gain = -math.inf if largest is None else largest.brier.value or 0.0
    if largest is not None and error.value is not None and error.value < gain:
        error = replace(error, value=gain).reaching(gain)
        how = f"cross-fitted gain of {largest.label}, which is above the {source}"
    part = Decomposition("brier", float(briers.mean()), error, None, uncertainty, how)
    return _completed(part, reason)


def _split_log(
    data: Judged, log_losses: Array, gains: Gains, frequency: Array, level: float
) -> Decomposition:
    """Split the log score of rows with the given log-losses (n,)."""
    log = float(log_losses.mean())
    positive = frequency[frequency > 0.0]
    uncertainty = float(-np.sum(positive * np.log(positive)))
    part = Decomposition("log", log, Interval(None, level=level), None, uncertainty, "")
    if math.isinf(log):
        return replace(part, reason=f"{infinite_loss(log_losses, data)} It is not decomposed.")
    largest = largest_in("log_loss", gains.gains)
    if largest is None:
        return _completed(part, gains.sentence)
    gain = largest.log_loss
    low = None if gain.low is None else max(gain.low, 0.0)
    error = Interval(max(gain.value or 0.0, 0.0), low, None, level)
    how = f"cross-fitted gain of {largest.label}, 0 if negative"
    return _completed(replace(part, miscalibration=error, how=how), None)


def _completed(part: Decomposition, reason: str | None) -> Decomposition:
    """Return `part` with its discrimination, or without its parts and with the reason.

    `reason` tells why the miscalibration has no value.
    """
    score, error, uncertainty = part.mean_score, part.miscalibration.value, part.uncertainty
    if error is not None and uncertainty is not None:
        rest = error + uncertainty - score
        rest = 0.0 if abs(rest) < ROUNDING else rest
        if rest >= 0.0 and error <= score + ROUNDING:
            return replace(part, discrimination=rest)
        reason = f"With a miscalibration of {format_number(error)}, "
        if rest < 0.0:
            reason += f"its discrimination would be {format_number(rest)}, but none is negative."
        else:
            reason += "the rest of the score would be negative, but no score is."
    text = f"The {NAMES[part.score]} ({format_number(score)}) is not decomposed. {reason}"
    return replace(
        part,
        miscalibration=replace(part.miscalibration, value=None, low=None, high=None),
        how="",
        reason=text,
    )
