"""Two-sided certified interval."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, EstimatorSpec
from harness.estimators.certified.base import CertifiedBound, checked_scores
from harness.estimators.certified.lower import LowerPreq
from harness.estimators.certified.rank_window import BVWindow


@dataclass(frozen=True)
class CertifiedInterval(CertifiedBound):
    """Two-sided interval of the L1 error from a lower and several upper bounds [D].

        [ LowerPreq(delta / 2), smallest of the upper bounds, each at delta / (2 len(uppers)) ]

    The value is the middle. Its assumptions are those of the upper bounds.

    Parameters
    ----------
    uppers : tuple of estimators
        Upper bounds of l1, with a field `level`. Empty means `BVWindow` alone, which assumes
        TV(eta) <= 1.

    Raises
    ------
    UndefinedError
        If the ends cross. Under the assumptions that has a probability of at most delta: they are
        refuted.

    Notes
    -----
    Estimand: l1. Determinism: statistical. Cost: the sum of its bounds.

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
    null_bias: ClassVar[float] = 0.3  # the value is the middle of an interval that begins at 0

    def __post_init__(self) -> None:
        super().__post_init__()
        good = isinstance(self.uppers, (tuple, list)) and all(
            hasattr(u, "level") and callable(u) for u in self.uppers
        )
        if not good:
            raise BadInputError(
                f"uppers is {self.uppers!r}; a list of estimators of upper bounds is needed."
            )

    @property
    def revision(self) -> tuple[Any, ...]:
        """Changes with the revisions of the bounds inside."""
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
        p, y = checked_scores(p, y)
        delta = 1.0 - self.level
        lower = LowerPreq(level=1.0 - delta / 2.0)(p, y, rng)["l1"]
        bounds = []
        for upper in self._uppers:
            bound = dataclasses.replace(upper, level=1.0 - delta / (2.0 * len(self._uppers)))
            keywords = {"problem": problem} if "problem" in EstimatorSpec.of(bound).wants else {}
            e = bound(p, y, rng, **keywords)["l1"]
            if e.kind != "upper":
                raise BadInputError(
                    f"uppers holds {type(upper).__name__}, which gives no upper bound."
                )
            bounds.append(e)
        least = min(bounds, key=lambda e: e.high)
        low, high = float(lower.low or 0.0), least.value
        if low > high:
            raise UndefinedError(
                f"the lower bound {low:.4g}, which assumes nothing, is above the upper bound "
                f"{high:.4g}: the latter's assumption is refuted at level {self.level:g}"
            )
        diagnostics = {f"lower_{k}": v for k, v in (lower.diagnostics or {}).items()}
        diagnostics |= {**(least.diagnostics or {}), "lower": low, "upper": high}
        return {"l1": Estimate((low + high) / 2.0, low, high, self.level, "interval", diagnostics)}
