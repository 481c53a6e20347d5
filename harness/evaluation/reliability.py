"""Reliability diagrams: CORP (Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8), e2016191118).

The curve is the isotonic regression of the events on the scores (pool adjacent violators, PAV). It says at every score what the
score should have been, and there are no bins to choose: the bins of the diagram are the blocks on which the curve is constant.
With x the score, y the event, q the recalibrated score and ybar the mean event, the Brier score splits into three parts, none of
them negative:

    mean (x - y)^2 = MCB - DSC + UNC
    MCB = mean (x - y)^2 - mean (q - y)^2      miscalibration: what recalibration would gain
    DSC = UNC - mean (q - y)^2                 discrimination
    UNC = ybar (1 - ybar)                      uncertainty

MCB is fitted and judged on the same rows, and so it is biased upwards.

    panels = reliability.panels(p, y)       what is drawn: table_of(panels), caption_of(panels), reliability_plot.figure(panels)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from harness.errors import BadInputError
from harness.math.notions import NOTIONS, checked, one_hot, reduce

BANDS = ("consistency", "confidence", "none")
WHICH = ("overall", "classes")
MAX_DRAWN_CLASSES = 20
GRID = 101  # places where a band is computed: so many evenly spaced ones, and so many quantiles of the scores
MAX_LABELS = 50_000_000  # labels drawn for one band; with more rows there are fewer resamples, but at least MIN_RESAMPLES
MIN_RESAMPLES = 100


@dataclass(frozen=True)
class Curve:
    """The CORP curve of scores x and events y, both (n,).

    Attributes
    ----------
    at, fit : ndarray (m,)
        The distinct scores, ascending, and their recalibrated values.
    start : ndarray (b + 1,)
        The places in `at` where the blocks of equal fit begin, and m.
    count : ndarray (m,)
        The number of rows at every distinct score.
    mcb, dsc, unc : float
        The parts of the Brier score, in its unit.
    """

    at: np.ndarray
    fit: np.ndarray
    start: np.ndarray
    count: np.ndarray
    mcb: float
    dsc: float
    unc: float

    @property
    def n(self):
        return int(self.count.sum())

    @property
    def brier(self):
        return self.mcb - self.dsc + self.unc

    @property
    def bins(self):
        """The blocks of equal fit as arrays (b,): smallest and largest score, mean score, event frequency, count."""
        first, last = self.start[:-1], self.start[1:] - 1
        size = np.add.reduceat(self.count, first)
        mean = np.add.reduceat(self.count * self.at, first) / size
        return {
            "from": self.at[first],
            "to": self.at[last],
            "score": mean,
            "frequency": self.fit[first],
            "count": size,
        }


@dataclass(frozen=True)
class Band:
    """Pointwise bounds low, high (g,) at the scores `at` (g,). kind: consistency | confidence."""

    kind: str
    level: float
    resamples: int
    at: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Panel:
    """One diagram: its title, what the score and the event are called, the curve, the band (None without) and whether it is
    drawn (of many classes, the worst are)."""

    title: str
    score: str
    event: str
    curve: Curve
    band: Band | None = None
    drawn: bool = True


def corp(x, y) -> Curve:
    """The CORP curve; equal scores share one value.

    Parameters
    ----------
    x : array (n,)
        Scores in [0, 1].
    y : array (n,)
        Events in {0, 1}.

    Returns
    -------
    Curve

    Notes
    -----
    Cost O(n log n).

    Examples
    --------
    >>> curve = corp([0.1, 0.1, 0.6, 0.8], [0, 0, 1, 0])
    >>> curve.fit.tolist(), round(float(curve.mcb), 4)
    ([0.0, 0.5, 0.5], 0.08)
    """
    x, y = checked(x, y)
    if x.ndim != 1:
        raise BadInputError(
            f"x has shape {x.shape}; a reliability curve is of scores (n,), `panels` takes (n, k)."
        )
    at, where = np.unique(x, return_inverse=True)
    count = np.bincount(where)
    hits = np.bincount(where, y)
    fit, start = _isotonic(hits / count, count)
    n, mean = len(x), hits.sum() / len(x)
    score, recalibrated = ((count * v**2 - 2.0 * v * hits + hits).sum() / n for v in (at, fit))
    unc = mean * (1.0 - mean)
    # both differences are >= 0, as q is best among the non-decreasing functions of x, x and ybar included, but for rounding
    return Curve(
        at, fit, start, count, max(score - recalibrated, 0.0), max(unc - recalibrated, 0.0), unc
    )


def _isotonic(values, weights):
    """Non-decreasing fit (m,), and the starts of its blocks with m at the end; neighbours of equal fit are one block."""
    fit = isotonic_regression(values, weights=weights).x
    return fit, np.concatenate([[0], np.flatnonzero(np.diff(fit) > 0.0) + 1, [len(fit)]])


def band_of(curve: Curve, kind="consistency", level=0.9, resamples=200, seed=0) -> Band:
    """Pointwise band of a curve, from refits of labels drawn at the same scores.

    Parameters
    ----------
    curve : Curve
        As of `corp`.
    kind : {"consistency", "confidence"}
        consistency draws the labels as if the scores were calibrated, Y ~ Bernoulli(x). The band lies around the diagonal, and a
        curve that leaves it says that the scores are not calibrated; at any one score it says so wrongly in a share 1 - level of
        samples, somewhere more often. confidence draws them from the curve, Y ~ Bernoulli(q(x)). The band lies around the curve;
        where that is near 0 or 1, or steep, it covers less than its level.
    level : float
        Between 0 and 1.
    resamples : int
        How often labels are drawn; fewer on very many rows (MAX_LABELS).
    seed : int
        Of the generator of the labels.

    Notes
    -----
    The scores are held fixed, where Dimitriadis et al. (2021) resample them too. Cost O(resamples n): at n = 50,000 about 0.5 s.
    """
    if kind not in BANDS[:2]:
        raise BadInputError(f"band is {kind!r}; allowed are {', '.join(BANDS)}.")
    if not 0.0 < level < 1.0:
        raise BadInputError(f"level is {level!r}; a number between 0 and 1 is needed, such as 0.9.")
    if not isinstance(resamples, int) or isinstance(resamples, bool) or resamples < 2:
        raise BadInputError(
            f"resamples is {resamples!r}; an integer of at least 2 is needed, such as 200."
        )
    used = min(resamples, max(MIN_RESAMPLES, MAX_LABELS // curve.n))
    places = _places(curve)
    law = curve.at if kind == "consistency" else curve.fit
    rng = np.random.default_rng(seed)
    ones = bool((curve.count == 1).all())
    fits = np.empty((used, len(places)))
    for row in fits:
        hits = rng.random(len(law)) < law if ones else rng.binomial(curve.count, law)
        row[:] = isotonic_regression(hits / curve.count, weights=curve.count).x[places]
    # k / (resamples + 1): with this rule a new draw falls between the ends with probability `level`
    low, high = np.quantile(
        fits, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0, method="weibull"
    )
    return Band(kind, level, used, curve.at[places], low, high)


def _places(curve):
    """Where in `at` the band is computed: all distinct scores if they are few, else evenly spaced ones and quantiles."""
    m = len(curve.at)
    if m <= 2 * GRID:
        return np.arange(m)
    even = np.searchsorted(curve.at, np.linspace(curve.at[0], curve.at[-1], GRID)).clip(max=m - 1)
    return np.unique(np.concatenate([even, np.linspace(0, m - 1, GRID).astype(int)]))


def panels(
    p,
    y,
    which="overall",
    *,
    notion=None,
    title=None,
    classes=None,
    band="consistency",
    level=0.9,
    resamples=200,
    seed=0,
) -> list[Panel]:
    """What a reliability diagram of predictions shows.

    Parameters
    ----------
    p : array (n,) or (n, k)
        Probabilities of class 1, or of all classes.
    y : array (n,)
        Labels.
    which : {"overall", "classes"}
        One panel; or with one more for every class, those of the largest MCB first, of which the first 20 are drawn and have
        bands. Two classes have one panel, as that of the other class is its mirror image.
    notion : str, optional
        "top_label" makes the first panel one of the confidences max p against whether the top class is right; for p (n,) these
        are confidences then, and y says whether each was right. By default it is that for k > 2, else one of P(Y = 1).
    title : str, optional
        Of the first panel.
    classes : sequence of k names, optional
        Default 0 to k - 1.
    band, level, resamples, seed
        As of `band_of`; band "none" leaves it out.

    Returns
    -------
    list of Panel
    """
    if which not in WHICH:
        raise BadInputError(f"reliability is {which!r}; allowed are {', '.join(WHICH)}, none.")
    if band not in BANDS:
        raise BadInputError(f"band is {band!r}; allowed are {', '.join(BANDS)}.")
    if notion is not None and notion not in NOTIONS:
        raise BadInputError(f"notion is {notion!r}; allowed are {', '.join(NOTIONS)}.")
    p, y = checked(p, y)
    k = 2 if p.ndim == 1 else p.shape[1]
    names = [str(c) for c in (range(k) if classes is None else classes)]
    if len(names) != k:
        raise BadInputError(
            f"classes holds {len(names)} names, but p has {k} classes; give one name per column of p."
        )
    top = notion == "top_label" or k > 2
    if top:
        of_top = corp(*reduce(p, y, "top_label"))
        first = Panel(
            title or "top label",
            "confidence in the top class",
            "share of right predictions",
            of_top,
        )
    else:
        of_one = corp(*reduce(p, y, "binary"))
        first = Panel(
            title or f"class {names[1]}", f"predicted P(Y = {names[1]})", "event frequency", of_one
        )
    found = [first]
    if which == "classes" and p.ndim == 2 and k > 2:
        hit = one_hot(y, k)
        own = [
            Panel(
                f"class {name}",
                "predicted probability",
                "event frequency",
                corp(p[:, j], hit[:, j]),
            )
            for j, name in enumerate(names)
        ]
        own.sort(key=lambda one: -one.curve.mcb)
        found += [replace(one, drawn=i < MAX_DRAWN_CLASSES) for i, one in enumerate(own)]
    if band == "none":
        return found
    return [
        replace(one, band=band_of(one.curve, band, level, resamples, seed)) if one.drawn else one
        for one in found
    ]


def table_of(panels: list[Panel]):
    """The panels as one DataFrame. Column part says what a row is:

    summary  n (as count), mcb, dsc, unc, brier of the panel, drawn or not
    bin      a block of equal fit: from, to, score (mean), frequency, count
    band     score, fit (the curve there), low, high
    """
    frames = []
    for one in panels:
        c = one.curve
        parts = [
            {
                "part": "summary",
                "count": [c.n],
                "mcb": [c.mcb],
                "dsc": [c.dsc],
                "unc": [c.unc],
                "brier": [c.brier],
            }
        ]
        if one.drawn:
            parts.append({"part": "bin", **c.bins})
        if one.band is not None:
            fit = c.fit[np.searchsorted(c.at, one.band.at)]
            parts.append(
                {
                    "part": "band",
                    "score": one.band.at,
                    "fit": fit,
                    "low": one.band.low,
                    "high": one.band.high,
                }
            )
        frames += [pd.DataFrame({"panel": one.title, "drawn": one.drawn, **part}) for part in parts]
    columns = [
        "panel",
        "drawn",
        "part",
        "count",
        "from",
        "to",
        "score",
        "frequency",
        "fit",
        "low",
        "high",
    ]
    return pd.concat(frames, ignore_index=True).reindex(
        columns=[*columns, "mcb", "dsc", "unc", "brier"]
    )


def caption_of(panels: list[Panel]) -> str:
    """What is drawn, in words."""
    shown, left_out = [one for one in panels if one.drawn], [one for one in panels if not one.drawn]
    text = [
        "Reliability diagram (CORP): the line is the isotonic regression of the events on the predicted probability, the dashed "
        "diagonal perfect calibration."
    ]
    band = shown[0].band
    if band is not None and band.kind == "consistency":
        text.append(
            f"The band around the diagonal is a pointwise {band.level:.0%} consistency band, from {band.resamples} resamples "
            "of the labels as if the predictions were calibrated: a curve outside it speaks against calibration."
        )
    elif band is not None:
        text.append(
            f"The band around the line is a pointwise {band.level:.0%} confidence band, from {band.resamples} resamples "
            "of the labels from the line itself; near 0 and 1, and where the line is steep, it covers less."
        )
    text.append(
        f"The bins are the blocks where the isotonic regression is constant, {len(shown[0].curve.start) - 1} in the first panel: "
        "dots at their mean prediction and event frequency, area by their number of rows. Below, a histogram of the predictions."
    )
    text.append(
        "MCB (miscalibration), DSC (discrimination) and UNC (uncertainty) are the parts of the Brier score, MCB - DSC + UNC; MCB "
        "is fitted on the rows it is judged on, and so biased upwards."
    )
    if len(panels) > 1:
        text.append("The classes are in the order of their MCB, largest first.")
    if left_out:
        names = [one.title.removeprefix("class ") for one in left_out]
        more = (
            f" and {len(names) - MAX_DRAWN_CLASSES} more" if len(names) > MAX_DRAWN_CLASSES else ""
        )
        text.append(
            f"Left out are {len(left_out)} of {len(panels) - 1} classes, each with an MCB of at most {left_out[0].curve.mcb:.2g} "
            f"({', '.join(names[:MAX_DRAWN_CLASSES])}{more}); the table has the numbers of all."
        )
    return " ".join(text)
