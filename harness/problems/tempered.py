"""Predictions and posteriors that are powers of one Dirichlet draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, entr, expit, gammaincinv, gammaln, kl_div, logit, logsumexp

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.quadrature import gauss_legendre, growing
from harness.math.softmax import softmax
from harness.problems.base import Generated, Truth, draw_labels, integral
from harness.problems.search import crossings, maximum

RANDOMISATIONS = 16  # scrambled Sobol sets, whose spread gives the standard error of a truth
POINTS = 15  # log2 of the points of a set over all coordinates
CONDITIONAL_POINTS = 12  # log2 of the points of a set over all coordinates but one
SMOOTH = 1e-10  # error of the quadrature over smooth functions (`_logit_edges`)
BLOCK = 1 << 15  # numbers of one block of (nodes, points)


@dataclass(frozen=True)
class TemperedDirichlet(Generated):
    """Predictions f and posteriors C that are powers of one Dirichlet draw.

        s ~ Dir(alpha 1_k),  C proportional to s^truth_power,  f proportional to s^prediction_power

    C = E[one-hot Y given f] is then proportional to f^(truth_power / prediction_power). Predictions
    are over-confident if prediction_power is above truth_power.

    Parameters
    ----------
    classes : int
        k, at least 2.
    alpha : float
        Concentration, positive. Computations use logarithms, because s underflows for alpha = 0.04.
    truth_power, prediction_power : float
        Inverse temperatures, positive.
    default_notions : tuple of str
        Notions that a run judges by default; they do not identify the problem.

    Examples
    --------
    >>> import numpy as np
    >>> problem = TemperedDirichlet(2, alpha=1.0, truth_power=1.0, prediction_power=2.0)
    >>> p, y = problem.sample(500, np.random.default_rng(0))
    >>> p.shape, y.shape
    ((500, 2), (500,))
    >>> round(problem.truth("l1", "binary").value, 9)
    0.09657359

    Notes
    -----
    Truths for two classes: quadrature over log(s_2 / s_1), error about 1e-13.

    Truths for more classes: let f_1 = t, let u ~ Dir(alpha 1_(k-1)) be the direction of the other
    coordinates of s, and b the prediction_power. Then s_1 over the sum of the others is

        rho = (t / (1 - t) sum_j u_j^b)^(1 / b).

    rho follows a beta-prime law and is independent of u. A mean given f_1 = t is therefore a mean
    over u, weighted by the density of rho. It is computed with 16 scrambled Sobol sets inside a
    quadrature over logit t. Class-wise truths use E[C_1 given f_1 = t]. Top-label truths use only
    those u for which f_1 is the largest. Canonical truths that are sums over classes use one class
    times k. Other canonical truths (norms, top_class_*) use 16 scrambled Sobol sets of 2^15 points.
    The error is the standard error over the 16 sets. Conditional means add the difference to half
    as many points and fewer nodes.

    References
    ----------
    popordanoska2024, Section 7.1; their code has alpha 1 and powers 1 / 0.9 and 1 / 0.54.
    gruber2025, Section 5: alpha 0.04, powers 1 and 0.3.
    """

    classes: int = 2
    alpha: float = 1.0
    truth_power: float = 1.0
    prediction_power: float = 1.0
    default_notions: tuple[str, ...] = ("canonical",)

    def __post_init__(self) -> None:
        if self.classes < 2 or not (
            self.alpha > 0 and self.truth_power > 0 and self.prediction_power > 0
        ):
            raise BadInputError(
                f"TemperedDirichlet parameters are classes={self.classes}, alpha={self.alpha}, "
                f"truth_power={self.truth_power}, prediction_power={self.prediction_power}; "
                "classes >= 2 and positive numbers are needed."
            )
        unknown = [name for name in self.default_notions if name not in self.notions]
        if unknown or not self.default_notions:
            raise BadInputError(
                f"default_notions is {self.default_notions!r}; "
                f"some of {', '.join(self.notions)} are needed."
            )

    @property
    def notions(self) -> tuple[str, ...]:
        return (*(("binary",) if self.classes == 2 else ()), "canonical", "top_label", "classwise")

    @property
    def fingerprint(self) -> dict[str, Any]:
        names = ("classes", "alpha", "truth_power", "prediction_power")
        return {name: getattr(self, name) for name in names}

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw p (n, k) and y (n,).

        A gamma variate of shape alpha is one of shape alpha + 1 times U^(1 / alpha); the product is
        computed in logarithms.
        """
        rng_g, rng_u, rng_y = rng.spawn(3)
        shape = (n, self.classes)
        log_s = (
            np.log(rng_g.standard_gamma(self.alpha + 1.0, shape))
            - rng_u.standard_exponential(shape) / self.alpha
        )
        p = softmax(self.prediction_power * log_s)
        return p, draw_labels(self.posterior(p), rng_y)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[one-hot Y given p], (n, k); for p (n,) of two classes P(Y = 1 given p)."""
        if p.ndim == 1:
            return self.posterior(np.column_stack([1.0 - p, p]))[:, 1]
        with np.errstate(divide="ignore"):
            return softmax(self.truth_power / self.prediction_power * np.log(p))

    @property
    def calibrated(self) -> bool:
        return self.truth_power == self.prediction_power

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if self.classes == 2:
            return _two_classes(self.unnamed(), estimand, notion)
        extra = () if estimand in estimands.names(notion) else (estimand,)
        return _truths(self.unnamed(), notion, extra)[estimand]

    def truth_of_vector(self, estimand: str) -> Truth | None:
        """Return the mean over classes of E d(f_j, C_j) with C_j = P(Y = j given all of f).

        The class-wise notion conditions on f_j alone.

        Parameters
        ----------
        estimand : {"l2_squared", "kl"}
            Estimand of one column.

        Raises
        ------
        BadInputError
            For another estimand.

        References
        ----------
        popordanoska2024, Section 7.1, where this is the class-wise ground truth.
        """
        if estimand not in ("l2_squared", "kl"):
            raise BadInputError(f"estimand is {estimand!r}; allowed are l2_squared, kl.")
        if self.classes == 2 or self.calibrated:
            return self.truth(estimand, "classwise")
        parts = sums_over_classes(self.unnamed())
        per_set = (parts[estimand] + (parts["kl_rest"] if estimand == "kl" else 0.0)) / self.classes
        return mean_of_sets(per_set, SMOOTH)

    def unnamed(self) -> TemperedDirichlet:
        """Return the problem with default notions, so that cached truths are shared."""
        return type(self)(self.classes, self.alpha, self.truth_power, self.prediction_power)


def mean_of_sets(per_set: np.ndarray, bias: float, method: str = "") -> Truth | None:
    """Return the truth as the mean over Sobol sets; `bias` is added to the standard error.

    None if a value is infinite: predictions that underflow then carry weight.
    """
    if not np.isfinite(per_set).all():
        return None
    error = per_set.std(ddof=1) / np.sqrt(len(per_set)) + bias
    method += f"randomised quasi-Monte Carlo, {len(per_set)} scrambled Sobol sets"
    return Truth(float(per_set.mean()), float(error), method)


# Two classes


def _two_classes(problem: TemperedDirichlet, estimand: str, notion: str) -> Truth:
    """Integrate over x = log(s_2 / s_1).

    Its density is e^(alpha x) / (1 + e^x)^(2 alpha) / B(alpha, alpha).
    """
    a, b = problem.truth_power, problem.prediction_power
    if estimand == "linf" and notion != "canonical":
        return _supremum(a, b)

    def quadrature(order: int) -> float:
        x, weights = _two_class_nodes(problem, order)
        f, f_rest, c, c_rest = expit(b * x), expit(-b * x), expit(a * x), expit(-a * x)
        if notion == "top_label":  # by symmetry, consider only one class on top
            top = x > 0
            f, f_rest, c, c_rest, weights = (a[top] for a in (f, f_rest, c, c_rest, 2.0 * weights))
        return integral(estimand, notion, f, f_rest, c, c_rest, weights)

    coarse, fine = quadrature(16), quadrature(24)
    return Truth(fine, abs(fine - coarse) + 1e-13, "Gauss-Legendre quadrature")


def _two_class_nodes(problem: TemperedDirichlet, order: int) -> tuple[np.ndarray, np.ndarray]:
    fastest = max(1.0, problem.truth_power, problem.prediction_power)
    slowest = min(1.0, problem.truth_power, problem.prediction_power)
    half = growing(1.0 / fastest, 40.0 / slowest, 40.0 / problem.alpha + 40.0 / slowest)
    x, weights = gauss_legendre(np.concatenate([-half[:0:-1], half]), order)
    size = np.abs(x)
    density = np.exp(
        -problem.alpha * size
        - 2.0 * problem.alpha * np.log1p(np.exp(-size))
        - betaln(problem.alpha, problem.alpha)
    )
    return x, weights * density


def _supremum(a: float, b: float) -> Truth:
    x = np.linspace(0.0, 40.0 / min(a, b), 20001)
    value = maximum(lambda t: np.abs(expit(b * t) - expit(a * t)), x)
    return Truth(value, 1e-9, "maximised on a grid, refined")


# More classes


@lru_cache(maxsize=256)
def _truths(
    problem: TemperedDirichlet, notion: str, extra: tuple[str, ...]
) -> dict[str, Truth | None]:
    wanted = extra or estimands.names(notion)
    if notion == "canonical":
        return {
            name: mean_of_sets(values, SMOOTH)
            for name, values in _canonical(problem, wanted).items()
        }
    values = np.array(
        [_conditional_values(problem, notion, wanted, r) for r in range(RANDOMISATIONS)]
    )
    fewer = np.array(
        [
            _conditional_values(problem, notion, wanted, r, CONDITIONAL_POINTS - 1, 6)
            for r in range(RANDOMISATIONS)
        ]
    )
    with np.errstate(invalid="ignore"):
        # bias of ratios, O(1 / points), and error of the node spacing
        bias = np.abs(values.mean(axis=0) - fewer.mean(axis=0))
    method = "quadrature over the conditioning probability, "
    return {name: mean_of_sets(v, b, method) for name, v, b in zip(wanted, values.T, bias)}


def _canonical(problem: TemperedDirichlet, wanted: Sequence[str]) -> dict[str, np.ndarray]:
    """Return {estimand: its value for each set}."""
    values = dict(sums_over_classes(problem))
    values["rms"] = np.sqrt(values["l2_squared"])
    for score, distance in (("brier", "l2_squared"), ("logloss", "kl")):
        values[score] = values[distance] + values[f"refinement_{distance}"]
    k = problem.classes
    # by symmetry E C is uniform
    values["sharpness_l2_squared"] = 1.0 - 1.0 / k - values["refinement_l2_squared"]
    values["sharpness_kl"] = np.log(k) - values["refinement_kl"]
    others = [name for name in wanted if name not in values]
    if others:
        pairs = (_pairs(problem, r) for r in range(RANDOMISATIONS))
        rows = [[estimands.value(name, f, c, "canonical") for name in others] for f, c in pairs]
        values |= dict(zip(others, np.array(rows).T))
    return {name: values[name] for name in wanted}


def _pairs(problem: TemperedDirichlet, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (f, C) at the points of set r."""
    log_s = _log_gammas(problem.classes, problem.alpha, POINTS, r)
    return softmax(problem.prediction_power * log_s), softmax(problem.truth_power * log_s)


@lru_cache(maxsize=64)
def sums_over_classes(problem: TemperedDirichlet) -> dict[str, np.ndarray]:
    """Return {estimand: E sum_j d(f_j, C_j) for each set}.

    "kl_rest" is the part of 1 - C against 1 - f. The terms of kl are c log(c / t) - c + t: the last
    two sum to 0 over the classes, but make every term positive, which reduces the variance.
    """
    per_set = []
    for r in range(RANDOMISATIONS):
        total = dict.fromkeys(
            ("l2_squared", "kl", "kl_rest", "refinement_l2_squared", "refinement_kl"), 0.0
        )
        rest = _Rest.draw(problem, CONDITIONAL_POINTS, r)
        for x, weights in rest.blocks(*gauss_legendre(_logit_edges(problem, "classwise", 2.5), 8)):
            h, z = rest.density_and_logit(x)
            t, t_rest, (c, c_rest) = expit(x[:, None]), expit(-x[:, None]), _both(z)
            law = weights * (problem.classes / h.shape[1])
            total["l2_squared"] += law @ (h * (t - c) ** 2).sum(axis=1)
            total["kl"] += law @ (h * kl_div(c, t)).sum(axis=1)
            total["kl_rest"] += law @ (h * kl_div(c_rest, t_rest)).sum(axis=1)
            total["refinement_l2_squared"] += law @ (h * c * c_rest).sum(axis=1)
            total["refinement_kl"] += law @ (h * entr(c)).sum(axis=1)
        per_set.append(total)
    return {name: np.array([total[name] for total in per_set]) for name in per_set[0]}


def _conditional_values(
    problem: TemperedDirichlet,
    notion: str,
    wanted: Sequence[str],
    r: int,
    log2_points: int = CONDITIONAL_POINTS,
    order: int = 8,
) -> list[float]:
    """Integrate d(t, E[Y given t]) over t = f_1 (class-wise) or t = max f (top-label)."""
    rest = _Rest.draw(problem, log2_points, r)
    edges = _logit_edges(problem, notion, 1.5)

    def means(x: np.ndarray) -> np.ndarray:
        """Return (density of logit t, E[C_1; t], E[1 - C_1; t]).

        Top-label: only the part where f_1 is the largest.
        """
        h, z = rest.density_and_logit(x)
        if notion == "top_label":
            h = h * (x[:, None] >= rest.largest_from)
        return np.array([h.mean(axis=1), *((h * c).mean(axis=1) for c in _both(z))])

    def means_in_blocks(x: np.ndarray) -> np.ndarray:
        return np.concatenate([means(block) for block, _ in rest.blocks(x, x)], axis=1)

    def gap(x: np.ndarray) -> np.ndarray:
        _, c, c_rest = means_in_blocks(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(c) - np.log(c_rest) - x

    # |t - C| has its kinks where the gap is 0
    splits = np.union1d(edges, crossings(gap, edges, xtol=1e-12))
    x, weights = gauss_legendre(splits, order)
    mass, c, c_rest = means_in_blocks(x)
    # below this, ratios would be ratios of rounded numbers
    positive = mass > np.finfo(float).tiny / np.finfo(float).eps
    x, weights, mass, c, c_rest = (a[positive] for a in (x, weights, mass, c, c_rest))
    weights = weights * mass
    weights /= weights.sum()  # the sum is 1 for class-wise; about 1 / k for top-label
    return [
        integral(name, notion, expit(x), expit(-x), c / mass, c_rest / mass, weights)
        for name in wanted
    ]


class _Rest(NamedTuple):
    """Functions of points u ~ Dir(alpha 1_(k-1))."""

    problem: TemperedDirichlet
    log_sum_f: np.ndarray  # log sum_j u_j^b
    log_sum_c: np.ndarray  # log sum_j u_j^a
    largest_from: np.ndarray  # logit of f_1 from which on f_1 is the largest

    @classmethod
    def draw(cls, problem: TemperedDirichlet, log2_points: int, r: int) -> _Rest:
        log_u = _log_gammas(problem.classes - 1, problem.alpha, log2_points, r)
        log_u = log_u - logsumexp(log_u, axis=1, keepdims=True)
        log_sum_f, log_sum_c = (
            logsumexp(power * log_u, axis=1)
            for power in (problem.prediction_power, problem.truth_power)
        )
        largest_from = problem.prediction_power * log_u.max(axis=1) - log_sum_f
        return cls(problem, log_sum_f, log_sum_c, largest_from)

    def density_and_logit(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the density of logit f_1 at x (m,) and logit C_1 there, (m, points)."""
        k, alpha = self.problem.classes, self.problem.alpha
        a, b = self.problem.truth_power, self.problem.prediction_power
        m = (x[:, None] + self.log_sum_f) / b  # log rho
        log_sum = np.maximum(m, 0.0) + np.log(1.0 + np.exp(-np.abs(m)))  # log(1 + rho)
        log_density = alpha * m - k * alpha * log_sum - betaln(alpha, (k - 1) * alpha)
        return np.exp(log_density) / b, a * m - self.log_sum_c

    def blocks(self, x: np.ndarray, weights: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield parts of the nodes for which (nodes, points) has at most BLOCK numbers."""
        step = max(1, BLOCK // len(self.log_sum_f))
        for start in range(0, len(x), step):
            yield x[start : start + step], weights[start : start + step]


def _logit_edges(problem: TemperedDirichlet, notion: str, width: float) -> np.ndarray:
    """Return the ends of panels in x = logit t.

    Densities fall as e^(alpha x / b) to the left, and (k - 1) times as fast to the right. t, C_1
    and the density are analytic except for poles at a distance of pi times 1, b / a and b from the
    real axis. With panels as wide as the smallest of the three (times `width`, up to 2.5) the error
    of smooth integrands is below 1e-10.
    """
    k, b = problem.classes, problem.prediction_power
    ratio = problem.truth_power / b
    finest, flat = width * min(1.0, b, 1.0 / ratio), 40.0 * max(1.0, 1.0 / ratio)
    reach = 40.0 * b / problem.alpha + abs(b - 1.0) * np.log(k)
    right = growing(finest, flat, reach / (k - 1) + abs(b - 1.0) * np.log(k))
    if notion == "top_label":
        splits = logit(1.0 / np.arange(k, 1, -1))
        return np.unique(np.concatenate([splits, np.linspace(splits[0], 0.0, 33), right]))
    return np.concatenate([-growing(finest, flat, reach)[:0:-1], right])


# Points and nodes


def _log_gammas(k: int, alpha: float, log2_points: int, r: int) -> np.ndarray:
    """Return logs of gamma variates of shape alpha at scrambled Sobol points.

    The shape is (2^log2_points, k).
    """
    from scipy.stats.qmc import Sobol  # slow to import

    u = Sobol(k, scramble=True, rng=np.random.default_rng([r, k])).random_base2(log2_points)
    u = np.maximum(u, 2.0**-64)
    g = -np.log1p(-u) if alpha == 1.0 else gammaincinv(alpha, u)
    small = g < 1e-100  # there P(G < g) = g^alpha / Gamma(alpha + 1), and g itself may underflow
    return np.where(
        small, (np.log(u) + gammaln(alpha + 1.0)) / alpha, np.log(np.where(small, 1.0, g))
    )


def _both(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return expit(z) and expit(-z) with a single exponential, which numpy vectorises."""
    small = np.exp(-np.abs(z))
    large = 1.0 / (1.0 + small)
    small *= large
    return np.where(z > 0, large, small), np.where(z > 0, small, large)
