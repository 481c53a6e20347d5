"""Confidence widths of means, valid at every sample size: what certified bounds are put together from. Natural logarithms."""

from __future__ import annotations

import math

HALVINGS = 200  # at most; they end when the bracket is two neighbouring numbers


def dkw(n: int, delta: float) -> float:
    """sqrt(ln(2/delta) / (2 n)): sup |F - F_n| exceeds it with probability at most delta (Dvoretzky, Kiefer and Wolfowitz, with
    the constant of Massart, 1990). Any law, atoms included."""
    return math.sqrt(math.log(2.0 / delta) / (2.0 * n))


def empirical_bernstein(variance: float, n: int, delta: float) -> float:
    """sqrt(2 s2 ln(2/delta) / n) + 7 ln(2/delta) / (3 (n - 1)), s2 the sample variance with divisor n - 1: the mean of n i.i.d.
    variables in [0, 1] is below its expectation by more with probability at most delta, and likewise above (Maurer and Pontil,
    2009, Theorem 4). Infinite for n < 2."""
    if n < 2:
        return math.inf
    need = math.log(2.0 / delta)
    return math.sqrt(2.0 * variance * need / n) + 7.0 * need / (3.0 * (n - 1))


def kl_upper(q: float, c: float) -> float:
    """sup {p >= q: kl(q || p) <= c}, kl of Bernoulli laws, q cut to [0, 1].

    With c = ln(1/delta) / n it exceeds the expectation of i.i.d. variables in [0, 1] of mean q with probability at least 1 -
    delta (Chernoff's bound; Hoeffding, 1963, eq. 2.1). It grows with q, so that a valid upper bound of the mean may take its
    place."""
    q = min(max(q, 0.0), 1.0)
    return _crossing(q, q, 1.0, c)


def kl_lower(q: float, c: float) -> float:
    """inf {p <= q: kl(q || p) <= c}: the mirror image of `kl_upper`, 1 - kl_upper(1 - q, c) without its rounding."""
    q = min(max(q, 0.0), 1.0)
    return _crossing(q, q, 0.0, c)


def _crossing(q: float, inside: float, outside: float, c: float) -> float:
    """Where kl(q || p), which is 0 at p = q and grows away from it, reaches c as p goes from `inside` to `outside`. The result
    is rounded outwards, so that a bound stays valid; it is `outside` where c is not reached."""
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
    first = 0.0 if q == 0.0 else (math.inf if p == 0.0 else q * math.log(q / p))
    return first + (
        0.0
        if q == 1.0
        else (math.inf if p == 1.0 else (1.0 - q) * (math.log1p(-q) - math.log1p(-p)))
    )
