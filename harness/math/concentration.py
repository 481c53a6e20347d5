"""Confidence widths of means, valid at every sample size, from which certified bounds are built.

Logarithms are natural.
"""

from __future__ import annotations

import math

HALVINGS = 200  # at most; bisection ends when the bracket holds two neighbouring floats


def dkw(n: int, delta: float) -> float:
    """Return sqrt(ln(2/delta) / (2 n)).

    sup |F - F_n| exceeds it with probability at most delta, for any law, atoms included (Dvoretzky,
    Kiefer and Wolfowitz, with the constant of Massart, 1990).
    """
    return math.sqrt(math.log(2.0 / delta) / (2.0 * n))


def empirical_bernstein(variance: float, n: int, delta: float) -> float:
    """Return sqrt(2 s2 ln(2/delta) / n) + 7 ln(2/delta) / (3 (n - 1)), s2 the sample variance.

    s2 has the divisor n - 1. The mean of n i.i.d. variables in [0, 1] is below its expectation by
    more with probability at most delta, and likewise above (Maurer and Pontil, 2009, Theorem 4).
    Infinite for n < 2.
    """
    if n < 2:
        return math.inf
    log_term = math.log(2.0 / delta)
    return math.sqrt(2.0 * variance * log_term / n) + 7.0 * log_term / (3.0 * (n - 1))


def kl_upper(q: float, c: float) -> float:
    """Return sup {p >= q: kl(q || p) <= c}, kl of Bernoulli laws, with q clipped to [0, 1].

    With c = ln(1/delta) / n it exceeds the expectation of i.i.d. variables in [0, 1] of mean q with
    probability at least 1 - delta (Chernoff's bound; Hoeffding, 1963, eq. 2.1). It increases with
    q, so that a valid upper bound of the mean may replace q.
    """
    q = min(max(q, 0.0), 1.0)
    return _crossing(q, q, 1.0, c)


def kl_lower(q: float, c: float) -> float:
    """Return inf {p <= q: kl(q || p) <= c}.

    Equals 1 - kl_upper(1 - q, c) without the rounding error of the subtraction.
    """
    q = min(max(q, 0.0), 1.0)
    return _crossing(q, q, 0.0, c)


def _crossing(q: float, inside: float, outside: float, c: float) -> float:
    """Return the p between `inside` and `outside` at which kl(q || p) reaches c.

    kl(q || p) is 0 at p = q and increases away from it. The result is rounded outwards, so that a
    bound stays valid; it is `outside` if c is not reached.
    """
    if _kl(q, outside) <= c:
        return outside
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        if _kl(q, middle) <= c:
            inside = middle
        else:
            outside = middle
    return outside


def _kl(q: float, p: float) -> float:
    """Return kl(q || p) of Bernoulli laws; infinite where p excludes an outcome that q allows."""
    if (q > 0.0 and p == 0.0) or (q < 1.0 and p == 1.0):
        return math.inf
    first = q * math.log(q / p) if q > 0.0 else 0.0
    second = (1.0 - q) * (math.log1p(-q) - math.log1p(-p)) if q < 1.0 else 0.0
    return first + second
