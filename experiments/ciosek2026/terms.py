"""Certified upper bounds without some of their terms, computed from the diagnostics of a bound.

The diagnostics of an estimate hold the terms of its bound:

    empirical        mean distance of the surrogate from the scores
    bernstein        deviation of that mean
    bias, deviation  bound of the distance of the surrogate from eta(s) = E[Y | score s]
    tvb, ptb         the two parts of the bias of `TVKfold`: on the sample, and its transfer to the
                     population
    before_transfer  the bound on the sample, before its transfer to the population
    delta_2, n       failure probability of that transfer, and the number of samples
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from harness.math.concentration import kl_upper

FULL, ALONE, EMPIRICAL = "all terms", "transfer alone", "empirical term alone"
_OTHER_TERMS = ("bernstein", "bias", "deviation")  # all terms but the empirical one
VARIANTS = {  # {variant: (terms left out, a diagnostic of all bounds that have these terms)}
    FULL: ((), "empirical"),
    "without bias": (("bias",), "bias"),
    "without TVB": (("tvb",), "ptb"),
    "without PTB": (("ptb",), "ptb"),
    "without deviation": (("deviation",), "deviation"),
    "without Bernstein": (("bernstein",), "ptb"),
    "without transfer": (("transfer",), "before_transfer"),
    ALONE: (_OTHER_TERMS, "before_transfer"),
    EMPIRICAL: ((*_OTHER_TERMS, "transfer"), "empirical"),
}


def from_terms(diagnostics: Mapping[str, float], without: Collection[str] = ()) -> float:
    """Return an upper bound without some of its terms, computed from its diagnostics.

        T = min(1, empirical + bernstein + bias + deviation)
        bound = kl+(T, ln(1 / delta_2) / n) with a transfer to the population, else T

    `without` holds the names of the terms to leave out; "transfer" leaves out kl+. The module names
    the diagnostics, and `harness.math.concentration.kl_upper` is kl+.
    """
    terms = {n: diagnostics.get(n, 0.0) for n in ("empirical", "bernstein", "bias", "deviation")}
    if "ptb" in diagnostics:
        # An infinite width is missing from the diagnostics.
        terms["bernstein"] = diagnostics.get("bernstein", math.inf)
        other = {"tvb": "ptb", "ptb": "tvb"}
        terms["bias"] = next((diagnostics[other[n]] for n in other if n in without), terms["bias"])
    total = min(1.0, sum(value for name, value in terms.items() if name not in without))
    if "before_transfer" not in diagnostics or "transfer" in without:
        return total
    return kl_upper(total, math.log(1.0 / diagnostics["delta_2"]) / diagnostics["n"])


def ablated(diagnostics: Mapping[str, float], level: float) -> dict[str, float]:
    """Return {variant of VARIANTS: the bound without the terms that the variant leaves out}.

    Variants are only those whose terms the bound has. Diagnostics of NaN count as absent.
    "transfer alone" is kl+(empirical, ln(1 / delta) / n) with delta = 1 - level. It is a valid
    bound if the empirical term is the calibration error on the sample.
    """
    finite = {name: value for name, value in diagnostics.items() if not math.isnan(value)}
    alone = {**finite, "delta_2": 1.0 - level}
    possible = {v: left_out for v, (left_out, name) in VARIANTS.items() if name in finite}
    return {
        v: from_terms(alone if v == ALONE else finite, left_out) for v, left_out in possible.items()
    }
