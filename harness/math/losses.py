"""Losses whose contributions per sample average to the variational estimate.

Notation: f is the prediction, y the outcome and C = E[y given f]. q is a recalibrated prediction
that was fitted on other samples. The contribution of a sample is (berta2026, eq. 6 and Prop. 1)

    contribution = loss_f(f, y) - loss_f(q, y)
    E[contribution] <= E[d(f, C)], with equality at q = C.

Each loss defines its distance d. The mean contribution therefore estimates E[d(f, C)] from below.

Shapes:

* scalar notions: f, q (n,), and y (n,) with values 0 and 1 as floats
* canonical notion: f, q (n, k), and one-hot y (n, k)

Every loss has these members:

* `name`: the estimand.
* `contribution(f, q, y, pivot)`: the contributions, shape (n,). `pivot` separates overconfidence
  from underconfidence (see `estimands.pivot`).
* `least(scalar)`: a lower bound of all contributions, needed for confidence bounds
  (harness.math.fold_confidence).
* `for_bound` (only if contributions are unbounded): replaces `contribution` in confidence bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from harness.errors import BadInputError
from harness.math.divergences import Bregman
from harness.math.estimands import norm_name, p_norm


@dataclass(frozen=True)
class Lp:
    """Loss of the error E ||f - C||_p for p in [1, inf] (berta2026, Prop. 1).

    f is the prediction, q the recalibrated prediction, y the outcome and C = E[y given f].

        contribution = <u, y - f>
        u = sign(delta) |delta|^(p-1) / ||delta||_p^(p-1),   delta = q - f

    u is 0 where q = f. For p = inf, u is sign(delta_j) in the first column j with the largest
    |delta_j|, and 0 elsewhere. A contribution lies in [-2^(1/p), 2^(1/p)] for vectors. For scalars
    it lies in [-1, 1], and all p give the same loss.
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
    """Brier loss, which estimates the squared error E ||f - C||^2 (`l2_squared`).

    f is the prediction, q the recalibrated prediction, y the outcome and C = E[y given f].

        contribution = ||f - y||^2 - ||q - y||^2

    For vectors the squares are summed over the classes. For scalars there is a single square.
    """

    name = "l2_squared"

    def least(self, scalar: bool) -> float:
        return -1.0 if scalar else -2.0

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        d = (f - q) * (f + q - 2.0 * y)
        return d if d.ndim == 1 else d.sum(axis=1)


# Share of f that confidence bounds mix into q. Every contribution is then at least log(HEDGE).
HEDGE = 0.1


@dataclass(frozen=True)
class LogLoss:
    """Log-loss, which estimates the Kullback-Leibler error E KL(C || f).

    f is the prediction, q the recalibrated prediction, y the outcome and C = E[y given f].

        contribution = log q_y - log f_y

    q is clipped to [floor, 1 - floor], where `floor` is a field of the loss. A fitted probability
    of 0 would make the estimate minus infinity. With k classes, the expected estimate may then
    exceed the error by k * floor. f is not clipped. If an outcome has predicted
    probability 0, the estimate is infinite and recorded as undefined.
    """

    floor: float = 1e-8
    name = "kl"

    def least(self, scalar: bool) -> float:
        return float(np.log(HEDGE))

    def for_bound(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        """Return contributions that are at least log(0.1), for confidence bounds.

        They are those of the mixture 0.9 q + 0.1 f of the recalibrated prediction q and the
        prediction f. The mixture is a recalibrated prediction too.
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
    """Return the probability that p predicts for the outcome y, shape (n,)."""
    return np.where(y > 0.5, p, 1.0 - p) if p.ndim == 1 else (p * y).sum(axis=1)


@dataclass(frozen=True)
class Distance:
    """Loss of the error E d(f, C) of a distance of your own (berta2026, Prop. 2).

    f is the prediction, q the recalibrated prediction, y the outcome and C = E[y given f].

        contribution = d(f, q) + <grad d(f, q), y - q>,   0 where q = f

    The gradient is with respect to q. d(f, .) must be convex, and 0 only at q = f. The mean
    contribution then estimates E d(f, C) from below. The condition is not checked.

    Parameters
    ----------
    name : str
        Name of the estimand, distance_<name>.
    value : callable
        The function (f, q) -> d(f, q), from arrays (n, k) or (n,) to (n,).
    gradient : callable
        The function (f, q) -> gradient of d(f, q) with respect to q, shaped like q. It is not used
        where q = f.

    Examples
    --------
    >>> import harness
    >>> from harness.estimators import Variational
    >>> quartic = Distance(
    ...     "distance_quartic", lambda f, q: (q - f) ** 4, lambda f, q: 4.0 * (q - f) ** 3
    ... )
    >>> p, y = harness.load_problem("beta_overconfident").sample(2000, np.random.default_rng(0))
    >>> e = Variational(losses=(quartic,))(p, y, np.random.default_rng(1))["distance_quartic"]
    >>> round(e.value, 4)
    0.0015
    """

    name: str
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and re.fullmatch(r"distance_\w+", self.name)):
            raise BadInputError(f"name is {self.name!r}; name the estimand distance_<name>.")

    @classmethod
    def of_bregman(cls, name: str, generator: Bregman) -> Distance:
        """Return the distance d(f, q) = D_F(q, f) of a Bregman divergence, for vectors."""
        return cls(
            name,
            lambda f, q: generator.divergence(q, f),
            lambda f, q: generator.gradient(q) - generator.gradient(f),
        )

    def contribution(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        moved = q != f if f.ndim == 1 else (q != f).any(axis=1)
        x = np.zeros(len(f))
        f, q, y = f[moved], q[moved], y[moved]
        slope = self.gradient(f, q) * (y - q)
        x[moved] = self.value(f, q) + (slope if f.ndim == 1 else slope.sum(axis=1))
        return x


@dataclass(frozen=True)
class OneSided:
    """Part of `loss` that is due to overconfidence or to underconfidence (berta2026, Appendix C).

    The recalibrated q is clipped so that it lies on one side of the prediction f. With side "over",
    q may only lie nearer to the pivot than f; with side "under", only farther from it. Samples with
    f equal to the pivot contribute 0. For L1, the contributions of both sides add up to the total
    in every sample.
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
                f"f has shape {f.shape}; over- and underconfidence need one probability per "
                "sample, shape (n,). For vectors, wrap the loss in TopClass."
            )
        return self.loss.contribution(f, self._one_sided(f, q, pivot), y, pivot)

    def for_bound(
        self, f: np.ndarray, q: np.ndarray, y: np.ndarray, pivot: float = 0.5
    ) -> np.ndarray:
        return _for_bound(self.loss)(f, self._one_sided(f, q, pivot), y, pivot)

    def _one_sided(self, f: np.ndarray, q: np.ndarray, pivot: float) -> np.ndarray:
        """Return recalibrated predictions q (n,), clipped to the allowed side of predictions f."""
        smaller = (f > pivot) == (self.side == "over")
        return np.where(f == pivot, f, np.where(smaller, np.minimum(q, f), np.maximum(q, f)))


@dataclass(frozen=True)
class TopClass:
    """`loss` applied to the probability of the top class t = argmax f.

    The loss sees the scalars f_t, q_t and 1{Y = t}. q is still fitted on the whole vector f, so the
    truth is P(Y = t given f). A prediction is overconfident where f_t exceeds this truth.
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
        """Return the columns f_t, q_t and y_t of the top class t = argmax f, each of shape (n,)."""
        rows, top = np.arange(len(f)), f.argmax(axis=1)
        return f[rows, top], q[rows, top], y[rows, top]


def _for_bound(loss: Lp | Squared | OneSided) -> Callable[..., np.ndarray]:
    """Return the method of `loss` that computes the contributions for confidence bounds."""
    return getattr(loss, "for_bound", loss.contribution)


SCALAR_LOSSES = (
    Lp(1.0), Squared(), LogLoss(), OneSided(Lp(1.0), "over"), OneSided(Lp(1.0), "under"),
    OneSided(Squared(), "over"), OneSided(Squared(), "under"),
)  # fmt: skip
CANONICAL_LOSSES = (
    Lp(1.0), Lp(2.0), Lp(np.inf), Squared(), LogLoss(), TopClass(Lp(1.0)),
    TopClass(OneSided(Lp(1.0), "over")), TopClass(OneSided(Lp(1.0), "under")),
)  # fmt: skip
