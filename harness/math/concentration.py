"""Confidence bounds for means of bounded variables, valid at every sample size.

Certified bounds of the calibration error are built from them. Logarithms are natural.
"""

from __future__ import annotations

import math

HALVINGS = 200  # most bisection steps; bisection ends earlier at two neighbouring floats


def dkw(n: int, delta: float) -> float:
    """Return the width of the DKW confidence band, sqrt(ln(2/delta) / (2 n)).

    The empirical distribution function of n samples differs from the true one by more than this
    width with probability at most delta. This holds for any distribution, also with atoms
    (Dvoretzky, Kiefer and Wolfowitz, with the constant of Massart, 1990).
    """
    return math.sqrt(math.log(2.0 / delta) / (2.0 * n))


def empirical_bernstein(variance: float, n: int, delta: float) -> float:
    """Return the confidence width of a mean of n variables in [0, 1] by Bernstein's inequality.

        sqrt(2 variance ln(2/delta) / n) + 7 ln(2/delta) / (3 (n - 1))

    `variance` is the sample variance with divisor n - 1. The sample mean of i.i.d. variables falls
    below its expectation by more than this width with probability at most delta. It exceeds its
    expectation by more than this width with probability at most delta, too (Maurer and Pontil,
    2009, Theorem 4). The width is infinite for n < 2.
    """
    if n < 2:
        return math.inf
    log_term = math.log(2.0 / delta)
    return math.sqrt(2.0 * variance * log_term / n) + 7.0 * log_term / (3.0 * (n - 1))


def kl_upper(q: float, c: float) -> float:
    """Return the largest p >= q with kl(q || p) <= c, for Bernoulli distributions.

    kl is the Kullback-Leibler divergence. Use the result as an upper bound of the expectation of n
    i.i.d. variables in [0, 1] with sample mean q. With c = ln(1/delta) / n the bound holds with
    probability at least 1 - delta (Chernoff's bound; Hoeffding, 1963, eq. 2.1). q is first clipped
    to [0, 1]. The result increases with q, so an upper bound of the sample mean may replace q.
    """
    q = min(max(q, 0.0), 1.0)
    return _crossing(q, q, 1.0, c)


def kl_lower(q: float, c: float) -> float:
    """Return the smallest p <= q with kl(q || p) <= c, for Bernoulli distributions.

    kl is the Kullback-Leibler divergence. The result equals 1 - kl_upper(1 - q, c), without the
    rounding error of the subtraction. q is first clipped to [0, 1].
    """
    q = min(max(q, 0.0), 1.0)
    return _crossing(q, q, 0.0, c)


def _crossing(q: float, inside: float, outside: float, c: float) -> float:
    """Return the p between `inside` and `outside` at which kl(q || p) reaches c.

    `inside` is q, where kl(q || p) is 0; `outside` is 0 or 1. The result is `outside` if kl stays
    below c. It is rounded towards `outside`, so that a bound stays valid.
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
    """Return the Kullback-Leibler divergence kl(q || p) of two Bernoulli distributions.

    It is infinite if an outcome has probability 0 under p, but not under q.
    """
    if (q > 0.0 and p == 0.0) or (q < 1.0 and p == 1.0):
        return math.inf
    first = q * math.log(q / p) if q > 0.0 else 0.0
    second = (1.0 - q) * (math.log1p(-q) - math.log1p(-p)) if q < 1.0 else 0.0
    return first + second
