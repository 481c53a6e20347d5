"""Reliability diagrams: CORP (Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8), e2016191118).

The curve is the isotonic regression of the events on the scores (pool adjacent violators, PAV). It
estimates the event frequency at every score, without bins to choose: the bins of the diagram are
the blocks on which the curve is constant. With x the score, y the event, q the recalibrated score
and ybar the mean event, the Brier score splits into three non-negative parts:

    mean (x - y)^2 = MCB - DSC + UNC
    MCB = mean (x - y)^2 - mean (q - y)^2      miscalibration: the gain by recalibration
    DSC = UNC - mean (q - y)^2                 discrimination
    UNC = ybar (1 - ybar)                      uncertainty

MCB is fitted and judged on the same rows, and so it is biased upwards.

    panels = reliability.panels(p, y)
    table_of(panels), caption_of(panels), reliability_plot.figure(panels)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from harness.errors import BadInputError
from harness.math.notions import checked, one_hot, reduce

MAX_DRAWN_CLASSES = 20
GRID = 101  # a band is computed at so many evenly spaced scores, and at so many quantiles
# Labels drawn for one band: 50 million take about 5 s. More rows have fewer resamples.
MAX_LABELS = 50_000_000
MIN_RESAMPLES = 100


@dataclass(frozen=True)
class Curve:
    """The CORP curve of scores x and events y, both (n,).

    Attributes
    ----------
    scores, fit : ndarray (m,)
        The distinct scores, ascending, and their recalibrated values.
    start : ndarray (b + 1,)
        The positions in `scores` where the blocks of equal fit begin, and m.
    count : ndarray (m,)
        The number of rows at each distinct score.
    mcb, dsc, unc : float
        The parts of the Brier score, in its unit.
    """

    scores: NDArray[np.float64]
    fit: NDArray[np.float64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    mcb: float
    dsc: float
    unc: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.count.sum())

    @property
    def brier(self) -> float:
        """The Brier score."""
        return self.mcb - self.dsc + self.unc

    @property
    def bins(self) -> dict[str, NDArray[Any]]:
        """The blocks of equal fit as arrays (b,).

        Smallest and largest score, mean score, event frequency, number of rows.
        """
        first, last = self.start[:-1], self.start[1:] - 1
        size = np.add.reduceat(self.count, first)
        mean = np.add.reduceat(self.count * self.scores, first) / size
        return {
            "from": self.scores[first],
            "to": self.scores[last],
            "score": mean,
            "frequency": self.fit[first],
            "count": size,
        }


@dataclass(frozen=True)
class Band:
    """Pointwise bounds low, high (g,) at `scores` (g,)."""

    level: float
    resamples: int
    scores: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """One diagram: title, names of score and event, the curve and its band (None without).

    `drawn` is False for all but the worst of many classes.
    """

    title: str
    score: str
    event: str
    curve: Curve
    band: Band | None = None
    drawn: bool = True


def corp(x: ArrayLike, y: ArrayLike) -> Curve:
    """Fit the CORP curve; equal scores share one value. Cost O(n log n).

    Parameters
    ----------
    x : array (n,)
        Scores in [0, 1].
    y : array (n,)
        Events in {0, 1}.

    Returns
    -------
    Curve

    Examples
    --------
    >>> curve = corp([0.1, 0.1, 0.6, 0.8], [0, 0, 1, 0])
    >>> curve.fit.tolist(), round(float(curve.mcb), 4)
    ([0.0, 0.5, 0.5], 0.08)
    """
    x, y = checked(x, y)
    if x.ndim != 1:
        raise BadInputError(
            f"x has shape {x.shape}; a reliability curve needs scores (n,), `panels` takes (n, k)."
        )
    scores, where = np.unique(x, return_inverse=True)
    count, hits = np.bincount(where), np.bincount(where, y)
    fit = isotonic_regression(hits / count, weights=count).x
    start = np.concatenate([[0], np.flatnonzero(np.diff(fit) > 0.0) + 1, [len(fit)]])
    n, mean = len(x), hits.sum() / len(x)
    score, recalibrated = ((count * v**2 - 2.0 * v * hits + hits).sum() / n for v in (scores, fit))
    unc = mean * (1.0 - mean)
    # Both differences are >= 0 but for rounding: q is best among the non-decreasing functions of x.
    mcb, dsc = max(score - recalibrated, 0.0), max(unc - recalibrated, 0.0)
    return Curve(scores, fit, start, count, mcb, dsc, unc)


def band_of(curve: Curve, level: float = 0.9, resamples: int = 200, seed: int = 0) -> Band:
    """Compute a pointwise consistency band, from refits of labels drawn at the same scores.

    The labels are drawn as if the scores were calibrated, Y ~ Bernoulli(x). The band lies around
    the diagonal. A curve that leaves it speaks against calibration: at any one score falsely so in
    a share 1 - level of samples, somewhere more often.

    The scores are held fixed, where Dimitriadis et al. (2021) resample them too. Cost
    O(resamples n): at n = 50,000 about 0.5 s. Very many rows have fewer resamples (MAX_LABELS).
    """
    used = min(resamples, max(MIN_RESAMPLES, MAX_LABELS // curve.n))
    places = _places(curve)
    rng = np.random.default_rng(seed)
    single = bool((curve.count == 1).all())
    fits = np.empty((used, len(places)))
    for row in fits:
        hits: NDArray[Any] = (
            rng.random(len(curve.scores)) < curve.scores
            if single
            else rng.binomial(curve.count, curve.scores)
        )
        row[:] = isotonic_regression(hits / curve.count, weights=curve.count).x[places]
    # k / (resamples + 1): with this rule a new draw falls between the ends with probability `level`
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(fits, tails, axis=0, method="weibull")
    return Band(level, used, curve.scores[places], low, high)


def _places(curve: Curve) -> NDArray[np.int64]:
    """Return the positions in `scores` of the band: all if few, else even ones and quantiles."""
    m = len(curve.scores)
    if m <= 2 * GRID:
        return np.arange(m)
    even = np.searchsorted(curve.scores, np.linspace(curve.scores[0], curve.scores[-1], GRID)).clip(
        max=m - 1
    )
    return np.unique(np.concatenate([even, np.linspace(0, m - 1, GRID).astype(int)]))


def panels(
    p: ArrayLike,
    y: ArrayLike,
    which: str = "overall",
    *,
    notion: str | None = None,
    classes: Sequence[Any] | None = None,
    resamples: int = 200,
) -> list[Panel]:
    """Compute the diagrams of predictions.

    Parameters
    ----------
    p : array (n,) or (n, k)
        Probabilities of class 1, or of all classes.
    y : array (n,)
        Labels.
    which : {"overall", "classes"}
        One panel; or also one for each class, the largest MCB first. The first 20 are drawn and
        have bands. Two classes have one panel, as the other class is its mirror image.
    notion : str, optional
        With "top_label" the first panel is of the confidences max p, and the event is that the top
        class is right; p (n,) are confidences then, and y says whether each was right. Default:
        "top_label" for k > 2, else "binary", P(Y = 1).
    classes : sequence of k names, optional
        Default 0 to k - 1.
    resamples : int
        Resamples of a band, as in `band_of`; 0 for no bands.
    """
    p, y = checked(p, y)
    k = 2 if p.ndim == 1 else p.shape[1]
    names = [str(name) for name in (range(k) if classes is None else classes)]
    if len(names) != k:
        raise BadInputError(
            f"classes holds {len(names)} names, but p has {k} classes; "
            "give one name per column of p."
        )
    if notion == "top_label" or k > 2:
        curve = corp(*reduce(p, y, "top_label"))
        score, event = "confidence in the top class", "share of right predictions"
        first = Panel("top label", score, event, curve)
    else:
        curve = corp(*reduce(p, y, "binary"))
        score = f"predicted P(Y = {names[1]})"
        first = Panel(f"class {names[1]}", score, "event frequency", curve)
    of_classes = []
    if which == "classes" and k > 2:
        hits = one_hot(y, k)
        curves = [(name, corp(p[:, j], hits[:, j])) for j, name in enumerate(names)]
        curves.sort(key=lambda pair: -pair[1].mcb)
        words = ("predicted probability", "event frequency")
        of_classes = [
            Panel(f"class {name}", *words, curve, drawn=i < MAX_DRAWN_CLASSES)
            for i, (name, curve) in enumerate(curves)
        ]
    every = [first, *of_classes]
    if not resamples:
        return every
    return [
        replace(panel, band=band_of(panel.curve, resamples=resamples)) if panel.drawn else panel
        for panel in every
    ]


def table_of(panels: Sequence[Panel]) -> pd.DataFrame:
    """Return the panels as one DataFrame. Column `part` tells the kinds of rows apart.

    summary  n (as count), mcb, dsc, unc, brier of the panel, drawn or not
    bin      a block of equal fit: from, to, score (mean), frequency, count
    band     score, fit (the curve there), low, high
    """
    frames = []
    for panel in panels:
        curve, band = panel.curve, panel.band
        numbers = {name: [getattr(curve, name)] for name in ("mcb", "dsc", "unc", "brier")}
        parts: list[dict[str, Any]] = [{"part": "summary", "count": [curve.n], **numbers}]
        if panel.drawn:
            parts.append({"part": "bin", **curve.bins})
        if band is not None:
            fit = curve.fit[np.searchsorted(curve.scores, band.scores)]
            ends = {"low": band.low, "high": band.high}
            parts.append({"part": "band", "score": band.scores, "fit": fit, **ends})
        place = {"panel": panel.title, "drawn": panel.drawn}
        frames += [pd.DataFrame({**place, **part}) for part in parts]
    columns = [
        "panel", "drawn", "part", "count", "from", "to", "score", "frequency", "fit", "low", "high",
        "mcb", "dsc", "unc", "brier",
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True).reindex(columns=columns)


def caption_of(panels: Sequence[Panel]) -> str:
    """Return the caption of the diagrams."""
    first = panels[0]
    sentences = [
        "Reliability diagram (CORP): the line is the isotonic regression of the events on the "
        "predicted probability, the dashed diagonal perfect calibration."
    ]
    if first.band is not None:
        sentences.append(
            f"The band around the diagonal is a pointwise {first.band.level:.0%} consistency band, "
            f"from {first.band.resamples} resamples of the labels as if the predictions were "
            "calibrated: a curve outside it speaks against calibration."
        )
    sentences += [
        "The bins are the blocks where the isotonic regression is constant, "
        f"{len(first.curve.start) - 1} in the first panel: dots at their mean prediction and "
        "event frequency, area by their number of rows. Below, a histogram of the predictions.",
        "MCB (miscalibration), DSC (discrimination) and UNC (uncertainty) are the parts of the "
        "Brier score, MCB - DSC + UNC; MCB is fitted on the rows it is judged on, and so biased "
        "upwards.",
    ]
    if len(panels) > 1:
        sentences.append("The classes are in the order of their MCB, largest first.")
    others = [panel for panel in panels if not panel.drawn]
    if others:
        names = [panel.title.removeprefix("class ") for panel in others]
        listed = ", ".join(names[:MAX_DRAWN_CLASSES])
        if len(names) > MAX_DRAWN_CLASSES:
            listed += f" and {len(names) - MAX_DRAWN_CLASSES} more"
        sentences.append(
            f"Left out are {len(others)} of {len(panels) - 1} classes, each with an MCB of at most "
            f"{others[0].curve.mcb:.2g} ({listed}); the table has the numbers of all."
        )
    return " ".join(sentences)
