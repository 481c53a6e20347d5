"""How far off, and how sure?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.common.wording import format_number, format_percent, notion_name
from harness.judging.data import reduced
from harness.judging.estimates import certified, estimates
from harness.judging.findings import Calibrated, ErrorEstimate, HowFar, Judged
from harness.judging.scores import decompositions, direction
from harness.judging.words import with_zero

Array = NDArray[np.float64]

FEW_ROWS = 50
FEW_VALUES = 0.1  # distinct scores per row, below which there are ties
NEAR = 1e-3  # of 0 or 1
SATURATED = 0.2  # share of scores so near


def errors(
    data: Judged, level: float, rng: np.random.Generator, calibrated: Calibrated | None = None
) -> HowFar:
    """The answer to the second question: estimates of the L1 error of every notion with intervals and what the arena measured of
    them, certified intervals of scores, over- or underconfidence, the parts of the proper scores, and cautions.

    Parameters
    ----------
    data : Judged
    level : float
        Of all intervals.
    rng : numpy.random.Generator
        Decides folds and random parts.
    calibrated : Calibrated, optional
        The answer to the first question. Intervals of a notion whose test does not reject are extended to 0, so that no
        interval contradicts the test that stands above it.

    Notes
    -----
    L1 of a score is E|P(event given score) - score|, class-wise the mean over the classes, canonical the sum over the classes.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> found = errors(from_arrays(p, (p > 0.5).astype(int)), 0.95, np.random.default_rng(0))
    >>> [one.estimator for one in found.errors][:3], found.errors[0].interval.low > 0.1
    (['best', 'best_lower', 'binned15'], True)
    """
    not_rejected = (
        {test.notion for test in calibrated.tests if test.rejected is False}
        if calibrated
        else set()
    )
    streams = iter(rng.spawn(2 * len(data.notions) + 1))
    found: list[ErrorEstimate] = []
    bounds = []
    for notion in data.notions:
        p, y = reduced(data, notion)
        own, other = next(streams), next(streams)
        rows, squared = estimates(data, notion, p, y, level, own)
        bound = certified(notion, p, y, level, other) if p.ndim == 1 else None
        if notion in not_rejected:
            rows = [replace(row, interval=with_zero(row.interval)) for row in rows]
            bound = bound and replace(bound, interval=with_zero(bound.interval))
        found += rows
        bounds += [bound] if bound else []
    gap = direction(data, level, join_zero=data.notions[0] in not_rejected)
    scores, unsaid = decompositions(data, squared, level, next(streams))
    if data.notions[-1] in not_rejected:
        scores = tuple(replace(one, miscalibration=with_zero(one.miscalibration)) for one in scores)
    main, events = reduced(data, data.notions[0])
    return HowFar(
        sentence=_sentence(found, data),
        errors=tuple(found),
        certified=tuple(bounds),
        direction=gap,
        scores=scores,
        disagreement=_disagreement([one for one in found if one.notion == data.notions[0]], main),
        cautions=(*cautions(data, main), *unsaid),
    )


def cautions(data: Judged, scores: Array) -> tuple[str, ...]:
    """What the reader has to know of these predictions before trusting any number."""
    found = []
    n, k = data.n, data.k
    seen = np.bincount(data.y, minlength=k) > 0
    if n < FEW_ROWS:
        found.append(
            f"There are {n} rows: too few to estimate a calibration error; only gross errors can be seen."
        )
    if not data.confidences:
        if seen.sum() == 1:
            only = data.classes[int(np.argmax(seen))]
            found.append(
                f"All labels are {only}: how the predictions would do on other classes cannot be said."
            )
        elif not seen.all():
            names = [name for name, there in zip(data.classes, seen) if not there]
            listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            verb = "class never occurs" if len(names) == 1 else "classes never occur"
            found.append(
                f"{len(names)} {verb} among the labels ({listed}): of their errors little can be said."
            )
    elif seen.sum() == 1:
        found.append("All predictions are right." if seen[1] else "All predictions are wrong.")
    if k > n:
        found.append(
            f"There are more classes ({k}) than rows ({n}): statements on single classes or whole vectors mean little."
        )
    certain = (scores == 0.0) | (scores == 1.0)
    distinct = len(np.unique(scores))
    if certain.all():
        found.append(
            "All scores are 0 or 1: these are decisions, not probabilities, and their calibration error is their error rate."
        )
    elif distinct == 1:
        found.append(
            "All scores are equal: only their mean can be judged, and there is nothing to discriminate by."
        )
    elif n >= FEW_ROWS and distinct < FEW_VALUES * n:
        found.append(
            f"There are only {distinct:,} different scores in {n:,} rows: curves are known at these alone."
        )
    if not certain.all() and certain.mean() >= 0.01:
        found.append(
            f"{100 * certain.mean():.0f} % of the scores are exactly 0 or 1, perhaps by rounding to 32 bits; one surprise among "
            "them refutes calibration."
        )
    return tuple(found)


def _sentence(found: list[ErrorEstimate], data: Judged) -> str:
    """Of the headline of the main notion."""
    one = found[0]
    name = (
        "calibration error of the confidences"
        if data.confidences
        else f"{notion_name(one.notion)} calibration error"
    )
    interval = one.interval
    if interval.value is None:
        return f"The {name} (L1) cannot be estimated: {one.reason}"
    text = f"The {name} (L1) is about {_number(interval.value)}"
    if interval.low is None or interval.high is None:
        return f"{text}."
    limits = f"{format_percent(interval.level)} interval {_number(interval.low)} to {_number(interval.high)}"
    if data.n < FEW_ROWS:
        return f"{text} ({limits}), which at n = {data.n} says little."
    return f"{text} ({limits})."


def _number(value: float) -> str:
    """An error to two digits; below 0.00005 it is 0."""
    return format_number(value if value >= 5e-5 else 0.0, 2)


def _disagreement(found: list[ErrorEstimate], scores: Array) -> str | None:
    """Where the plain bins or a published estimate lie outside the headline's interval, or two intervals do not meet."""
    points = [one for one in found if one.kind == "point" and one.interval.value is not None]
    if len(points) < 2 or not points[0].headline:
        return None
    head, *others = points
    low, high = head.interval.low or 0.0, 1.0 if head.interval.high is None else head.interval.high
    off = [one for one in others if not low - 1e-12 <= (one.interval.value or 0.0) <= high + 1e-12]
    if not off:
        return None
    one = max(off, key=lambda e: abs((e.interval.value or 0.0) - (head.interval.value or 0.0)))
    value, best = one.interval.value or 0.0, head.interval.value or 0.0
    return (
        f"The estimates disagree: {one.label} give {_number(value)}, the {head.label.split(' (')[0]} {_number(best)} "
        f"({_number(low)} to {_number(high)}); likely because {_cause(scores, value, best)}."
    )


def _cause(scores: Array, value: float, best: float) -> str:
    n = len(scores)
    distinct = len(np.unique(scores))
    near = float(np.mean(np.minimum(scores, 1.0 - scores) < NEAR))
    if distinct < FEW_VALUES * n and distinct < 1000:
        return f"there are only {distinct} different scores in {n:,} rows, which smoothing and bins treat differently"
    bins = np.minimum((15 * scores).astype(int), 14)
    noise = float(
        np.sqrt(2.0 / np.pi) * np.sum(np.sqrt(np.bincount(bins, scores * (1.0 - scores)))) / n
    )
    if value > best and value - best <= 2.5 * noise:
        return f"n is small: of perfectly calibrated predictions 15 bins would show {_number(noise)} on average"
    if near >= SATURATED:
        return f"{100 * near:.0f} % of the scores lie within {NEAR:g} of 0 or 1, so that a few bins hold nearly all rows"
    if value < best:
        return "errors of opposite sign cancel within bins"
    return "the error varies quickly with the score, which the smoother estimate levels out"
