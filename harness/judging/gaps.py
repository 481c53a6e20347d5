"""Scores against outcomes of some rows: a p-value that is exact at every n, and intervals for the gap and for the L1 error.

Both rest on sums of residuals S_b = sum over the rows i of bin b of (y_i - p_i). If the scores are calibrated, the count of
events is Poisson-binomial: its law is known, and nothing has to be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, chdtrc, ndtri

from harness.judging.findings import Interval

CELLS = 400  # of the scores in arcsine scale, rows of which are counted as if their scores were the cell's mean
MOST_BINS = 30
SMALLEST_VARIANCE = 25.0  # of a count that is taken for normal
SPLIT_VARIANCE = 8.0  # from which on there are two bins or more
LEAST = 1e-12  # of a p-value: rounding of the transform


@dataclass(frozen=True)
class Gap:
    """What some rows' scores said and what happened.

    said, happened : mean score and frequency of the event. gap : said - happened with its interval. error : L1 error with its
    interval. p_value : of "these scores are calibrated". impossible : rows where an event came that had p = 0, or did not at 1.
    """

    n: int
    said: float
    happened: float
    gap: Interval
    error: Interval
    p_value: float
    impossible: int


def gap_of(x: NDArray[np.float64], hit: NDArray[np.int64], level: float) -> Gap:
    """All of `Gap` of scores x (n,) and events hit (n,) in {0, 1}, n >= 1, with intervals at `level`.

    Notes
    -----
    The p-value is min(1, 2 min(p_total, p_bins)): of the count of all events, and Fisher's combination of the counts in bins of
    equal variance, sum of x (1 - x). It is super-uniform at every n if the events are independent with P(hit) = x.

    With s_b^2 the larger of the variance of S_b under calibration and that of the residuals seen, a = 1 - level, and z the
    normal quantile, the L1 interval is that of sum_b |E S_b| / n,

        high = sum_b |S_b| + z(a/2) (sum_b s_b^2)^(1/2)
        low = max( sum_b |S_b| - the a/4 upper quantile of sum_b s_b |N(0, 1)|, |sum_b S_b| - z(a/8) (sum_b s_b^2)^(1/2), 0)

    both divided by n, at most 1: as S_b = E S_b + noise, |S_b| is at least sign(E S_b) S_b and at most |E S_b| + |noise|,
    whatever the errors are. The price is width. What cancels in a bin is not seen. The value is the sum over bins of
    (S_b^2 - s_b^2)_+^(1/2), divided by n. There are 1.3 V^(1/3) bins, 2 to 30, of V = sum x (1 - x); below V = 8 there is one,
    and the intervals are Clopper and Pearson's of the frequency, as is that of the gap below 25. At 0.95 the L1 interval covered
    0.97 to 1 of 200 samples (five binary problems of the arena, n = 100 to 10,000), but 0.88 and 0.65 of a wavy error at
    n = 1,000 and 10,000, which cancels in the bins; p-values of calibrated scores were at most 0.05 in 0.025 to 0.04.

    Examples
    --------
    >>> found = gap_of(np.full(100, 0.6), np.repeat([1, 0], 50), 0.95)
    >>> round(found.gap.value, 3), [round(v, 3) for v in (found.error.low, found.error.high)], round(found.p_value, 3)
    (0.1, [0.0, 0.202], 0.054)
    """
    n, residual = len(x), hit - x
    said, happened = float(x.mean()), float(hit.mean())
    known = float((x * (1.0 - x)).sum())
    index, count = _bins(x, known)
    sums = np.asarray(np.bincount(index, residual, count), dtype=np.float64)
    impossible = int((((x == 0.0) & (hit == 1)) | ((x == 1.0) & (hit == 0))).sum())
    gap, error = _intervals(x, hit, residual, index, count, sums, level)
    return Gap(
        n,
        said,
        happened,
        gap,
        error,
        0.0 if impossible else _p_value(x, hit, index, count),
        impossible,
    )


def _bins(x: NDArray[np.float64], known: float) -> tuple[NDArray[np.int64], int]:
    """Bin of every row and the number of bins: of equal variance, equal scores never separated."""
    wanted = int(np.clip(1.3 * np.cbrt(known), 2, MOST_BINS)) if known >= SPLIT_VARIANCE else 1
    if wanted == 1:
        return np.zeros(len(x), dtype=np.int64), 1
    ordered = np.sort(x)
    total = np.cumsum(ordered * (1.0 - ordered))
    edges = np.unique(ordered[np.searchsorted(total, total[-1] * np.arange(1, wanted) / wanted)])
    _, index = np.unique(np.searchsorted(edges, x, side="left"), return_inverse=True)
    return index, int(index.max()) + 1


def _intervals(
    x: NDArray[np.float64], hit: NDArray[np.int64], residual: NDArray[np.float64], index: NDArray[np.int64], count: int,
    sums: NDArray[np.float64], level: float,
) -> tuple[Interval, Interval]:  # fmt: skip
    """Of the gap, said - happened, and of the L1 error."""
    n, alpha = len(x), 1.0 - level
    sizes = np.bincount(index, minlength=count)
    null = np.bincount(index, x * (1.0 - x), count)
    spread = np.bincount(index, residual**2, count) - sums**2 / sizes
    deviation = np.sqrt(np.maximum(null, spread * sizes / np.maximum(sizes - 1, 1)))
    whole, total = float(np.sqrt((deviation**2).sum())), float(sums.sum())
    value = float(np.sqrt(np.maximum(sums**2 - deviation**2, 0.0)).sum())
    z, mean_gap = float(ndtri(1.0 - alpha / 2.0)), -total / n + 0.0  # not -0
    if min(null.sum(), spread.sum()) < SMALLEST_VARIANCE:
        low, high = clopper_pearson(int(hit.sum()), n, level)
        at = float(x.mean())
        gap = Interval(mean_gap, at - high, at - low, level)
        if count == 1:
            far, near = (
                max(abs(at - low), abs(at - high)),
                0.0 if low <= at <= high else min(abs(at - low), abs(at - high)),
            )
            return gap, Interval(float(np.clip(value / n, near, far)), near, far, level)
    else:
        gap = Interval(mean_gap, mean_gap - z * whole / n, mean_gap + z * whole / n, level)
    absolute = float(np.abs(sums).sum())
    low = max(
        absolute - folded_quantile(deviation, alpha / 4.0),
        abs(total) - float(ndtri(1.0 - alpha / 8.0)) * whole,
        0.0,
    )
    return gap, Interval(max(value, low) / n, low / n, min((absolute + z * whole) / n, 1.0), level)


def folded_quantile(deviation: NDArray[np.float64], tail: float) -> float:
    """The upper `tail` quantile of sum_b s_b |N_b(0, 1)|, by Cornish and Fisher's expansion (exact for one term).

    Examples
    --------
    >>> round(folded_quantile(np.ones(1), 0.05), 2), round(folded_quantile(np.ones(8), 0.05), 2)
    (1.96, 9.35)
    """
    if len(deviation) == 1:
        return float(deviation[0] * ndtri(1.0 - tail / 2.0))
    variance = (1.0 - 2.0 / np.pi) * float((deviation**2).sum())
    if variance <= 0.0:
        return 0.0
    # third and fourth cumulants of |N(0, 1)|
    skew = 0.9952717 * float((deviation**3).sum()) / float((deviation**2).sum()) ** 1.5
    excess = 0.8691773 * float((deviation**4).sum()) / float((deviation**2).sum()) ** 2
    z = float(ndtri(1.0 - tail))
    w = (
        z
        + (z * z - 1.0) * skew / 6.0
        + (z**3 - 3.0 * z) * excess / 24.0
        - (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0
    )
    return float(np.sqrt(2.0 / np.pi) * deviation.sum() + w * np.sqrt(variance))


def clopper_pearson(count: int, n: int, level: float) -> tuple[float, float]:
    """The interval of a probability from `count` events in n >= 1 rows. Conservative where probabilities differ between rows
    (Hoeffding 1956).

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, 0.95)
    >>> low, round(high, 4)
    (0.0, 0.3085)
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betaincinv(count + 1, n - count, 1.0 - tail))
    return low, high


def _p_value(
    x: NDArray[np.float64], hit: NDArray[np.int64], index: NDArray[np.int64], count: int
) -> float:
    overall = count_p_value(x, int(hit.sum()))
    if count == 1:
        return overall
    each = [count_p_value(x[index == b], int(hit[index == b].sum())) for b in range(count)]
    combined = float(chdtrc(2 * count, -2.0 * np.log(each).sum()))
    return min(1.0, 2.0 * min(overall, combined))


def count_p_value(x: NDArray[np.float64], count: int) -> float:
    """Twice the smaller tail of a Poisson-binomial count, at most 1: P-value of `count` events in rows of probabilities x (n,).

    Notes
    -----
    By the discrete Fourier transform of the characteristic function. More than 400 rows are put into cells of arcsin(sqrt(x)) in
    which all have the cell's mean: the variance grows by at most 5e-6 of itself. At least 1e-12.

    Examples
    --------
    >>> round(count_p_value(np.array([0.5, 0.5, 0.5]), 3), 6)  # 2 / 8
    0.25
    >>> round(count_p_value(np.array([0.1, 0.2]), 2), 6)  # 2 * 0.1 * 0.2
    0.04
    """
    x, weight = _cells(x)
    n, mean, variance = int(weight.sum()), float(weight @ x), float(weight @ (x * (1.0 - x)))
    reach = (
        12.0 * np.sqrt(variance) + 40.0
    )  # what lies further off has less than 1e-26, by Bernstein's inequality
    first = max(0, int(mean - reach))
    size = 1 << int(np.ceil(np.log2(min(n, int(mean + reach) + 1) - first + 2)))
    t = 2.0 * np.pi * np.arange(size // 2 + 1) / size
    real, imaginary = 1.0 - x[:, None] * (1.0 - np.cos(t)), x[:, None] * np.sin(t)
    with np.errstate(divide="ignore"):
        modulus = 0.5 * (weight @ np.maximum(np.log(real**2 + imaginary**2), -1e4))
    angle = weight @ np.arctan2(imaginary, real) - first * t
    pmf = np.maximum(np.fft.hfft(np.exp(modulus - 1j * angle).conj(), size) / size, 0.0)
    at = count - first
    if not 0 <= at < size:
        return LEAST
    return float(np.clip(2.0 * min(pmf[: at + 1].sum(), pmf[at:].sum()), LEAST, 1.0))


def _cells(x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Probabilities and how many rows have them."""
    if len(x) <= CELLS:
        return x, np.ones(len(x))
    cell = np.minimum((np.arcsin(np.sqrt(x)) * (2.0 / np.pi) * CELLS).astype(np.intp), CELLS - 1)
    weight = np.bincount(cell, minlength=CELLS).astype(np.float64)
    used = weight > 0.0
    return np.bincount(cell, x, CELLS)[used] / weight[used], weight[used]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: reject where at most a, and a false rejection among all has probability at most a.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    found = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * float(p_values[i])))
        found[int(i)] = running
    return found


def worst_first(
    adjusted: Sequence[float], p_values: Sequence[float], errors: Sequence[float], allowed: float
) -> list[int]:
    """The order of findings: those whose adjusted p-value is at most `allowed` by their error, then the others by p-value.

    Examples
    --------
    >>> worst_first([0.01, 0.8, 0.02, 0.7], [0.003, 0.4, 0.01, 0.3], [0.1, 0.3, 0.2, 0.0], 0.05)
    [2, 0, 3, 1]
    """
    return sorted(
        range(len(adjusted)),
        key=lambda i: (
            (0, -errors[i], 0.0) if adjusted[i] <= allowed else (1, p_values[i], -errors[i])
        ),
    )
