"""Reliability diagrams: CORP (Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8), e2016191118).

The curve is the isotonic regression of the events on the scores (pool adjacent violators). It
estimates the event frequency at every score. The bins of the diagram are the blocks on which the
curve is constant, so that nobody has to choose them.

Let x be the score, y the event (0 or 1), q the value of the curve at x, and ybar the mean of y.
With means over the rows, the Brier score splits into three non-negative parts:

    mean (x - y)^2 = MCB - DSC + UNC
    MCB = mean (x - y)^2 - mean (q - y)^2      miscalibration: the gain from recalibration
    DSC = UNC - mean (q - y)^2                 discrimination
    UNC = ybar (1 - ybar)                      uncertainty

MCB is biased upwards, because the curve is fitted on the rows on which it is evaluated.

    panels = harness.math.reliability.panels(p, y)
    harness.evaluation.reliability.build_table(panels), describe_panels(panels)
    harness.figures.reliability_plot.figure(panels)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from harness.errors import BadInputError
from harness.math.notions import checked, one_hot, reduce

MAX_DRAWN_CLASSES = 20
GRID = 101  # number of evenly spaced scores, and of quantiles, at which a band is computed
# Largest number of labels drawn for one band, which takes about 5 s. With more rows there are fewer
# resamples.
MAX_LABELS = 50_000_000
MIN_RESAMPLES = 100


@dataclass(frozen=True)
class Curve:
    """The CORP curve of scores x and events y, both of shape (n,).

    m is the number of distinct scores, b the number of blocks on which the curve is constant.

    Attributes
    ----------
    scores, fit : ndarray (m,)
        The distinct scores in ascending order, and the value of the curve at each of them.
    start : ndarray (b + 1,)
        Positions in `scores` at which the blocks begin, followed by m.
    count : ndarray (m,)
        Number of rows at each distinct score.
    mcb, dsc, unc : float
        Miscalibration, discrimination and uncertainty: the parts of the Brier score.
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
        """The bins of the diagram as arrays (b,): the blocks on which the curve is constant.

        The keys are `from` and `to` (smallest and largest score), `score` (mean score),
        `frequency` (event frequency) and `count` (number of rows).
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
    """A pointwise consistency band of a curve: it goes from `low` to `high` at each of `scores`.

    `level` is the level of the band, and `resamples` the number of curves that it is computed from.
    """

    level: float
    resamples: int
    scores: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """One reliability diagram: its title, the names of its axes, its curve and its band.

    `score` names the horizontal axis, `event` the vertical one. `band` is None if no band was
    computed. `drawn` is False for the classes that are left out of the figure if there are many.
    """

    title: str
    score: str
    event: str
    curve: Curve
    band: Band | None = None
    drawn: bool = True


def corp(x: ArrayLike, y: ArrayLike) -> Curve:
    """Fit the CORP curve. Rows with equal scores share one value. Cost O(n log n).

    Parameters
    ----------
    x : array (n,)
        Scores in [0, 1].
    y : array (n,)
        Events in {0, 1}.

    Examples
    --------
    >>> curve = corp([0.1, 0.1, 0.6, 0.8], [0, 0, 1, 0])
    >>> curve.fit.tolist(), round(float(curve.mcb), 4)
    ([0.0, 0.5, 0.5], 0.08)
    """
    x, y = checked(x, y)
    if x.ndim != 1:
        raise BadInputError(
            f"x has shape {x.shape}, but a reliability curve needs scores of shape (n,); "
            "use `panels` for predictions of shape (n, k)."
        )
    scores, where = np.unique(x, return_inverse=True)
    count, hits = np.bincount(where), np.bincount(where, y)
    fit = isotonic_regression(hits / count, weights=count).x
    start = np.concatenate([[0], np.flatnonzero(np.diff(fit) > 0.0) + 1, [len(fit)]])
    n, mean = len(x), hits.sum() / len(x)
    score, recalibrated = ((count * v**2 - 2.0 * v * hits + hits).sum() / n for v in (scores, fit))
    unc = mean * (1.0 - mean)
    # Both differences are >= 0 except for rounding, as the curve is the best non-decreasing fit.
    mcb, dsc = max(score - recalibrated, 0.0), max(unc - recalibrated, 0.0)
    return Curve(scores, fit, start, count, mcb, dsc, unc)


def compute_band(curve: Curve, level: float = 0.9, resamples: int = 200, seed: int = 0) -> Band:
    """Compute a pointwise consistency band from refits of simulated labels.

    The labels are drawn at the same scores x as if these were calibrated, Y ~ Bernoulli(x). The
    band lies around the diagonal. A curve outside the band speaks against calibration. If the
    scores are calibrated, the curve is outside the band at a given score in a share 1 - level of
    the samples. It is outside the band at one score or another in more of the samples.

    The scores are fixed, whereas Dimitriadis et al. (2021) resample them as well. Cost O(resamples
    n), about 0.5 s for n = 50,000. For very large n fewer resamples are used (MAX_LABELS).
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
    # The method "weibull" puts the quantiles at i / (resamples + 1). With it, a new draw falls
    # between the ends with probability `level`.
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(fits, tails, axis=0, method="weibull")
    return Band(level, used, curve.scores[places], low, high)


def _places(curve: Curve) -> NDArray[np.int64]:
    """Return the positions in `curve.scores` at which the band is computed.

    These are all positions if there are few. Otherwise they are evenly spaced scores and
    quantiles.
    """
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
    """Compute the reliability diagrams of predictions.

    Parameters
    ----------
    p : array (n,) or (n, k)
        Probabilities of class 1, or of all k classes.
    y : array (n,)
        Labels.
    which : {"overall", "classes"}
        "overall" gives one panel. "classes" adds one panel per class, the largest MCB first, if k
        > 2. The first 20 classes are drawn and have bands.
    notion : str, optional
        The notion of the first panel. "top_label": the scores are the confidences max p, and the
        event is that the top class is right. With p of shape (n,), p holds the confidences, and y
        tells whether each prediction was right. "binary": the score is P(Y = 1). Default:
        "top_label" for k > 2, else "binary".
    classes : sequence of k names, optional
        Names of the classes. Default: 0 to k - 1.
    resamples : int
        Number of resamples for a band, as in `compute_band`; 0 for no bands.
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
        replace(panel, band=compute_band(panel.curve, resamples=resamples))
        if panel.drawn
        else panel
        for panel in every
    ]
