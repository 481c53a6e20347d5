"""Two-sided certified interval of the L1 error."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, EstimatorSpec
from harness.estimators.certified.base import CertifiedBound
from harness.estimators.certified.lower import LowerPreq
from harness.estimators.certified.rank_window import BVWindow
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class CertifiedInterval(CertifiedBound):
    """Two-sided interval of the L1 error from a lower bound and several upper bounds.

        low   the bound of `LowerPreq` at level 1 - delta / 2
        high  the smallest of the K upper bounds, each at level 1 - delta / (2 K)

    with delta = 1 - level. The value of the estimate is the middle of the interval. The interval
    makes the assumptions of all its upper bounds; the lower bound makes none.

    Parameters
    ----------
    uppers : tuple of estimators
        The upper bounds of l1, which must have a field `level`. An empty tuple means `BVWindow`
        alone, which assumes a total variation of at most 1.

    Raises
    ------
    UndefinedError
        If low is above high. If the assumptions were true, this would have a probability of at most
        delta, so that the assumptions are refuted.

    Notes
    -----
    Estimand: l1. Determinism: statistical. Cost: the sum of the costs of all bounds.

    References
    ----------
    Derived for this project (experiments/ciosek2026/NOTES.md).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> e = CertifiedInterval()(p, y, rng)["l1"]
    >>> round(e.low, 2), round(e.high, 2)
    (0.15, 0.21)
    """

    uppers: tuple[Any, ...] = ()

    determinism = "statistical"
    wants = ("problem",)
    # On calibrated samples the interval begins at 0, and its middle, the value, is above 0.
    null_bias: ClassVar[float] = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        good = isinstance(self.uppers, (tuple, list)) and all(
            hasattr(u, "level") and callable(u) for u in self.uppers
        )
        if not good:
            raise BadInputError(
                f"uppers is {self.uppers!r}; give a list of estimators that each have a level."
            )

    @property
    def revision(self) -> tuple[Any, ...]:
        """The revisions of the interval itself and of all bounds that it consists of."""
        return (1, LowerPreq.revision, *(EstimatorSpec.of(u).revision for u in self._uppers))

    @property
    def _uppers(self) -> tuple[Any, ...]:
        return tuple(self.uppers) or (BVWindow(),)

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        delta = 1.0 - self.level
        lower = LowerPreq(level=1.0 - delta / 2.0)(p, y, rng)["l1"]
        bounds = []
        for upper in self._uppers:
            bound = dataclasses.replace(upper, level=1.0 - delta / (2.0 * len(self._uppers)))
            keywords = {"problem": problem} if "problem" in EstimatorSpec.of(bound).wants else {}
            e = bound(p, y, rng, **keywords)["l1"]
            if e.kind != "upper":
                raise BadInputError(
                    f"uppers holds {type(upper).__name__}, whose estimate has kind {e.kind}; give "
                    "estimators of upper bounds."
                )
            bounds.append(e)
        least = min(bounds, key=lambda e: e.high)
        low, high = float(lower.low or 0.0), least.value
        if low > high:
            raise UndefinedError(
                f"the lower bound {low:.4g}, which assumes nothing, is above the upper bound "
                f"{high:.4g}: the assumption of the upper bound is refuted at level {self.level:g}"
            )
        diagnostics = {f"lower_{k}": v for k, v in (lower.diagnostics or {}).items()}
        diagnostics |= {**(least.diagnostics or {}), "lower": low, "upper": high}
        return {"l1": Estimate((low + high) / 2.0, low, high, self.level, "interval", diagnostics)}
