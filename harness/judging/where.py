"""Answer question 3, where the predictions are off: by class, by score and by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.common.wording import format_count, format_percent, format_whole_percent
from harness.judging.bins import Array, Integers
from harness.judging.data import reduced
from harness.judging.findings import ClassFinding, GroupFinding, Region, Where
from harness.judging.gaps import (
    Gap,
    count_p_value,
    describe,
    format_share,
    holm,
    measure_gap,
    worst_first,
)
from harness.judging.groups import judge_groups
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.words import in_words, join_names
from harness.math.rates import clopper_pearson
from harness.math.reliability import Curve, Panel, compute_band, corp

DRAWN_CLASSES = 12
DRAWN_SCORES = 5_000  # a curve with more distinct scores is thinned
KEPT_ENDS = 150  # number of scores at either end that are kept, because a band is widest there
GRID = 800  # thinning keeps one score per interval of the scores, and per interval of the ranks
BAND = 0.9  # level of the consistency bands
RARE = 5.0  # the error of a class with fewer expected and fewer observed rows is not estimated
EDGES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
FEWEST_IN_REGION = 30


def where(data: Judged, level: float) -> Where:
    """Find the classes, regions of scores and groups of rows in which predictions are off.

    Parameters
    ----------
    data : Judged
        The predictions.
    level : float
        Level of each interval by itself. The interval of a class or group that does not stand out
        is extended to 0. P-values are corrected (Holm) over all classes, over all regions, and
        over all groups of all columns, and then for these three searches (Bonferroni). The sentence
        names a class or group only if it stands out after this correction. It names the region with
        the largest share of the error only if one of the regions stands out, and the p-value of
        the named one without correction is at most 1 - level.

    Returns
    -------
    Where
        panels
            Reliability diagrams, first of the top label (or the binary scores), then of the 12
            worst classes.
        classes
            Each class against the rest, for k > 2.
        regions
            Scores cut at fixed places; neighbours are joined until each has 30 rows (or n / 20).
        groups
            Rows with each value of the group columns.

    Notes
    -----
    P-values and intervals are those of `harness.judging.gaps` and need no random draws. For a
    region let S be the sum of its residuals and s^2 the variance of S. The share of a region is
    its part of the sum over regions of (S^2 - s^2)_+^(1/2). Curves with more than 5,000 scores are
    computed from all rows, and then thinned. Cost O(k n log n).

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> print(where(from_arrays(np.full(400, 0.8), np.repeat([1, 0], 200)), 0.95).sentence)
    By score: by estimate, all of the error is at 0.8 (mean score 0.80, frequency 0.50, 400 rows).
    """
    x, hit = reduced(data, data.notions[0])
    alpha = 1.0 - level
    columns = range(data.k) if data.k > 2 else ()
    searches = 1 + (data.k > 2)
    groups, notes = judge_groups(data.groups, x, hit, level, searches)
    searches += bool(groups)

    hits = [(data.y == j).astype(np.int64) for j in columns]
    gaps = [measure_gap(data.p[:, j], hits[j], level) for j in columns]
    p_values = [0.0 if gap.impossible else gap.p_value for gap in gaps]
    adjusted = holm(p_values, searches)
    classes = [class_finding(data.classes[j], gaps[j], adjusted[j]) for j in columns]
    errors = [finding.error.value or 0.0 for finding in classes]
    order = worst_first([finding.stands_out for finding in classes], p_values, errors)
    classes = [classes[j] for j in order]

    regions, region_p_values = _regions(x, hit, level, searches)
    if not any(region.share > 0.0 for region in regions):
        notes.append("The error is not larger than its noise in any region of scores.")

    panels = [overall_panel(data)]
    for j in order[:DRAWN_CLASSES]:
        title = f"class {data.classes[j]}", "predicted probability", "event frequency"
        panels.append(score_panel(title, data.p[:, j], hits[j]))

    parts = []
    if classes and classes[0].stands_out:
        parts.append(_class_sentence(classes))
    if any(region.stands_out for region in regions):
        largest = max(range(len(regions)), key=lambda i: regions[i].share)
        if region_p_values[largest] <= alpha and regions[largest].share > 0.0:
            parts.append(_region_sentence(regions[largest]))
        else:
            parts.append(
                "By score: there are errors, but the rows do not show where most of them are."
            )
    parts += _group_sentences(groups, alpha)
    names = [f"{len(classes)} classes"] if classes else []
    names.append(f"{format_count(len(regions), 'region')} of scores")
    names += [format_count(len(groups), "group")] if groups else []
    searched = f" among {join_names(names)}, corrected for their number"
    if len(names) == len(regions) == 1:
        searched = ""
    size = "small" if data.n > FEWEST_IN_REGION else "even large"
    sentence = " ".join(parts) or (
        f"Nothing stands out at the {format_percent(level)} level{searched}. With "
        f"{format_count(data.n, 'row')}, {size} errors could have been missed."
    )
    return Where(
        sentence, tuple(panels), tuple(classes), tuple(regions), tuple(groups), tuple(notes)
    )


def overall_panel(data: Judged) -> Panel:
    """Return the reliability diagram of all rows: of the top label, or of the binary scores.

    It has no band if rows come in groups, because the band needs independent rows.
    """
    panel = score_panel(_title(data), *reduced(data, data.notions[0]))
    return panel if data.row_groups is None else replace(panel, band=None)


def _title(data: Judged) -> tuple[str, str, str]:
    """Return the title of the first panel, and the names of its score and event."""
    if data.k == 2 and not data.confidences:
        name = data.classes[1]
        return f"class {name}", f"predicted P(Y = {name})", "event frequency"
    return "top label", "confidence in the top class", "share of right predictions"


def score_panel(title: tuple[str, str, str], x: Array, hit: Integers) -> Panel:
    """Return the reliability diagram of scores x (n,).

    `title` holds the names of the diagram, of the score and of the event.
    """
    curve = thin(corp(x, hit))
    return Panel(*title, curve, compute_band(curve, BAND))


def class_finding(name: str, gap: Gap, adjusted: float) -> ClassFinding:
    """Describe one class or label, of which `adjusted` is the corrected p-value."""
    expected, seen = gap.mean_score * gap.n, round(gap.frequency * gap.n)
    count = f"{expected:,.0f}" if expected >= 10.0 else f"{expected:.2g}"
    error = gap.error
    if gap.impossible:
        sentence = f"{name}: {format_count(gap.impossible, 'outcome')} had probability 0."
    elif seen == 0:
        rows = format_count(gap.n, "row")
        were = "was" if count == "1" else "were"
        sentence = f"{name}: never seen in {rows}, although {count} {were} expected."
    elif max(expected, seen) < RARE:
        sentence = f"{name}: too rare to be judged ({seen:,} seen, {count} expected)."
    else:
        sentence, described = describe(name, gap, adjusted <= 1.0 - gap.gap.level)
        error = described.error
    if max(expected, seen) < RARE:  # the interval is valid, but a value would claim too much
        error = replace(error, value=None)
    return ClassFinding(name, gap.mean_score, gap.frequency, error, adjusted, sentence)


def _regions(
    x: Array, hit: Integers, level: float, searches: int
) -> tuple[list[Region], list[float]]:
    """Return the regions of scores, and their p-values without correction."""
    counts = np.bincount(np.searchsorted(EDGES[1:-1], x, side="right"), minlength=len(EDGES) - 1)
    edges = join_regions(counts, len(x))
    index = np.searchsorted(edges[1:-1], x, side="right")
    regions, p_values, excess = [], [], []
    for i, (low, high) in enumerate(zip(edges[:-1], edges[1:])):
        scores, hits = x[index == i], hit[index == i]
        count, size = int(hits.sum()), len(scores)
        if len(edges) == 2:
            low, high = float(scores.min()), float(scores.max())
        total = float((hits - scores).sum())
        spread = float(((hits - scores) ** 2).sum()) - total**2 / size
        variance = max(float((scores * (1.0 - scores)).sum()), spread * size / max(size - 1, 1))
        excess.append(float(np.sqrt(max(total**2 - variance, 0.0))))
        happened = Interval(count / size, *clopper_pearson(count, size, level), level)
        regions.append(Region(low, high, size, float(scores.mean()), happened, 0.0, 1.0))
        p_values.append(count_p_value(scores, count))
    whole, adjusted = sum(excess) or 1.0, holm(p_values, searches)
    regions = [
        replace(region, share=e / whole, adjusted=p)
        for region, e, p in zip(regions, excess, adjusted)
    ]
    return regions, p_values


def join_regions(counts: NDArray[np.intp], n: int) -> list[float]:
    """Join regions of scores until each has at least max(30, n / 20) rows; return their edges.

    `counts` is the number of rows in each region, and n the number of all rows.

    Examples
    --------
    >>> join_regions(np.array([0, 0, 0, 0, 0, 0, 0, 10, 40, 50, 60, 70, 80, 90]), 400)
    [0.0, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]
    """
    fewest, edges, rows = max(FEWEST_IN_REGION, n // 20), [EDGES[0]], 0
    for count, edge in zip(counts, EDGES[1:]):
        rows += int(count)
        if rows >= fewest:
            edges.append(edge)
            rows = 0
    if len(edges) > 1:
        edges[-1] = EDGES[-1]  # the rest joins the last region
    else:
        edges.append(EDGES[-1])
    return edges


def thin(curve: Curve) -> Curve:
    """Return a curve with fewer scores, so that a page with the diagram stays small.

    Scores in the same block that are close, in value or in rank, are replaced by their mean. The
    blocks, the ends of the blocks and the parts of the Brier score do not change.
    """
    m = len(curve.scores)
    if m <= DRAWN_SCORES:
        return curve
    # Mark the places where a new score begins. Both ends of a block are scores of their own.
    begins = np.zeros(m + 1, dtype=bool)
    begins[curve.start[:-1]] = begins[curve.start[:-1] + 1] = begins[curve.start[1:] - 1] = True
    begins[:KEPT_ENDS] = begins[-KEPT_ENDS - 1 :] = True
    rank = np.floor(np.cumsum(curve.count) * (GRID / curve.n))
    begins[1:m] |= np.diff(np.floor(curve.scores * GRID) * (GRID + 1) + rank) != 0
    first = np.flatnonzero(begins[:m])
    count = np.add.reduceat(curve.count, first)
    return replace(
        curve,
        scores=np.add.reduceat(curve.count * curve.scores, first) / count,
        fit=curve.fit[first],
        start=np.append(np.searchsorted(first, curve.start[:-1]), len(first)),
        count=count,
    )


def _format_two(score: float, frequency: float) -> tuple[str, str]:
    """Format a mean score and a frequency, with as many digits as show their difference."""
    texts = format_share(score), format_share(frequency)
    digits = 3
    while texts[0] == texts[1] and digits < 8 and score != frequency:
        texts = f"{score:.{digits}f}", f"{frequency:.{digits}f}"
        digits += 1
    return texts


def _class_sentence(classes: Sequence[ClassFinding]) -> str:
    """Return a sentence on the first of the classes, which stands out."""
    worst, count = classes[0], sum(finding.stands_out for finding in classes)
    error = f"; L1 error {in_words(worst.error)}" if worst.error.value else ""
    numbers = (
        f"(mean prediction {format_share(worst.mean_p)}, frequency {format_share(worst.frequency)}"
        f"{error})"
    )
    if count == 1:
        return f"Of the {len(classes)} classes, {worst.name} stands out {numbers}."
    several = f"Of the {len(classes)} classes, {count} stand out."
    if count == len(classes):
        several = f"All {count} classes stand out."
    return f"{several} The largest estimated error is that of {worst.name} {numbers}."


def _region_sentence(region: Region) -> str:
    """Return a sentence on the region with the largest share of the error."""
    place = f"between {region.low:.3g} and {region.high:.3g}"
    if region.low == region.high:
        place = f"at {region.low:.4g}"
    part = f"the largest share of the error, {format_whole_percent(region.share)},"
    if region.share > 0.995:
        part = "all of the error"
    means = _format_two(region.said, region.happened.value or 0.0)
    return (
        f"By score: by estimate, {part} is {place} (mean score {means[0]}, frequency {means[1]}, "
        f"{format_count(region.n, 'row')})."
    )


def _group_sentences(groups: Sequence[GroupFinding], alpha: float) -> list[str]:
    """Return at most one sentence on groups that are off. Only established gaps have a name."""
    off = [group for group in groups if group.stands_out]
    if off:
        worst = off[0]
        name = f"{worst.column} = {worst.value}"
        start = f"Of the groups, {name} is off: its"
        if len(off) > 1:
            start = f"Of the {len(groups)} groups, {len(off)} are off. The worst is {name}: its"
        return [
            f"{start} scores are too {'high' if worst.gap.sign > 0 else 'low'} by "
            f"{in_words(worst.gap, is_difference=True)} on average "
            f"({format_count(worst.n, 'row')})."
        ]
    rejected = sum((group.adjusted or 0.0) <= alpha for group in groups)
    if rejected:
        return [
            f"In {rejected} of the {len(groups)} groups some scores are too high or low, but no "
            "error on average is shown."
        ]
    return []
