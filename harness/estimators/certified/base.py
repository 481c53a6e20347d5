"""Base classes of the certified estimators, and functions that several of them use."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_level, is_positive
from harness.math.concentration import kl_upper
from harness.math.notions import checked_scalars


@dataclass(frozen=True, kw_only=True)
class CertifiedBound:
    """Base of the certified estimators: the level and the properties that all share.

    Parameters
    ----------
    level : float
        Smallest probability with which the bound holds. Formulas write it as 1 - delta.
    """

    level: float = 0.95

    notions = ("binary", "top_label")
    estimands = ("l1",)
    determinism = "rounding"
    seconds = 0.0005

    def __post_init__(self) -> None:
        check_level(self.level)


@dataclass(frozen=True, kw_only=True)
class UpperBound(CertifiedBound):
    """Base of the upper bounds, which depend on an assumption about eta(s) = E[Y given S = s].

    The assumption is one number, such as the largest total variation of eta. A call checks the
    scores, and passes them with the number from `assumption` to `bound`.
    """

    wants = ("problem",)

    def assumption(self, problem: Any) -> float:
        """Return the assumed number. Raise UndefinedError if the problem contradicts it."""
        raise NotImplementedError

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, assumed: float
    ) -> dict[str, Estimate]:
        """Return the bound for checked scores p and labels y, given the assumed number."""
        raise NotImplementedError

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        return self.bound(p, y, rng, self.assumption(problem))


@dataclass(frozen=True, kw_only=True)
class VariationBound(UpperBound):
    """Base of the upper bounds that assume a bounded total variation of eta(s) = E[Y given S = s].

    Parameters
    ----------
    variation : float or None
        V, the assumed bound of the total variation of eta on [0, 1]. V = 1 is right for any
        monotone eta. None takes the variation that the problem declares.

    Raises
    ------
    UndefinedError
        If the problem declares a larger variation, because a false assumption certifies nothing.
    """

    variation: float | None = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        value = self.variation
        if value is not None and not (
            is_positive(value) or value == 0 and not isinstance(value, bool)
        ):
            raise BadInputError(
                f"variation is {value!r}; give a number of at least 0, or null for the variation "
                "that the problem declares."
            )

    def assumption(self, problem: Any) -> float:
        """Return V: the field `variation`, or the variation that the problem declares if None.

        Raise UndefinedError if the problem declares a larger variation than the field.
        """
        declared: float | None = getattr(problem, "variation", None)
        if self.variation is None:
            if declared is None:
                raise UndefinedError(
                    "variation is null and the problem declares no variation; "
                    "give the assumed variation of E[Y given p]"
                )
            return float(declared)
        if declared is not None and declared > self.variation * (1.0 + 1e-9):
            raise UndefinedError(
                f"the bound assumes a variation of at most {self.variation:g}, but this problem "
                f"has a variation of {declared:g}"
            )
        return float(self.variation)


@dataclass(frozen=True, kw_only=True)
class PerturbationBound(UpperBound):
    """Base of the upper bounds that assume perturbed scores, by `harness.perturb`.

    A perturbation of bandwidth h bounds the derivatives of eta(s) = E[Y given S = s]. Scores whose
    eta has such derivatives need no perturbation.

    Parameters
    ----------
    h : float or None
        Bandwidth of the perturbation, or a smaller number. None takes the bandwidth that the
        problem declares.

    Raises
    ------
    UndefinedError
        If the problem declares a smaller bandwidth, because a false assumption certifies nothing.
    """

    h: float | None = 0.015625

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.h is not None and not is_positive(self.h):
            raise BadInputError(
                f"h is {self.h!r}; give a positive number, or null for the bandwidth that the "
                "problem declares."
            )

    def assumption(self, problem: Any) -> float:
        """Return h: the field `h`, or the bandwidth that the problem declares if the field is None.

        Raise UndefinedError if the problem declares a smaller bandwidth than the field.
        """
        declared: float | None = getattr(problem, "perturbation", None)
        if self.h is None:
            if declared is None:
                raise UndefinedError(
                    "h is null and the problem declares no perturbation; give the bandwidth of the "
                    "perturbation of its scores"
                )
            return float(declared)
        if hasattr(problem, "perturbation") and (declared or 0.0) < self.h * (1.0 - 1e-9):
            actual = f"are perturbed with h = {declared:g}" if declared else "are not perturbed"
            raise UndefinedError(
                f"the bound assumes scores perturbed with h of at least {self.h:g}, but the scores "
                f"of this problem {actual}"
            )
        return float(self.h)


def sort_by_score(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores in ascending order, (n,), and their labels, (n,) of uint8.

    Labels of equal scores ascend. Folds are assigned by position, so that the result would
    otherwise depend on the order of the input.
    """
    order = np.argsort(p)
    scores = p[order]
    if (scores[1:] == scores[:-1]).any():
        order = np.lexsort((y, p))  # four times slower than argsort
        scores = p[order]
    return scores, y[order].astype(np.uint8)


def random_folds(n: int, folds: int, rng: np.random.Generator | None) -> np.ndarray:
    """Return a fold for each of n samples, drawn independently and uniformly: (n,) of uint8.

    The folds have unequal sizes. Equal sizes would need a shuffle, which takes as long as the bound
    itself.
    """
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, which decides the folds.")
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    return rng.integers(0, folds, n, dtype=np.uint8)


def deviation_width(squares: float, delta: float) -> float:
    """Return sqrt(ln(1/delta) squares / 2), the width of McDiarmid's one-sided inequality.

    A function of independent labels exceeds its mean by more than this width with a probability of
    at most delta. `squares` is sum_i c_i^2, where label i changes the function by at most c_i.
    """
    return math.sqrt(math.log(1.0 / delta) * squares / 2.0)


def transfer_bound(
    level: float,
    n: int,
    empirical: float,
    bias: float,
    deviation: float,
    delta_1: float,
    delta_2: float,
    **more: float,
) -> dict[str, Estimate]:
    """Return the estimate kl+(empirical + bias + deviation, ln(1/delta_2) / n), a bound of CE.

    CE = E |eta(S) - S| is the calibration error. The sum of the three terms bounds its mean over
    the n scores of the sample with probability 1 - delta_1. kl+(q, c) is the largest a with
    kl(q || a) <= c. `more` are further diagnostics.
    """
    before = min(1.0, empirical + bias + deviation)
    parts = {
        "empirical": empirical,
        "bias": bias,
        "deviation": deviation,
        "before_transfer": before,
    }
    high = kl_upper(before, math.log(1.0 / delta_2) / n)
    return upper_bound(high, level, parts, n, delta_1=delta_1, delta_2=delta_2, **more)


def upper_bound(
    high: float, level: float, diagnostics: Mapping[str, float], n: int, **more: float
) -> dict[str, Estimate]:
    """Return {"l1": Estimate} for an upper bound `high` at `level`.

    The diagnostics of the estimate are `diagnostics`, `more` and n, without infinite values.
    """
    finite = {
        name: float(v) for name, v in {**diagnostics, **more, "n": n}.items() if math.isfinite(v)
    }
    return {"l1": Estimate(high, high=high, level=level, kind="upper", diagnostics=finite)}


def check_folds(folds: int) -> None:
    """Raise BadInputError unless `folds` is an integer from 2 to 255."""
    if not (
        isinstance(folds, numbers.Integral) and not isinstance(folds, bool) and 2 <= folds <= 255
    ):
        raise BadInputError(f"folds is {folds!r}; an integer from 2 to 255 is needed.")
