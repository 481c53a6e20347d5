"""What all certified bounds share: sorted scores, widths, the transfer to the population, and the check of assumptions."""

from __future__ import annotations

import math
import numbers
import weakref
from collections.abc import Collection, Mapping

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, is_positive
from harness.math.concentration import kl_upper
from harness.math.notions import checked


def checked_scores(p, y):
    """p and y as arrays; BadInputError unless p holds scores (n,)."""
    p, y = checked(p, y)
    if p.ndim != 1:
        raise BadInputError(f"p has shape {p.shape}; certified bounds judge scores (n,): reduce it first (harness.reduce).")
    return p, y


def in_order(p, y):
    """Scores in ascending order (n,) and their labels (n,) uint8. They must not be written to.

    One sort orders both: the score's bits are shifted up by one, which loses nothing, as the two highest bits of a number in
    [0, 1] are 0, and the label becomes the lowest bit. The last result is kept as long as p and y live, if they are arrays that
    cannot change, as those of a run are: all bounds of a sample share one sort."""
    if _kept and _kept[0]() is p and _kept[1]() is y:
        return _kept[2]
    packed = (p + 0.0).view(np.uint64)  # + 0.0: a new array, and no -0
    packed <<= np.uint64(1)
    packed |= y.astype(np.uint64)
    packed.sort()
    labels = (packed & np.uint64(1)).astype(np.uint8)
    packed >>= np.uint64(1)
    found = packed.view(np.float64), labels
    _kept.clear()
    if not any(a.flags.writeable or a.base is not None for a in (p, y)):
        _kept.extend((weakref.ref(p, _forget), weakref.ref(y, _forget), found))
    return found


_kept: list = []  # weak references to p and y, and what they are in order


def _forget(_):
    _kept.clear()


def random_folds(n, folds, rng):
    """Independent uniform folds (n,) uint8; not of equal sizes, as shuffling would take as long as the bound itself."""
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, which decides the folds.")
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    return rng.integers(0, folds, n, dtype=np.uint8)


def deviation_width(squares, delta):
    """McDiarmid's width sqrt(ln(1/delta) sum c_i^2 / 2), one-sided, of a function of independent labels that label i moves by at
    most c_i; `squares` is the sum of the c_i^2."""
    return math.sqrt(math.log(1.0 / delta) * squares / 2.0)


def transferred(level, n, empirical, bias, deviation, delta_1, delta_2, **more):
    """The upper bound of CE, kl+(CE_n, ln(1/delta_2) / n), from the one of CE_n, empirical + bias + deviation."""
    before = min(1.0, empirical + bias + deviation)
    diagnostics = {"empirical": empirical, "bias": bias, "deviation": deviation, "before_transfer": before}
    return upper_bound(
        kl_upper(before, math.log(1.0 / delta_2) / n), level, diagnostics, n, delta_1=delta_1, delta_2=delta_2, **more
    )


def from_terms(diagnostics: Mapping[str, float], without: Collection[str] = ()) -> float:
    """The upper bound that an estimate's diagnostics are of, with the terms `without` left out.

        kl+(T, ln(1/delta_2) / n)  or  T,   T = min(1, empirical + bernstein + bias + deviation)

    The first is of bounds with a transfer (`transferred`), unless "transfer" is left out. Of the bias of `TVKfold`, the sum of
    tvb and ptb, either can be left out by itself.
    """
    terms = {name: diagnostics.get(name, 0.0) for name in ("empirical", "bernstein", "bias", "deviation")}
    if "ptb" in diagnostics:
        terms["bernstein"] = diagnostics.get("bernstein", math.inf)  # upper_bound leaves out what is infinite
        left = {"tvb": "ptb", "ptb": "tvb"}
        terms["bias"] = next((diagnostics[left[name]] for name in left if name in without), terms["bias"])
    total = min(1.0, sum(value for name, value in terms.items() if name not in without))
    if "before_transfer" not in diagnostics or "transfer" in without:
        return total
    return kl_upper(total, math.log(1.0 / diagnostics["delta_2"]) / diagnostics["n"])


FULL, ALONE, EMPIRICAL = "all terms", "transfer alone", "empirical term alone"
_BESIDES = ("bernstein", "bias", "deviation")  # the terms besides the empirical one
VARIANTS = {  # the terms left out, and the diagnostic that all bounds have from which they can be
    FULL: ((), "empirical"), "without bias": (("bias",), "bias"), "without TVB": (("tvb",), "ptb"),
    "without PTB": (("ptb",), "ptb"), "without deviation": (("deviation",), "deviation"),
    "without Bernstein": (("bernstein",), "ptb"), "without transfer": (("transfer",), "before_transfer"),
    ALONE: (_BESIDES, "before_transfer"), EMPIRICAL: ((*_BESIDES, "transfer"), "empirical"),
}  # fmt: skip


def ablated(diagnostics: Mapping[str, float], level: float) -> dict[str, float]:
    """{variant: the bound without its terms}, of the VARIANTS that the bound can have; diagnostics of NaN count as absent.

    "transfer alone" is kl+(empirical, ln(1/delta) / n), delta = 1 - level: a bound by itself where the empirical term is CE_n.
    """
    known = {name: value for name, value in diagnostics.items() if value == value}
    alone = {**known, "delta_2": 1.0 - level}
    possible = {variant: left_out for variant, (left_out, name) in VARIANTS.items() if name in known}
    return {variant: from_terms(alone if variant == ALONE else known, terms) for variant, terms in possible.items()}


def upper_bound(high, level, diagnostics, n, **more):
    """The answer of an estimator of an upper bound, with the finite ones of `diagnostics`, `more` and n as its diagnostics."""
    numbers_of = {name: float(v) for name, v in {**diagnostics, **more, "n": n}.items() if math.isfinite(v)}
    return {"l1": Estimate(high, high=high, level=level, kind="upper", diagnostics=numbers_of)}


def assumed_variation(own, problem):
    """V: the estimator's own if it has one, else the problem's; UndefinedError where the problem is known to have more."""
    known = getattr(problem, "variation", None)
    if own is None and known is None:
        raise UndefinedError(
            "variation is null and the problem declares none; give the variation of E[Y given p] that is assumed"
        )
    if own is None:
        return float(known)
    if known is not None and known > own * (1.0 + 1e-9):
        raise UndefinedError(f"the bound assumes a variation of at most {own:g}, but that of this problem is {known:g}")
    return float(own)


def assumed_perturbation(own, problem):
    """h: the estimator's own if it has one, else the problem's; UndefinedError where the problem is known to have less."""
    known = getattr(problem, "perturbation", None)
    declares = hasattr(problem, "perturbation")
    if own is None and known is None:
        raise UndefinedError(
            "h is null and the problem declares no perturbation; give the bandwidth that its scores were perturbed with"
        )
    if own is None:
        return float(known)
    if declares and (known or 0.0) < own * (1.0 - 1e-9):
        found = f"with h = {known:g}" if known else "not at all"
        raise UndefinedError(
            f"the bound assumes scores perturbed with h of at least {own:g}, but those of this problem are {found}"
        )
    return float(own)


def check_level(level):
    if not (isinstance(level, numbers.Real) and 0.0 < level < 1.0):
        raise BadInputError(f"level is {level!r}; a number between 0 and 1 is needed.")


def check_positive(name, value):
    if value is not None and not is_positive(value):
        raise BadInputError(f"{name} is {value!r}; a positive number, or null (what the problem declares), is needed.")


def check_variation(value):
    if value is not None and not (is_positive(value) or value == 0 and not isinstance(value, bool)):
        raise BadInputError(f"variation is {value!r}; a number of at least 0, or null (what the problem declares), is needed.")


def check_folds(folds):
    if not (isinstance(folds, numbers.Integral) and not isinstance(folds, bool) and 2 <= folds <= 255):
        raise BadInputError(f"folds is {folds!r}; an integer from 2 to 255 is needed.")
