"""Bases of the certified estimators, with shared steps: sorted scores, widths, the transfer."""

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
from harness.math.notions import checked


@dataclass(frozen=True, kw_only=True)
class CertifiedBound:
    """Base of the certified estimators: the level and the common properties.

    Parameters
    ----------
    level : float
        1 - delta: the bound holds with at least this probability.
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
    """Base of the upper bounds: scores are checked, and one number is assumed about eta."""

    wants = ("problem",)

    def assumption(self, problem: Any) -> float:
        """Return the number that is assumed; UndefinedError if the problem contradicts it."""
        raise NotImplementedError

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, assumed: float
    ) -> dict[str, Estimate]:
        """Return the bound of checked scores and labels under the assumption."""
        raise NotImplementedError

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        p, y = checked_scores(p, y)
        return self.bound(p, y, rng, self.assumption(problem))


@dataclass(frozen=True, kw_only=True)
class VariationBound(UpperBound):
    """Base of the upper bounds that assume TV(eta) <= variation.

    Parameters
    ----------
    variation : float or None
        V, the assumed bound of the total variation of eta on [0, 1] (1 for any monotone eta); None
        uses the one that the problem declares.

    Raises
    ------
    UndefinedError
        If the problem is known to have a larger variation: a false assumption certifies nothing.
    """

    variation: float | None = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        value = self.variation
        if value is not None and not (
            is_positive(value) or value == 0 and not isinstance(value, bool)
        ):
            raise BadInputError(
                f"variation is {value!r}; a number of at least 0, or null (use the problem's), is "
                "needed."
            )

    def assumption(self, problem: Any) -> float:
        """Return V: the estimator's field, or the problem's variation if the field is None.

        UndefinedError if the problem is known to have more.
        """
        declared: float | None = getattr(problem, "variation", None)
        if self.variation is None:
            if declared is None:
                raise UndefinedError(
                    "variation is null and the problem declares none; "
                    "give the assumed variation of E[Y given p]"
                )
            return float(declared)
        if declared is not None and declared > self.variation * (1.0 + 1e-9):
            raise UndefinedError(
                f"the bound assumes a variation of at most {self.variation:g}, but that of this "
                f"problem is {declared:g}"
            )
        return float(self.variation)


@dataclass(frozen=True, kw_only=True)
class PerturbationBound(UpperBound):
    """Base of the upper bounds that assume perturbed scores (`harness.perturb`), or a smooth eta.

    Parameters
    ----------
    h : float or None
        Smallest bandwidth with which the scores were perturbed; None uses the one that the problem
        declares.

    Raises
    ------
    UndefinedError
        If the problem declares a smaller perturbation: a false assumption certifies nothing.
    """

    h: float | None = 0.015625

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.h is not None and not is_positive(self.h):
            raise BadInputError(
                f"h is {self.h!r}; a positive number, or null (use the problem's), is needed."
            )

    def assumption(self, problem: Any) -> float:
        """Return h: the estimator's field, or the problem's perturbation if the field is None.

        UndefinedError if the problem is known to have less.
        """
        declared: float | None = getattr(problem, "perturbation", None)
        if self.h is None:
            if declared is None:
                raise UndefinedError(
                    "h is null and the problem declares no perturbation; give the bandwidth with "
                    "which its scores were perturbed"
                )
            return float(declared)
        if hasattr(problem, "perturbation") and (declared or 0.0) < self.h * (1.0 - 1e-9):
            actual = f"with h = {declared:g}" if declared else "not at all"
            raise UndefinedError(
                f"the bound assumes scores perturbed with h of at least {self.h:g}, but those of "
                f"this problem are {actual}"
            )
        return float(self.h)


def checked_scores(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p and y as arrays; BadInputError unless p holds scores (n,)."""
    p, y = checked(p, y)
    if p.ndim != 1:
        raise BadInputError(
            f"p has shape {p.shape}; certified bounds need scores (n,): call harness.reduce first."
        )
    return p, y


def in_order(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return scores in ascending order (n,) and their labels (n,) uint8.

    Labels of equal scores ascend: folds are dealt by position, so that ties need a fixed order.
    """
    order = np.argsort(p)
    scores = p[order]
    if (scores[1:] == scores[:-1]).any():
        order = np.lexsort((y, p))  # four times slower
        scores = p[order]
    return scores, y[order].astype(np.uint8)


def random_folds(n: int, folds: int, rng: np.random.Generator | None) -> np.ndarray:
    """Return independent uniform folds (n,) uint8.

    Their sizes differ, because shuffling would take as long as the bound itself.
    """
    if rng is None:
        raise BadInputError("rng is missing; give a numpy Generator, which decides the folds.")
    if n < folds:
        raise UndefinedError(f"{n} samples cannot be split into {folds} folds")
    return rng.integers(0, folds, n, dtype=np.uint8)


def deviation_width(squares: float, delta: float) -> float:
    """Return McDiarmid's one-sided width sqrt(ln(1/delta) sum c_i^2 / 2).

    It holds for a function of independent labels that label i changes by at most c_i; `squares` is
    the sum of the c_i^2.
    """
    return math.sqrt(math.log(1.0 / delta) * squares / 2.0)


def transferred(
    level: float,
    n: int,
    empirical: float,
    bias: float,
    deviation: float,
    delta_1: float,
    delta_2: float,
    **more: float,
) -> dict[str, Estimate]:
    """Return the upper bound of CE from that of CE_n, empirical + bias + deviation.

    It is kl+(CE_n, ln(1/delta_2) / n).
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
    """Return the result of an estimator of an upper bound.

    Its diagnostics are the finite ones of `diagnostics`, `more` and n.
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
