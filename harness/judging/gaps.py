"""Comparison of scores with events: an exact p-value, and intervals of the gap and the L1 error.

Both use sums of residuals S_b = sum over the rows i in bin b of (y_i - p_i), with scores p_i and
events y_i. If the scores are calibrated, the number of events has a Poisson-binomial distribution,
which is known. Therefore nothing has to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from harness.judging.bins import Array, Integers
from harness.judging.interval import Interval
from harness.math.rates import clopper_pearson

GRID = 400  # number of groups of similar scores, of equal width in arcsin(sqrt(x))
MOST_BINS = 30
SMALLEST_VARIANCE = 25.0  # a count with at least this variance is treated as normal
SPLIT_VARIANCE = 8.0  # smallest variance of the count for which there are two or more bins
BISECTIONS = 30  # for a relative error of a p-value of at most 3e-8
LEAST = 1e-12  # smallest p-value that the rounding of the Fourier transform allows


@dataclass(frozen=True)
class Gap:
    """Comparison of scores with events on some rows.

    Attributes
    ----------
    n : int
        Number of rows.
    mean_score, frequency : float
        Mean score, and frequency of the event.
    gap, error : Interval
        mean_score - frequency, and the L1 error.
    p_value : float
        P-value for the hypothesis that these scores are calibrated, from numbers of events.
    gap_p_value : float
        P-value for the hypothesis that mean score and frequency are equal.
    impossible : int
        Number of rows with an event at p = 0, or without one at p = 1.
    """

    n: int
    mean_score: float
    frequency: float
    gap: Interval
    error: Interval
    p_value: float
    gap_p_value: float
    impossible: int


def measure_gap(x: Array, hit: Integers, level: float) -> Gap:
    """Compare scores x (n,) with events hit (n,) in {0, 1}, for n >= 1.

    `level` is the level of the intervals.

    Notes
    -----
    The p-value is min(1, 2 min(p_total, p_bins)). p_total is the p-value of the number of all
    events. p_bins is Fisher's combination of the p-values of the numbers of events in bins of
    equal variance, sum of x (1 - x). The p-value is valid at every n if the events are independent
    with P(hit) = x.

    gap_p_value is the larger one of p_total and of the p-value that belongs to the interval of the
    gap. p_total alone would be too small where errors of single scores cancel on average, because
    events then vary more than those of calibrated scores.

    Let S_b be the sum of residuals in bin b. Let s_b^2 be the larger of the variance of S_b under
    calibration and that of the observed residuals. Let a = 1 - level, and z(u) the upper u
    quantile of the normal distribution. The L1 interval is an interval of sum_b |E S_b| / n. Its
    ends, before they are divided by n and limited to 1, are

        high = sum_b |S_b| + z(a/2) (sum_b s_b^2)^(1/2)
        low = max( sum_b |S_b| - the upper a/4 quantile of sum_b s_b |N(0, 1)|,
                   |sum_b S_b| - z(a/8) (sum_b s_b^2)^(1/2), 0)

    It is valid because S_b = E S_b + noise. Therefore |S_b| is at least sign(E S_b) S_b and at
    most |E S_b| + |noise|, whatever the errors are. It is wide for this reason. Errors that cancel
    within a bin are not seen. The value is the sum over bins of (S_b^2 - s_b^2)_+^(1/2), divided
    by n.

    With V = sum x (1 - x) there are 1.3 V^(1/3) bins, at least 2 and at most 30. For V < 8 there
    is one bin, and the L1 interval is Clopper and Pearson's for the frequency, to which the rate of
    outcomes of probability 0 is added. For V < 25 the
    interval of the gap is that of `rare_gap`.

    Coverage of the L1 interval at level 0.95, measured with 200 samples of five binary problems of
    the arena (n = 100 to 10,000), was 0.97 to 1. For a wavy error, which cancels within the bins,
    it was 0.88 at n = 1,000 and 0.65 at n = 10,000. P-values of calibrated scores were at most
    0.05 in a share of 0.025 to 0.04 of the samples.

    Examples
    --------
    >>> gap = measure_gap(np.full(100, 0.6), np.repeat([1, 0], 50), 0.95)
    >>> round(gap.gap.value, 3), round(gap.error.low, 3), round(gap.error.high, 3)
    (0.1, 0.0, 0.202)
    >>> round(gap.p_value, 3)
    0.054
    """
    index, count = _equal_variance_bins(x)
    gap, error, gap_p_value = _intervals(x, hit, index, count, level)
    total = count_p_value(x, int(hit.sum()))
    return Gap(
        n=len(x),
        mean_score=float(x.mean()),
        frequency=float(hit.mean()),
        gap=gap,
        error=error,
        p_value=_p_value(x, hit, index, count, total),
        gap_p_value=max(total, gap_p_value),
        impossible=count_impossible(x, hit),
    )


def count_impossible(x: Array, hit: Integers) -> int:
    """Count the outcomes that had probability 0: an event at x = 0, or none at x = 1."""
    return int((((x == 0.0) & (hit == 1)) | ((x == 1.0) & (hit == 0))).sum())


def _equal_variance_bins(x: Array) -> tuple[Integers, int]:
    """Return the bin of each row, and the number of bins. Equal scores share a bin."""
    variance = float((x * (1.0 - x)).sum())
    if variance < SPLIT_VARIANCE:
        return np.zeros(len(x), dtype=np.int64), 1
    wanted = int(np.clip(1.3 * np.cbrt(variance), 2, MOST_BINS))
    ordered = np.sort(x)
    total = np.cumsum(ordered * (1.0 - ordered))
    edges = np.unique(ordered[np.searchsorted(total, total[-1] * np.arange(1, wanted) / wanted)])
    _, index = np.unique(np.searchsorted(edges, x, side="left"), return_inverse=True)
    return index, int(index.max()) + 1


def _error_of_one_bin(x: Array, hit: Integers, level: float) -> Interval:
    """Return the L1 error of scores with few expected events, from Clopper and Pearson's limits.

    It is the distance of the mean score from the frequency. Outcomes that had probability 0 are
    errors that cancel no others: their rate is added to the error of the other rows, and then each
    part has half of the error probability.
    """
    n, wrong = len(x), count_impossible(x, hit)
    certain = (x == 0.0) | (x == 1.0)
    if wrong and not certain.all():
        each = 0.5 + level / 2.0
        parts = [_error_of_one_bin(x[rows], hit[rows], each) for rows in (certain, ~certain)]
        shares = certain.mean(), 1.0 - certain.mean()
        value, low, high = (
            sum(float(share * (end or 0.0)) for share, end in zip(shares, ends))
            for ends in zip(*((part.value, part.low, part.high) for part in parts))
        )
        return Interval(value, low, min(high, 1.0), level)
    if wrong:
        return Interval(wrong / n, *clopper_pearson(wrong, n, level), level)
    total = float((hit - x).sum())
    spread = float(((hit - x) ** 2).sum()) - total**2 / n
    variance = max(float((x * (1.0 - x)).sum()), spread * n / max(n - 1, 1))
    low, high = clopper_pearson(int(hit.sum()), n, level)
    mean = float(x.mean())
    distances = abs(mean - low), abs(mean - high)
    nearest = 0.0 if low <= mean <= high else min(distances)
    value = math.sqrt(max(total**2 - variance, 0.0)) / n
    return Interval(float(np.clip(value, nearest, max(distances))), nearest, max(distances), level)


def _intervals(
    x: Array, hit: Integers, index: Integers, count: int, level: float
) -> tuple[Interval, Interval, float]:
    """Return the intervals of the gap (mean score - frequency) and of the L1 error.

    The third result is the p-value that belongs to the interval of the gap.
    """
    n, alpha, residual = len(x), 1.0 - level, hit - x
    sums = np.bincount(index, residual, count)
    sizes = np.bincount(index, minlength=count)
    null = np.bincount(index, x * (1.0 - x), count)
    spread = np.bincount(index, residual**2, count) - sums**2 / sizes
    deviation = np.sqrt(np.maximum(null, spread * sizes / np.maximum(sizes - 1, 1)))
    total, total_sd = float(sums.sum()), float(np.sqrt((deviation**2).sum()))
    value = float(np.sqrt(np.maximum(sums**2 - deviation**2, 0.0)).sum())
    z = float(ndtri(1.0 - alpha / 2.0))

    if min(null.sum(), spread.sum()) < SMALLEST_VARIANCE:
        gap, gap_p_value = rare_gap(x, hit, level), _p_value_of_rare_gap(x, hit)
        if count == 1:
            return gap, _error_of_one_bin(x, hit, level), gap_p_value
    else:
        mean_gap = -total / n + 0.0  # not -0
        gap = Interval(mean_gap, mean_gap - z * total_sd / n, mean_gap + z * total_sd / n, level)
        gap_p_value = 2.0 * float(ndtr(-abs(total) / total_sd))

    absolute = float(np.abs(sums).sum())
    low = max(
        absolute - folded_quantile(deviation, alpha / 4.0),
        abs(total) - float(ndtri(1.0 - alpha / 8.0)) * total_sd,
        0.0,
    )
    high = min((absolute + z * total_sd) / n, 1.0)
    return gap, Interval(max(value, low) / n, low / n, high, level), gap_p_value


def rare_gap(x: Array, hit: Integers, level: float) -> Interval:
    """Return the mean score minus the frequency, with an interval for few events.

    Rows with scores below 1/2 and other rows have exact (Clopper-Pearson) intervals of their
    frequencies. Their distances from the frequencies are combined as independent errors are
    (MOVER, Zou and Donner 2008). If all scores are on one side of 1/2, the interval is exact.

    Examples
    --------
    >>> gap = rare_gap(np.full(100, 0.1), np.zeros(100, int), 0.95)
    >>> round(gap.low, 3), round(gap.high, 3)
    (0.064, 0.1)
    """
    below = above = 0.0
    for rows in (x < 0.5, x >= 0.5):
        size, events = int(rows.sum()), int(hit[rows].sum())
        if size:
            low, high = clopper_pearson(events, size, level)
            below += ((events / size - low) * size / len(x)) ** 2
            above += ((high - events / size) * size / len(x)) ** 2
    value = float(x.mean()) - float(hit.mean())
    return Interval(value, value - math.sqrt(above), value + math.sqrt(below), level)


def _p_value_of_rare_gap(x: Array, hit: Integers) -> float:
    """Return the smallest a for which the interval of `rare_gap` at level 1 - a excludes 0."""
    low, high = math.log(LEAST), 0.0  # of the logarithm of the p-value
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        if rare_gap(x, hit, 1.0 - math.exp(middle)).sign:
            high = middle
        else:
            low = middle
    return math.exp(high)


def folded_quantile(deviation: Array, tail: float) -> float:
    """Return the upper `tail` quantile of sum_b s_b |N_b(0, 1)|, with s_b in `deviation`.

    It uses the Cornish-Fisher expansion, and is exact for one term.

    Examples
    --------
    >>> round(folded_quantile(np.ones(1), 0.05), 2), round(folded_quantile(np.ones(8), 0.05), 2)
    (1.96, 9.35)
    """
    if len(deviation) == 1:
        return float(deviation[0] * ndtri(1.0 - tail / 2.0))
    squares = float((deviation**2).sum())
    variance = (1.0 - 2.0 / np.pi) * squares
    if variance <= 0.0:
        return 0.0
    # Third and fourth cumulants of |N(0, 1)|.
    skew = 0.9952717 * float((deviation**3).sum()) / squares**1.5
    excess = 0.8691773 * float((deviation**4).sum()) / squares**2
    z = float(ndtri(1.0 - tail))
    w = z + (z * z - 1.0) * skew / 6.0 + (z**3 - 3.0 * z) * excess / 24.0
    w -= (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0
    return float(np.sqrt(2.0 / np.pi) * deviation.sum() + w * np.sqrt(variance))


def _p_value(x: Array, hit: Integers, index: Integers, count: int, total: float) -> float:
    """Combine the p-value `total` of the number of all events with those of the bins."""
    if count == 1:
        return total
    each = [count_p_value(x[index == b], int(hit[index == b].sum())) for b in range(count)]
    combined = float(chdtrc(2 * count, -2.0 * np.log(each).sum()))
    return min(1.0, 2.0 * min(total, combined))


def count_p_value(x: Array, count: int) -> float:
    """Return the p-value of `count` events in rows whose events have probabilities x (n,).

    It is twice the smaller tail of the Poisson-binomial distribution, limited to [1e-12, 1].

    Notes
    -----
    The distribution is computed by the discrete Fourier transform of its characteristic function.
    More than 400 rows are grouped by arcsin(sqrt(x)), and each row has the mean probability of its
    group. This increases the variance by at most a factor 1 + 5e-6.

    Examples
    --------
    >>> round(count_p_value(np.array([0.5, 0.5, 0.5]), 3), 6)  # 2 / 8
    0.25
    >>> round(count_p_value(np.array([0.1, 0.2]), 2), 6)  # 2 * 0.1 * 0.2
    0.04
    """
    x, weight = _group_scores(x)
    n, mean, variance = int(weight.sum()), float(weight @ x), float(weight @ (x * (1.0 - x)))
    # Counts outside this range have a probability below 1e-26, by Bernstein's inequality.
    reach = 12.0 * np.sqrt(variance) + 40.0
    first = max(0, int(mean - reach))
    size = 1 << int(np.ceil(np.log2(min(n, int(mean + reach) + 1) - first + 2)))
    t = 2.0 * np.pi * np.arange(size // 2 + 1) / size
    real, imaginary = 1.0 - x[:, None] * (1.0 - np.cos(t)), x[:, None] * np.sin(t)
    with np.errstate(divide="ignore"):
        modulus = 0.5 * (weight @ np.maximum(np.log(real**2 + imaginary**2), -1e4))
    angle = weight @ np.arctan2(imaginary, real) - first * t
    pmf = np.maximum(np.fft.hfft(np.exp(modulus - 1j * angle).conj(), size) / size, 0.0)
    place = count - first
    if not 0 <= place < size:
        return LEAST
    return float(np.clip(2.0 * min(pmf[: place + 1].sum(), pmf[place:].sum()), LEAST, 1.0))


def _group_scores(x: Array) -> tuple[Array, Array]:
    """Return distinct probabilities, and the number of rows with each of them.

    If there are many rows, similar probabilities are replaced by their mean.
    """
    if len(x) <= GRID:
        return x, np.ones(len(x))
    group = np.minimum((np.arcsin(np.sqrt(x)) * (2.0 / np.pi) * GRID).astype(np.intp), GRID - 1)
    weight = np.bincount(group, minlength=GRID).astype(np.float64)
    used = weight > 0.0
    return np.bincount(group, x, GRID)[used] / weight[used], weight[used]


def holm(p_values: Sequence[float], searches: int = 1) -> list[float]:
    """Return Holm's adjusted p-values, multiplied by the number of searches (Bonferroni).

    If the hypotheses with an adjusted p-value of at most a are rejected, the probability of any
    false rejection is at most a / searches.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]), holm([0.01], searches=3)
    ([0.03, 0.06, 0.06], [0.03])
    """
    order = np.argsort(p_values, kind="stable")
    factors = searches * np.arange(len(p_values), 0, -1)
    scaled = factors * np.asarray(p_values, dtype=np.float64)[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted.tolist()


def describe(name: str, gap: Gap, is_off: bool) -> tuple[str, Gap]:
    """Describe the calibration of the class or group `name` in a sentence.

    Return the sentence, and `gap` with the intervals that are shown. They are extended to 0 unless
    `is_off`, which tells if calibration is rejected.
    """
    means = f"mean score {format_share(gap.mean_score)}, frequency {format_share(gap.frequency)}"
    if not is_off:
        gap = replace(gap, gap=gap.gap.with_zero(), error=gap.error.with_zero())
        return f"{name}: no significant error ({means}).", gap
    if gap.gap.sign:
        way = "high" if gap.gap.sign > 0 else "low"
        size = abs(gap.mean_score - gap.frequency)
        return f"{name}: scores are too {way} by {size:.2g} on average ({means}).", gap
    return (
        f"{name}: some scores are too high or low, but no error on average is shown ({means}).",
        gap,
    )


def format_share(x: float) -> str:
    """Format a share with two to five digits, so that only 0 and 1 themselves read '0' and '1'.

    Examples
    --------
    >>> format_share(0.5), format_share(0.0123), format_share(0.00012), format_share(1.0)
    ('0.50', '0.012', '0.00012', '1')
    """
    if 0.1 <= x <= 0.9:
        return f"{x:.2f}"
    if 0.001 <= x <= 0.999:
        return f"{x:.3f}"
    return f"{x:.2g}" if x < 0.5 else f"{x:.5g}"


def worst_first(
    stand_out: Sequence[bool], p_values: Sequence[float], errors: Sequence[float]
) -> list[int]:
    """Return the positions of findings in the order from worst to best.

    Findings that stand out come first, those with the largest error in front. The others follow,
    sorted by p-value.

    Examples
    --------
    >>> worst_first([True, False, True, False], [0.003, 0.4, 0.01, 0.3], [0.1, 0.3, 0.2, 0.0])
    [2, 0, 3, 1]
    """

    def rank(i: int) -> tuple[int, float, float]:
        return (0, -errors[i], 0.0) if stand_out[i] else (1, p_values[i], -errors[i])

    return sorted(range(len(stand_out)), key=rank)
