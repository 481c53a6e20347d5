"""Certified upper bounds computed again from their diagnostics, with terms left out."""

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
    """Compute an upper bound from its diagnostics, with the terms `without` left out.

        kl+(T, ln(1/delta_2) / n)  or  T,   T = min(1, empirical + bernstein + bias + deviation)

    The first form is for bounds with a transfer to the population, unless "transfer" is left out.
    The bias of `TVKfold` is the sum of tvb and ptb; either can be left out by itself.
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
    """Return {variant: bound without the terms of the variant} for the terms that it has.

    Diagnostics of NaN count as absent. "transfer alone" is kl+(empirical, ln(1/delta) / n), delta =
    1 - level. It is a bound by itself where the empirical term is CE_n.
    """
    finite = {name: value for name, value in diagnostics.items() if not math.isnan(value)}
    alone = {**finite, "delta_2": 1.0 - level}
    possible = {v: left_out for v, (left_out, name) in VARIANTS.items() if name in finite}
    return {
        v: from_terms(alone if v == ALONE else finite, left_out) for v, left_out in possible.items()
    }
