"""Where the predictions are off: by class, by score, by group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.common.wording import format_percent
from harness.evaluation.reliability import Curve, Panel, band_of, corp
from harness.judging.findings import ClassFinding, GroupFinding, Interval, Judged, Region, Where
from harness.judging.gaps import (
    LEAST,
    Gap,
    clopper_pearson,
    count_p_value,
    gap_of,
    holm,
    worst_first,
)
from harness.judging.groups import groups_of
from harness.judging.words import with_zero
from harness.math.notions import reduce

DRAWN_CLASSES = 12
DRAWN_SCORES = 5_000  # distinct scores of a curve from which on it is thinned
KEPT_ENDS = 150  # at either end of the scores nothing is thinned: a band is widest there
CELLS = 800
BAND = 0.9
RARE = 5.0  # rows of a class, expected and seen, below which its error cannot be told
EDGES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
FEWEST_IN_REGION = 30


def where(data: Judged, level: float, rng: object = None) -> Where:
    """Where the predictions are off.

    Parameters
    ----------
    data : Judged
        The predictions, n >= 1.
    level : float
        Of the intervals, each on its own. The interval of a class or a group that does not stand out is extended to 0.
        P-values are corrected (Holm) over all classes, and over all groups of all columns. The sentence names a worst class,
        region or group only where the three corrections together leave it below 1 - level.
    rng : ignored
        Nothing is drawn but the bands of the panels, which have a seed of their own.

    Returns
    -------
    Where
        panels: of the top label (or the binary scores), then of the worst classes, at most 12. classes: class against the rest,
        for k > 2, those with an error by its size, then the others by p-value. regions: scores cut at fixed places, neighbours
        joined until each has 30 rows (or n / 20).

    Notes
    -----
    P-values and intervals are those of `harness.judging.gaps`: what redrawing all labels for ever would give, so that none is
    redrawn. A region's share is its part of the sum over regions of (S^2 - s^2)_+^(1/2), S the sum of its residuals and s^2 its
    variance. Curves of more than 5,000 scores are computed from all rows, then thinned. O(k n log n).

    Examples
    --------
    >>> from harness.judging.findings import Judged
    >>> p, y = np.full(400, 0.8), np.repeat([1, 0], 200)
    >>> print(where(Judged("a", np.column_stack([1 - p, p]), y, ("no", "yes")), 0.95).sentence)
    By score: at 0.8, which holds all of the error, 0.80 was said on average and 0.50 happened (400 rows).
    """
    x, hit = scores(data)
    notes: list[str] = []
    gaps = _class_gaps(data, level)
    adjusted = holm([gap.p_value for gap in gaps])
    order = worst_first(
        adjusted,
        [gap.p_value for gap in gaps],
        [gap.error.value or 0.0 for gap in gaps],
        1.0 - level,
    )
    classes = tuple(_of_class(data.classes[j], gaps[j], adjusted[j], level) for j in order)
    regions, region_p = _regions(x, hit, level)
    groups, group_notes = groups_of(data.groups, x, hit, level)
    notes += _class_notes(data, gaps) + group_notes
    if not any(region.share > 0.0 for region in regions):
        notes.append(
            "In no region of scores is the error larger than noise, so that none has a share of it."
        )
    looked = sum(bool(part) for part in (classes, regions, groups))
    sentence = _sentence(
        classes, list(zip(regions, holm(region_p))), groups, (1.0 - level) / looked, level, data
    )
    return Where(sentence, _panels(data, x, hit, order), classes, regions, groups, tuple(notes))


def scores(data: Judged) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The one score per row that is judged, (n,), and whether its event came: P(class 1), a confidence, or the top label's."""
    return (data.p[:, 1], data.y) if data.k == 2 else reduce(data.p, data.y, "top_label")


def _class_gaps(data: Judged, level: float) -> list[Gap]:
    if data.k == 2:
        return []
    return [gap_of(data.p[:, j], (data.y == j).astype(np.int64), level) for j in range(data.k)]


def _of_class(name: str, gap: Gap, adjusted: float, level: float) -> ClassFinding:
    said, came = gap.said * gap.n, round(gap.happened * gap.n)
    error: Interval = gap.error
    if gap.impossible:
        sentence = f"{name}: {_rows(gap.impossible)} had an outcome that was called impossible."
    elif came == 0:
        sentence = f"{name}: never seen in {_rows(gap.n)}, where {_count(said)} were expected."
    elif max(said, came) < RARE:
        sentence = f"{name}: too rare to be judged ({came:,} seen, {_count(said)} expected)."
    elif adjusted <= 1.0 - level:
        way = "too high" if gap.said > gap.happened else "too low"
        known = (
            gap.gap.low is not None
            and gap.gap.high is not None
            and gap.gap.low * gap.gap.high > 0.0
        )
        about = (
            f"probabilities are {way} on average"
            if known
            else "probabilities are right on average, and wrong by score"
        )
        sentence = f"{name}: {about}, {_share(gap.said)} said and {_share(gap.happened)} happened."
    else:
        sentence = f"{name}: nothing stands out, {_share(gap.said)} said and {_share(gap.happened)} happened."
        error = with_zero(error)
    if max(said, came) < RARE:  # an interval there is, a value would say more than is known
        error = replace(error, value=None)
    return ClassFinding(name, gap.said, gap.happened, error, adjusted, sentence)


def _class_notes(data: Judged, gaps: list[Gap]) -> list[str]:
    if data.confidences:
        return []
    found, seen = [], np.bincount(data.y, minlength=data.k)
    never = [data.classes[j] for j in np.flatnonzero(seen == 0)]
    if never:
        found.append(
            f"{_listed(never)} never came in these {_rows(data.n)}: what is said of {_it(never)} rests on that alone."
        )
    rare = [
        data.classes[j]
        for j, gap in enumerate(gaps)
        if seen[j] > 0 and max(gap.said * gap.n, seen[j]) < RARE
    ]
    if rare:
        found.append(
            f"{_listed(rare)} {'is' if len(rare) == 1 else 'are'} too rare to be judged (fewer than 5 rows)."
        )
    if (seen > 0).sum() == 1:
        found.append(
            "Only one class came, so that nothing can be said about telling classes apart."
        )
    return found


def _regions(
    x: NDArray[np.float64], hit: NDArray[np.int64], level: float
) -> tuple[tuple[Region, ...], list[float]]:
    """Regions by score, and their p-values."""
    n = len(x)
    edges = joined(
        np.bincount(np.searchsorted(EDGES[1:-1], x, side="right"), minlength=len(EDGES) - 1), n
    )
    found, p_values, excess = [], [], []
    index = np.searchsorted(edges[1:-1], x, side="right")
    for i, (low, high) in enumerate(zip(edges[:-1], edges[1:])):
        own, came = x[index == i], hit[index == i]
        count, size = int(came.sum()), len(own)
        total, variance = float((came - own).sum()), float((own * (1.0 - own)).sum())
        spread = float(((came - own) ** 2).sum()) - total**2 / size
        excess.append(
            float(np.sqrt(max(total**2 - max(variance, spread * size / max(size - 1, 1)), 0.0)))
        )
        below, above = clopper_pearson(count, size, level)
        if len(edges) == 2:
            low, high = float(own.min()), float(own.max())
        found.append(
            Region(
                low, high, size, float(own.mean()), Interval(count / size, below, above, level), 0.0
            )
        )
        impossible = bool((((own == 0.0) & (came == 1)) | ((own == 1.0) & (came == 0))).any())
        p_values.append(LEAST if impossible else count_p_value(own, count))
    whole = sum(excess)
    shares = [one / whole if whole > 0.0 else 0.0 for one in excess]
    return tuple(replace(region, share=share) for region, share in zip(found, shares)), p_values


def joined(counts: NDArray[np.intp], n: int) -> list[float]:
    """The edges that are left when neighbouring regions are joined until each holds at least max(30, n / 20) rows.

    Examples
    --------
    >>> joined(np.array([0, 0, 0, 0, 0, 0, 0, 10, 40, 50, 60, 70, 80, 90]), 400)
    [0.0, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0]
    """
    fewest, edges, held = max(FEWEST_IN_REGION, n // 20), [EDGES[0]], 0
    for count, edge in zip(counts, EDGES[1:]):
        held += int(count)
        if held >= fewest:
            edges.append(edge)
            held = 0
    if edges[-1] != EDGES[-1]:  # what is left joins the region before it
        edges[-1 if len(edges) > 1 else len(edges) :] = [EDGES[-1]]
    return edges


def _panels(
    data: Judged, x: NDArray[np.float64], hit: NDArray[np.int64], order: list[int]
) -> tuple[Panel, ...]:
    if data.k == 2 and not data.confidences:
        name = data.classes[1]
        found = [
            _panel(
                Panel(
                    f"class {name}", f"predicted P(Y = {name})", "event frequency", _curve(x, hit)
                )
            )
        ]
    else:
        found = [
            _panel(
                Panel(
                    "top label",
                    "confidence in the top class",
                    "share of right predictions",
                    _curve(x, hit),
                )
            )
        ]
    for j in order[:DRAWN_CLASSES]:
        curve = _curve(data.p[:, j], (data.y == j).astype(np.int64))
        found.append(
            _panel(
                Panel(f"class {data.classes[j]}", "predicted probability", "event frequency", curve)
            )
        )
    return tuple(found)


def _panel(panel: Panel) -> Panel:
    return replace(panel, band=band_of(panel.curve, "consistency", BAND))


def _curve(x: NDArray[np.float64], hit: NDArray[np.int64]) -> Curve:
    return thinned(corp(x, hit))


def thinned(curve: Curve) -> Curve:
    """A curve of fewer scores: neighbours in a block that are close, in score or in rank, become one score, their mean. The
    blocks, their ends and the parts of the score are those of all rows."""
    m = len(curve.at)
    if m <= DRAWN_SCORES:
        return curve
    first = np.zeros(
        m + 1, dtype=bool
    )  # where a new score begins: the first and the last of a block are scores of their own
    first[curve.start[:-1]] = first[curve.start[:-1] + 1] = first[curve.start[1:] - 1] = True
    first[:KEPT_ENDS] = first[-KEPT_ENDS - 1 :] = True
    cell = np.floor(curve.at * CELLS) * (CELLS + 1) + np.floor(
        np.cumsum(curve.count) * (CELLS / curve.n)
    )
    first[1:m] |= np.diff(cell) != 0
    begin = np.flatnonzero(first[:m])
    count = np.add.reduceat(curve.count, begin)
    at = np.add.reduceat(curve.count * curve.at, begin) / count
    return replace(
        curve,
        at=at,
        fit=curve.fit[begin],
        start=np.append(np.searchsorted(begin, curve.start[:-1]), len(begin)),
        count=count,
    )


def _sentence(
    classes: tuple[ClassFinding, ...], regions: list[tuple[Region, float]], groups: tuple[GroupFinding, ...], allowed: float,
    level: float, data: Judged,
) -> str:  # fmt: skip
    """What is worst of each kind, where it stands out; `allowed` is what an adjusted p-value may be."""
    parts = []
    worst = [one for one in classes if one.adjusted is not None and one.adjusted <= allowed]
    if worst:
        one = max(worst, key=lambda found: found.error.value or 0.0)
        error = f"; L1 error {_interval(one.error)}" if one.error.value is not None else ""
        parts.append(
            f"Of the classes, {one.name} is worst: {_share(one.mean_p)} said on average, {_share(one.frequency)} happened{error}."
        )
    off = [region for region, p in regions if p <= allowed and region.share > 0.0]
    if off:
        most = max(off, key=lambda found: found.share)
        happened = most.happened.value or 0.0
        part = "all" if most.share > 0.995 else f"{100 * most.share:.0f} %"
        parts.append(
            f"By score: {_place(most)}, which holds {part} of the error, {_share(most.said)} was said on "
            f"average and {_share(happened)} happened ({_rows(most.n)})."
        )
    odd = [one for one in groups if one.adjusted is not None and one.adjusted <= allowed]
    if odd:
        group = max(odd, key=lambda found: found.error.value or 0.0)
        gap = group.gap.value or 0.0
        way = "high" if gap > 0.0 else "low"
        parts.append(
            f"Of the groups, {group.column} = {group.value} is worst: scores are {abs(gap):.3f} too {way} on average "
            f"({_rows(group.n)}), L1 error {_interval(group.error)}."
        )
    if parts:
        return " ".join(parts)
    looked = [f"{len(classes)} classes"] if classes else []
    looked += [f"{len(regions)} region{'s' if len(regions) > 1 else ''} of scores"]
    looked += [f"{len(groups)} groups"] if groups else []
    return (
        f"Nothing stands out at the {format_percent(level)} level among {_listed(looked)}, corrected for looking many times; "
        f"with {_rows(data.n)}, small errors would not show."
    )


def _place(region: Region) -> str:
    return (
        f"at {region.low:.4g}"
        if region.low == region.high
        else f"from {region.low:g} to {region.high:g}"
    )


def _rows(n: int) -> str:
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def _count(x: float) -> str:
    return f"{x:,.0f}" if x >= 10.0 else f"{x:.2g}"


def _share(x: float) -> str:
    """Two decimals, more where they would say 0 or 1."""
    return (
        f"{x:.2f}"
        if 0.1 <= x <= 0.9
        else f"{x:.3f}"
        if 0.001 <= x <= 0.999
        else f"{x:.2g}"
        if x < 0.5
        else f"{x:.5g}"
    )


def _interval(one: Interval) -> str:
    if one.low is None or one.high is None:
        return f"{one.value:.3f}"
    return f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})"


def _listed(names: list[str], most: int = 5) -> str:
    """The names as a list in words, the first few of many."""
    shown = names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"
