"""Calibrator by Bayesian binning into quantiles (BBQ)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import on_columns
from harness.calibrators.newton import normalised
from harness.errors import BadInputError

REACH = 10.0  # numbers of bins range from n^(1/3) / REACH to n^(1/3) REACH
FEWEST_ROWS = 5  # mean number of rows in the bins of the finest binning
EDGE = 5e-3  # midpoints of bins are moved this far from 0 and 1, so that the priors are proper


@dataclass(frozen=True)
class BBQ:
    """Bayesian binning into quantiles: a weighted mean of histograms of different sizes.

        q(p) = sum_M w_M (m_b + a_b) / (n_b + s),     b the bin of p in histogram M
        w_M proportional to prod_b B(m_b + a_b, n_b - m_b + s - a_b) / B(a_b, s - a_b)

    n_b is the number of fitted samples in bin b, and m_b the number of ones among them. B is the
    beta function. The prior of the share of ones in bin b is Beta(a_b, s - a_b), with a_b = s times
    the midpoint of the bin. w_M is then the probability of the labels under histogram M
    (Beta-binomial), divided by the sum over all histograms.

    For more than two classes, one map q_j per class is fitted on p_j against 1{y = j}. Each row is
    then divided by its sum.

    Parameters
    ----------
    strength : float
        Strength s of the prior: the number of samples that it is worth in each bin.

    Notes
    -----
    The histograms have bins of equal mass. Their number of bins goes from n^(1/3) / 10, at least
    1, to 10 n^(1/3), at most n / 5. A bin ends halfway between neighbouring samples. Equal p stay
    together. As in the authors' code, midpoints are limited to [0.005, 0.995]. There, the share of
    ones is smoothed by one sample at the mean of p over the ones of the bin, and histograms with a
    small weight are left out. Here, the share is the mean under the posterior, as in the paper.

    A variational estimate misses the variation of E[Y given p] within the bins, a bias downwards.
    Determinism: exact. Cost: O(k (n log n + n^(2/3))).

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI, eqs. 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), np.array([0, 0, 0, 1, 1, 0])
    >>> BBQ().fit(p, y)(np.array([0.0, 0.49, 0.5])).round(3)
    array([0.15 , 0.15 , 0.641])
    """

    strength: float = 2.0

    determinism = "exact"

    def __post_init__(self) -> None:
        if not 0.0 < self.strength < np.inf:
            raise BadInputError(f"strength is {self.strength}; a number above 0 is needed.")

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        refuse_masked_sample(p, y)
        if p.ndim == 2 and p.shape[1] == 2:
            return on_columns(self, p, y, rng)
        if p.ndim == 1:
            edges, values = self._fit_scores(p, y)
            return lambda x: values[edges.searchsorted(x, side="right")]
        curves = [self._fit_scores(p[:, j], y == j) for j in range(p.shape[1])]

        def q(x: np.ndarray) -> np.ndarray:
            columns = [
                values[edges.searchsorted(column, side="right")]
                for column, (edges, values) in zip(x.T, curves)
            ]
            return normalised(np.column_stack(columns))

        return q

    def _fit_scores(self, p: np.ndarray, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges (m,) at which the map jumps, and its values (m + 1,) between them."""
        order = np.argsort(p, kind="stable")
        x, ones = p[order], hits[order].astype(np.float64)
        histograms = [self._histogram(x, ones, count) for count in _bin_counts(len(x))]
        scores = np.array([score for _, _, score in histograms])
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        edges = np.unique(np.concatenate([inner for inner, _, _ in histograms]))
        pieces = np.concatenate([[-np.inf], edges])  # a point of every piece
        values = np.zeros(len(pieces))
        for weight, (inner, means, _) in zip(weights, histograms):
            values += weight * means[inner.searchsorted(pieces, side="right")]
        return edges, values

    def _histogram(
        self, x: np.ndarray, ones: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return inner edges, posterior means and log score of a histogram of sorted scores x."""
        n, s = len(x), self.strength
        starts = np.unique(x.searchsorted(x[np.arange(count) * n // count]))
        below, above = x[starts[1:] - 1], x[starts[1:]]
        middle = (below + above) / 2.0
        inner = np.where(middle > below, middle, above)  # neighbours in floating point
        sizes = np.diff(np.append(starts, n))
        hits = np.add.reduceat(ones, starts)
        ends = np.concatenate([[0.0], inner, [1.0]])
        a = s * np.clip((ends[:-1] + ends[1:]) / 2.0, EDGE, 1.0 - EDGE)
        score = (betaln(hits + a, sizes - hits + s - a) - betaln(a, s - a)).sum()
        return inner, (hits + a) / (sizes + s), float(score)


def _bin_counts(n: int) -> range:
    """Return the numbers of bins of the histograms for n samples."""
    cube_root = np.cbrt(n)
    fewest = max(1, int(cube_root / REACH))
    most = min(-(-n // FEWEST_ROWS), int(np.ceil(REACH * cube_root)))
    return range(fewest, max(fewest, most) + 1)
