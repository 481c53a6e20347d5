"""Over- or underconfidence, and what proper scores are made of."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, t

from harness.common.wording import format_percent
from harness.errors import BadInputError, UndefinedError
from harness.judging.data import reduced
from harness.judging.ece import estimate
from harness.judging.findings import Decomposition, Direction, ErrorEstimate, Interval, Judged
from harness.judging.words import with_zero
from harness.plan.components import load

Array = NDArray[np.float64]

FEW = 10  # of events or of the others; with fewer the law of the mean is not normal


def direction(data: Judged, level: float, join_zero: bool = False) -> Direction:
    """Mean score minus share of events, of the confidence or of class 1.

        gap = mean_i (s_i - e_i),   interval gap -+ t sd(s - e) / sqrt(n)

    With fewer than 10 events or non-events the interval is the mean score minus the exact (Clopper-Pearson) limits of the share.
    With `join_zero` it is extended to 0.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> data = from_arrays(np.full(100, 0.8), np.arange(100) % 2)
    >>> found = direction(data, 0.95)
    >>> round(found.gap.value, 3), found.gap.low > 0.0
    (0.3, True)
    """
    notion = data.notions[0]
    s, e = reduced(data, notion)
    mean, rate = float(s.mean()), float(e.mean())
    gap = _gap(s, e, level)
    gap = with_zero(gap) if join_zero else gap
    low, high = gap.low or 0.0, gap.high or 0.0
    text = f"{abs(mean - rate):.3f}, {format_percent(level)} interval {low:.3f} to {high:.3f}"
    if notion == "binary":
        said = f"the mean probability of class {data.classes[1]}, {mean:.3f}, is {{}} its frequency, {rate:.3f}"
        words = ("too high on average", "too low on average")
        whether = "the probabilities are too high or too low on average"
    else:
        said = f"the mean confidence, {mean:.3f}, is {{}} the accuracy, {rate:.3f}"
        words = ("overconfident", "underconfident")
        whether = "the predictions are over- or underconfident"
    if low > 0.0:
        sentence = f"The predictions are {words[0]}: {said.format('above')} (by {text})."
    elif high < 0.0:
        text = f"{abs(mean - rate):.3f}, {format_percent(level)} interval {-high:.3f} to {-low:.3f}"
        sentence = f"The predictions are {words[1]}: {said.format('below')} (by {text})."
    else:
        sentence = f"Whether {whether} cannot be told: {said.format('near')} "
        sentence += f"(difference {mean - rate:.3f}, {format_percent(level)} interval {low:.3f} to {high:.3f})."
    return Direction(mean, rate, gap, sentence)


def _gap(s: Array, e: NDArray[np.int64], level: float) -> Interval:
    n, events = len(s), int(e.sum())
    value = float(np.mean(s - e))
    tail = (1.0 - level) / 2.0
    if min(events, n - events) >= FEW:
        reach = float(t.isf(tail, n - 1) * np.std(s - e, ddof=1) / math.sqrt(n))
        return Interval(value, max(value - reach, -1.0), min(value + reach, 1.0), level)
    low = 0.0 if events == 0 else float(beta.ppf(tail, events, n - events + 1))
    high = 1.0 if events == n else float(beta.isf(tail, events + 1, n - events))
    return Interval(value, float(s.mean()) - high, float(s.mean()) - low, level)


def decompositions(
    data: Judged, squared: ErrorEstimate, level: float, rng: np.random.Generator
) -> tuple[tuple[Decomposition, ...], list[str]]:
    """Split the Brier and the log score: score = miscalibration - discrimination + uncertainty; and say which cannot be split.

    Brier score: the mean of (s - e)^2 of scores of one event, of sum_j (p_j - [y = j])^2 with three and more classes. Its
    miscalibration E |p - C|^2 is `squared`, the headline estimate of the last notion of the data. Log score: the mean of
    -log p_y in nats. Its miscalibration E KL(C, p) is at least the cross-fitted gain of temperature scaling on average.
    Uncertainty is the score of the class frequencies, and discrimination the rest.
    """
    whole = data.k > 2
    notion = "canonical" if whole else data.notions[0]
    p, y = reduced(data, notion)
    p2 = p if whole else np.column_stack([1.0 - p, p])
    frequency = np.bincount(y, minlength=p2.shape[1]) / len(y)
    given = p2[np.arange(len(y)), y]
    found, said = [], []
    squares = np.sum(p2**2, axis=1) - 2.0 * given + 1.0
    brier = float(squares.mean()) / (1.0 if whole else 2.0)
    spread = float(1.0 - np.sum(frequency**2)) / (1.0 if whole else 2.0)
    value = squared.interval
    if value.value is None:
        said.append(f"The Brier score ({brier:.4f}) is not decomposed: {squared.reason}")
    else:
        how = f"learned estimate of the mean squared error of calibration. {squared.coverage_note}".strip()
        found.append(
            Decomposition("brier", brier, value, value.value + spread - brier, spread, how)
        )
    impossible = int(np.sum(given <= 0.0))
    if impossible:
        rows = "1 row" if impossible == 1 else f"{impossible:,} rows"
        said.append(
            f"The log score is infinite, as {rows} had probability 0 for what happened; it is not decomposed."
        )
        return tuple(found), said
    log = float(-np.log(given).mean())
    positive = frequency[frequency > 0.0]
    entropy = float(-np.sum(positive * np.log(positive)))
    try:
        e = estimate(
            load("estimator", "variational_temperature", {"level": level}), p, y, notion, rng
        )["kl"]
        value = Interval(max(float(e.value), 0.0), _clean(e.low), None, level)
        how = "cross-fitted gain of temperature scaling, at most the miscalibration on average"
        found.append(
            Decomposition("log", log, value, (value.value or 0.0) + entropy - log, entropy, how)
        )
    except (UndefinedError, BadInputError, ValueError, ArithmeticError) as error:
        said.append(f"The log score ({log:.4f}) is not decomposed: {error}")
    return tuple(found), said


def _clean(value: float | None) -> float | None:
    return None if value is None else 0.0 if abs(value) < 1e-12 else float(value)
