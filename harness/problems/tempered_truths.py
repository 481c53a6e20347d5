"""Truths of the problem TemperedDirichlet, by quadrature and randomised quasi-Monte Carlo.

`TemperedDirichlet` explains the method and the notation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, entr, expit, gammaincinv, gammaln, kl_div, logit, logsumexp

from harness.math import estimands
from harness.math.quadrature import gauss_legendre, growing, sobol_points
from harness.math.softmax import softmax
from harness.problems.base import Truth
from harness.problems.integrals import integral
from harness.problems.search import crossings, maximum

# Number of scrambled Sobol sets. Their spread gives the standard error of a truth.
RANDOMISATIONS = 16
POINTS = 15  # log2 of the number of points of a set over all coordinates
CONDITIONAL_POINTS = 12  # log2 of the number of points of a set over all coordinates but one
SMOOTH = 1e-10  # error of the quadrature of smooth functions (see `_logit_edges`)
BLOCK = 1 << 15  # most entries of an array (nodes, points) in memory


class PowerLaw(NamedTuple):
    """Parameters of TemperedDirichlet that determine its truths."""

    classes: int
    alpha: float
    truth_power: float
    prediction_power: float


def mean_of_sets(per_set: np.ndarray, bias: float, method: str = "") -> Truth | None:
    """Return a truth as the mean of its values on the Sobol sets.

    The error is the standard error over the sets plus `bias`. The result is None if a value is
    infinite, which happens if predictions that underflow have a noticeable weight. `method` is the
    beginning of the text `Truth.method`.
    """
    if not np.isfinite(per_set).all():
        return None
    error = per_set.std(ddof=1) / np.sqrt(len(per_set)) + bias
    method += f"randomised quasi-Monte Carlo, {len(per_set)} scrambled Sobol sets"
    return Truth(float(per_set.mean()), float(error), method)


# Two classes


def truth_of_two_classes(law: PowerLaw, estimand: str, notion: str) -> Truth:
    """Return a truth for two classes, integrated over x = log(s_2 / s_1).

    The density of x is e^(alpha x) / (1 + e^x)^(2 alpha) / B(alpha, alpha), with B the beta
    function.
    """
    a, b = law.truth_power, law.prediction_power
    if estimand == "linf" and notion != "canonical":
        return _supremum(a, b)

    def quadrature(order: int) -> float:
        x, weights = _two_class_nodes(law, order)
        f, f_rest, c, c_rest = expit(b * x), expit(-b * x), expit(a * x), expit(-a * x)
        if notion == "top_label":  # by symmetry, consider only one class on top
            top = x > 0
            f, f_rest, c, c_rest, weights = (a[top] for a in (f, f_rest, c, c_rest, 2.0 * weights))
        return integral(estimand, notion, f, f_rest, c, c_rest, weights)

    coarse, fine = quadrature(16), quadrature(24)
    return Truth(fine, abs(fine - coarse) + 1e-13, "Gauss-Legendre quadrature")


def _two_class_nodes(law: PowerLaw, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes x and weights of the quadrature over x = log(s_2 / s_1)."""
    fastest = max(1.0, law.truth_power, law.prediction_power)
    slowest = min(1.0, law.truth_power, law.prediction_power)
    half = growing(1.0 / fastest, 40.0 / slowest, 40.0 / law.alpha + 40.0 / slowest)
    x, weights = gauss_legendre(np.concatenate([-half[:0:-1], half]), order)
    size = np.abs(x)
    density = np.exp(
        -law.alpha * size - 2.0 * law.alpha * np.log1p(np.exp(-size)) - betaln(law.alpha, law.alpha)
    )
    return x, weights * density


def _supremum(a: float, b: float) -> Truth:
    """Return sup |f - C| for two classes with truth power `a` and prediction power `b`."""
    x = np.linspace(0.0, 40.0 / min(a, b), 20001)
    value = maximum(lambda t: np.abs(expit(b * t) - expit(a * t)), x)
    return Truth(value, 1e-9, "maximised on a grid, refined")


# More classes


@lru_cache(maxsize=256)
def truths_of_classes(
    law: PowerLaw, notion: str, extra: tuple[str, ...]
) -> dict[str, Truth | None]:
    """Return {estimand: truth} for more than two classes.

    `extra` names the estimands. If it is empty, all named estimands of the notion are computed.
    """
    wanted = extra or estimands.names(notion)
    if notion == "canonical":
        return {
            name: mean_of_sets(values, SMOOTH) for name, values in _canonical(law, wanted).items()
        }
    values = np.array([_conditional_values(law, notion, wanted, r) for r in range(RANDOMISATIONS)])
    fewer = np.array(
        [
            _conditional_values(law, notion, wanted, r, CONDITIONAL_POINTS - 1, 6)
            for r in range(RANDOMISATIONS)
        ]
    )
    with np.errstate(invalid="ignore"):
        # The difference measures the bias of ratios, O(1 / points), and the error of the nodes.
        bias = np.abs(values.mean(axis=0) - fewer.mean(axis=0))
    method = "quadrature over the conditioning probability, "
    return {name: mean_of_sets(v, b, method) for name, v, b in zip(wanted, values.T, bias)}


def _canonical(law: PowerLaw, wanted: Sequence[str]) -> dict[str, np.ndarray]:
    """Return {estimand: array of its values on the Sobol sets} for canonical estimands."""
    values = dict(sums_over_classes(law))
    values["rms"] = np.sqrt(values["l2_squared"])
    for score, distance in (("brier", "l2_squared"), ("logloss", "kl")):
        values[score] = values[distance] + values[f"refinement_{distance}"]
    k = law.classes
    # By symmetry, E C is uniform.
    values["sharpness_l2_squared"] = 1.0 - 1.0 / k - values["refinement_l2_squared"]
    values["sharpness_kl"] = np.log(k) - values["refinement_kl"]
    others = [name for name in wanted if name not in values]
    if others:
        pairs = (_pairs(law, r) for r in range(RANDOMISATIONS))
        rows = [[estimands.value(name, f, c, "canonical") for name in others] for f, c in pairs]
        values |= dict(zip(others, np.array(rows).T))
    return {name: values[name] for name in wanted}


def _pairs(law: PowerLaw, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions f and posteriors C, (points, k) each, on Sobol set number r."""
    log_s = _log_gammas(law.classes, law.alpha, POINTS, r)
    return softmax(law.prediction_power * log_s), softmax(law.truth_power * log_s)


@lru_cache(maxsize=64)
def sums_over_classes(law: PowerLaw) -> dict[str, np.ndarray]:
    """Return {name: array of E sum_j d(f_j, C_j) on the Sobol sets} for functions d of scalars.

    The names are estimands, except "kl_rest". With t = f_j and c = C_j, "kl" uses

        d(t, c) = c log(c / t) - c + t

    The part -c + t sums to 0 over the classes, but makes every term positive, which reduces the
    variance. "kl_rest" uses d(1 - t, 1 - c).
    """
    per_set = []
    for r in range(RANDOMISATIONS):
        total = dict.fromkeys(
            ("l2_squared", "kl", "kl_rest", "refinement_l2_squared", "refinement_kl"), 0.0
        )
        rest = _Rest.draw(law, CONDITIONAL_POINTS, r)
        for x, weights in rest.blocks(*gauss_legendre(_logit_edges(law, "classwise", 2.5), 8)):
            h, z = rest.density_and_logit(x)
            t, t_rest, (c, c_rest) = expit(x[:, None]), expit(-x[:, None]), _both(z)
            node_weights = weights * (law.classes / h.shape[1])
            total["l2_squared"] += node_weights @ (h * (t - c) ** 2).sum(axis=1)
            total["kl"] += node_weights @ (h * kl_div(c, t)).sum(axis=1)
            total["kl_rest"] += node_weights @ (h * kl_div(c_rest, t_rest)).sum(axis=1)
            total["refinement_l2_squared"] += node_weights @ (h * c * c_rest).sum(axis=1)
            total["refinement_kl"] += node_weights @ (h * entr(c)).sum(axis=1)
        per_set.append(total)
    return {name: np.array([total[name] for total in per_set]) for name in per_set[0]}


def _conditional_values(
    law: PowerLaw,
    notion: str,
    wanted: Sequence[str],
    r: int,
    log2_points: int = CONDITIONAL_POINTS,
    order: int = 8,
) -> list[float]:
    """Return the class-wise or top-label estimands `wanted` on Sobol set number r.

    They are integrals of d(t, E[Y given t]), with d the distance of the estimand. t is f_1 for
    class-wise and max f for top-label. `order` is the number of nodes per panel of logit t.
    """
    rest = _Rest.draw(law, log2_points, r)
    edges = _logit_edges(law, notion, 1.5)

    def means(x: np.ndarray) -> np.ndarray:
        """Return h, h E[C_1 given t] and h E[1 - C_1 given t] at x, shape (3, len(x)).

        t is the prediction f_1, and h the density of logit t at x. For top-label, both count only
        samples in which f_1 is the largest entry.
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

    # |t - C| is not smooth where the gap is 0.
    splits = np.union1d(edges, crossings(gap, edges, xtol=1e-12))
    x, weights = gauss_legendre(splits, order)
    mass, c, c_rest = means_in_blocks(x)
    # Below this mass, rounding errors would dominate the ratios.
    positive = mass > np.finfo(float).tiny / np.finfo(float).eps
    x, weights, mass, c, c_rest = (a[positive] for a in (x, weights, mass, c, c_rest))
    weights = weights * mass
    weights /= weights.sum()  # the sum was 1 for class-wise, about 1 / k for top-label
    return [
        integral(name, notion, expit(x), expit(-x), c / mass, c_rest / mass, weights)
        for name in wanted
    ]


class _Rest(NamedTuple):
    """Values of three functions of u at Sobol points, with u ~ Dir(alpha 1_(k-1)).

    u is the direction of all coordinates of the Dirichlet vector s but the first.
    """

    law: PowerLaw
    log_sum_f: np.ndarray  # log sum_j u_j^b, with b the prediction power
    log_sum_c: np.ndarray  # log sum_j u_j^a, with a the truth power
    largest_from: np.ndarray  # f_1 is the largest entry if its logit is at least this

    @classmethod
    def draw(cls, law: PowerLaw, log2_points: int, r: int) -> _Rest:
        """Return the functions at the 2^log2_points points of Sobol set number r."""
        log_u = _log_gammas(law.classes - 1, law.alpha, log2_points, r)
        log_u = log_u - logsumexp(log_u, axis=1, keepdims=True)
        log_sum_f, log_sum_c = (
            logsumexp(power * log_u, axis=1) for power in (law.prediction_power, law.truth_power)
        )
        largest_from = law.prediction_power * log_u.max(axis=1) - log_sum_f
        return cls(law, log_sum_f, log_sum_c, largest_from)

    def density_and_logit(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the density of logit f_1 at x (m,), and logit C_1 given x, both (m, points)."""
        k, alpha = self.law.classes, self.law.alpha
        a, b = self.law.truth_power, self.law.prediction_power
        m = (x[:, None] + self.log_sum_f) / b  # log rho
        log_sum = np.maximum(m, 0.0) + np.log(1.0 + np.exp(-np.abs(m)))  # log(1 + rho)
        log_density = alpha * m - k * alpha * log_sum - betaln(alpha, (k - 1) * alpha)
        return np.exp(log_density) / b, a * m - self.log_sum_c

    def blocks(self, x: np.ndarray, weights: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield nodes `x` and `weights` in blocks.

        Arrays (nodes of a block, Sobol points) then have at most BLOCK entries.
        """
        step = max(1, BLOCK // len(self.log_sum_f))
        for start in range(0, len(x), step):
            yield x[start : start + step], weights[start : start + step]


def _logit_edges(law: PowerLaw, notion: str, width: float) -> np.ndarray:
    """Return the ends of panels in x = logit t, for the quadrature over t.

    With a the truth power, b the prediction power and k classes:

    * Densities fall as e^(alpha x / b) to the left, and (k - 1) times as fast to the right.
    * t, C_1 and the density are analytic except for poles. The distances of the poles from the real
      axis are pi, pi b / a and pi b.

    Panels are `width` times the smallest of 1, b / a and b wide. With `width` up to 2.5, the error
    of smooth integrands is below 1e-10.
    """
    k, b = law.classes, law.prediction_power
    ratio = law.truth_power / b
    finest, flat = width * min(1.0, b, 1.0 / ratio), 40.0 * max(1.0, 1.0 / ratio)
    reach = 40.0 * b / law.alpha + abs(b - 1.0) * np.log(k)
    right = growing(finest, flat, reach / (k - 1) + abs(b - 1.0) * np.log(k))
    if notion == "top_label":
        splits = logit(1.0 / np.arange(k, 1, -1))
        return np.unique(np.concatenate([splits, np.linspace(splits[0], 0.0, 33), right]))
    return np.concatenate([-growing(finest, flat, reach)[:0:-1], right])


# Points and nodes


def _log_gammas(k: int, alpha: float, log2_points: int, r: int) -> np.ndarray:
    """Return logarithms of gamma variates of shape alpha at scrambled Sobol points.

    The result has the shape (2^log2_points, k).
    """
    u = sobol_points(k, log2_points, r)
    u = np.maximum(u, 2.0**-64)
    g = -np.log1p(-u) if alpha == 1.0 else gammaincinv(alpha, u)
    # For small g, P(G < g) = g^alpha / Gamma(alpha + 1). Solve this for log g, because g may
    # underflow.
    small = g < 1e-100
    return np.where(
        small, (np.log(u) + gammaln(alpha + 1.0)) / alpha, np.log(np.where(small, 1.0, g))
    )


def _both(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return expit(z) and expit(-z), computed from a single exponential."""
    small = np.exp(-np.abs(z))
    large = 1.0 / (1.0 + small)
    small *= large
    return np.where(z > 0, large, small), np.where(z > 0, small, large)
