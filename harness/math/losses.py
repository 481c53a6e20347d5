"""Losses: per-sample contributions whose mean over held-out samples is the variational estimate.

For a prediction f, a recalibrated q fitted on other samples, and the outcome y (berta2026, eq. 6
and Prop. 1),

    contribution = loss_f(f, y) - loss_f(q, y)
    E[contribution] <= E[d(f, C)], with equality at q = C.

f, q: (n,) with y (n,) in {0, 1} as floats (scalar notions), or (n, k) with one-hot y (canonical).
`pivot` as in `estimands.pivot`: it separates over- from underconfidence. `least(scalar)` is a
lower bound of every contribution; with it, bounded terms give a confidence bound
(math.fold_confidence). A loss with unbounded terms has a method `for_bound` that replaces
`contribution` for that purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from harness.errors import BadInputError
from harness.math.estimands import norm_name, p_norm


@dataclass(frozen=True)
class Lp:
    """Loss of the error E ||f - C||_p for p in [1, inf] (Prop. 1).

        contribution = <u, y - f>
        u = sign(delta) |delta|^(p-1) / ||delta||_p^(p-1),   delta = q - f

    and u = 0 where q = f; p = inf takes u = sign(delta_j) at the first j of largest |delta_j|. A
    contribution lies in [-2^(1/p), 2^(1/p)] (canonical) or [-1, 1] (scalar, where all p agree).
    """

    p: float = 1.0

    def __post_init__(self) -> None:
        if not self.p >= 1.0:
            raise BadInputError(f"p is {self.p}; an Lp norm needs p >= 1 (or inf).")

    @property
    def name(self) -> str:
        return norm_name(float(self.p))

    def least(self, scalar: bool) -> float:
        return -1.0 if scalar else -(2.0 ** (1.0 / self.p))

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        delta = q - f
        if delta.ndim == 1:
            return np.sign(delta) * (y - f)
        if np.isinf(self.p):
            rows, j = np.arange(len(delta)), np.abs(delta).argmax(axis=1)
            return np.sign(delta[rows, j]) * (y - f)[rows, j]
        if self.p == 1.0:
            return (np.sign(delta) * (y - f)).sum(axis=1)
        norm = p_norm(delta, self.p)[:, None]
        ratio = np.divide(np.abs(delta), norm, out=np.zeros_like(delta), where=norm > 0)
        return (np.sign(delta) * ratio ** (self.p - 1.0) * (y - f)).sum(axis=1)


@dataclass(frozen=True)
class Squared:
    """Brier loss ||f - y||^2 - ||q - y||^2, which estimates l2_squared.

    One column for scalars, the sum over classes for canonical.
    """

    name = "l2_squared"

    def least(self, scalar: bool) -> float:
        return -1.0 if scalar else -2.0

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        d = (f - q) * (f + q - 2.0 * y)
        return d if d.ndim == 1 else d.sum(axis=1)


HEDGE = 0.1  # share of f mixed into q for the bound, so that a contribution is at least log(HEDGE)


@dataclass(frozen=True)
class LogLoss:
    """Log-loss log q_y - log f_y, which estimates E KL(C || f).

    q is clipped to [floor, 1 - floor], since a fitted zero would make the estimate minus infinity.
    The lower bound still holds up to k * floor. f is not clipped: an outcome of predicted
    probability 0 makes the estimate infinite, and it is recorded as undefined.
    """

    floor: float = 1e-8
    name = "kl"

    def least(self, scalar: bool) -> float:
        return float(np.log(HEDGE))

    def for_bound(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        """Return the contribution of (1 - w) q + w f with w = 0.1, which is at least log w.

        This mixture is a recalibration map too.
        """
        f, q = _outcome_probability(f, y), _outcome_probability(q, y)
        with np.errstate(over="ignore"):  # q over a denormal f: infinite, as over 0
            ratio = np.divide(q, f, out=np.full_like(q, np.inf), where=f > 0.0)
        return np.log((1.0 - HEDGE) * ratio + HEDGE)

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        q = np.clip(q, self.floor, 1.0 - self.floor)
        with np.errstate(divide="ignore"):
            return np.log(_outcome_probability(q, y)) - np.log(_outcome_probability(f, y))


def _outcome_probability(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the predicted probability of the outcome that occurred, (n,)."""
    return np.where(y > 0.5, p, 1.0 - p) if p.ndim == 1 else (p * y).sum(axis=1)


@dataclass(frozen=True)
class OneSided:
    """`loss` with q kept on one side of f (berta2026, Appendix C).

    `over` allows only recalibration towards the pivot, `under` only away from it; f equal to the
    pivot contributes 0. For L1, over + under = total, sample by sample.
    """

    loss: Lp | Squared = field(default_factory=Lp)
    side: str = "over"

    def __post_init__(self) -> None:
        if self.side not in ("over", "under"):
            raise BadInputError(f"side is {self.side!r}; allowed are 'over' and 'under'.")

    @property
    def name(self) -> str:
        return f"{self.loss.name}_{self.side}"

    def least(self, scalar: bool) -> float:
        return self.loss.least(True)

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        if f.ndim != 1:
            raise BadInputError(
                f"f has shape {f.shape}; over- and underconfidence need one probability per sample "
                "(n,). For vectors wrap the loss in TopClass."
            )
        return self.loss.contribution(f, self._one_sided(f, q, pivot), y, pivot)

    def for_bound(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        return _for_bound(self.loss)(f, self._one_sided(f, q, pivot), y, pivot)

    def _one_sided(self, f: np.ndarray, q: np.ndarray, pivot: float) -> np.ndarray:
        """Return q clipped to the allowed side of f."""
        smaller = (f > pivot) == (self.side == "over")
        return np.where(f == pivot, f, np.where(smaller, np.minimum(q, f), np.maximum(q, f)))


@dataclass(frozen=True)
class TopClass:
    """`loss` on the top class t = argmax f: the scalars f_t, q_t and 1{Y = t}.

    q is still fitted on the whole vector, so that C_t is conditional on the whole vector. Over- and
    underconfidence go by the sign of f_t - C_t.
    """

    loss: Lp | Squared | OneSided = field(default_factory=Lp)

    @property
    def name(self) -> str:
        return f"top_class_{self.loss.name}"

    def least(self, scalar: bool) -> float:
        return self.loss.least(True)

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        return self.loss.contribution(*self._top(f, q, y), pivot=-1.0)

    def for_bound(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        return _for_bound(self.loss)(*self._top(f, q, y), pivot=-1.0)

    def _top(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return f_t, q_t and y_t of the top class t = argmax f, (n,) each."""
        rows, top = np.arange(len(f)), f.argmax(axis=1)
        return f[rows, top], q[rows, top], y[rows, top]


def _for_bound(loss: Lp | Squared | OneSided) -> Callable[..., np.ndarray]:
    """Return the contribution that confidence bounds are computed from."""
    return getattr(loss, "for_bound", loss.contribution)


SCALAR_LOSSES = (
    Lp(1.0), Squared(), LogLoss(), OneSided(Lp(1.0), "over"), OneSided(Lp(1.0), "under"),
    OneSided(Squared(), "over"), OneSided(Squared(), "under"),
)  # fmt: skip
CANONICAL_LOSSES = (
    Lp(1.0), Lp(2.0), Lp(np.inf), Squared(), LogLoss(), TopClass(Lp(1.0)),
    TopClass(OneSided(Lp(1.0), "over")), TopClass(OneSided(Lp(1.0), "under")),
)  # fmt: skip
