"""Statements of gruber2025, decided by computation (see harness.evaluation.propositions)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from harness.evaluation.propositions import Proposition, largest_deviation
from harness.math.finite_laws import Law, random_laws
from harness.math.kernels import rbf
from harness.math.risk import ResidualGram, risk

ROUNDING = 1e-10
GAMMA = 100.0  # of the RBF kernel
LAWS = "random laws of four predictions with 2, 3 and 5 classes, by enumeration"


def true_products(law: Law) -> np.ndarray:
    """Return h*(f_i, f_j) = <f_i - c_i, f_j - c_j> (eq. 12), shape (m, m)."""
    return (law.f - law.c) @ (law.f - law.c).T


def losses(law: Law, h: np.ndarray) -> np.ndarray:
    """Return (<f - e_Y, f' - e_Y'> - h)^2 for all pairs of atoms, for the values h (m, m)."""
    position, label, _ = law.atoms()
    u = law.f[position] - label
    return (u @ u.T - h[np.ix_(position, position)]) ** 2


def population_risk(law: Law, h: np.ndarray) -> float:
    """Return the risk (eq. 17) of a function with the values h (m, m)."""
    weight = law.atoms()[2]
    return float(weight @ losses(law, h) @ weight)


def laws(size: int, states: int = 4, classes: tuple[int, ...] = (2, 3, 5)) -> Iterator[Law]:
    """Yield random laws, `size` / 1,000 for each number of classes."""
    return random_laws(max(size // 1000, 2), states, classes)


def loss_minimiser(size: int) -> Proposition:
    """Check that <p - P_Y, p' - P_V> minimises the loss: L(c) - L(c*) = (c - c*)^2."""

    def deviations(of_one_label: bool) -> list[float]:
        found = []
        for law in laws(size, states=2):
            u, v = (law.f[i] - np.eye(law.f.shape[1]) for i in (0, 1))  # rows: labels
            joint = np.diag(law.c[0]) if of_one_label else np.outer(*law.c)
            best = true_products(law)[0, 1]
            least, other = (np.sum(joint * (u @ v.T - c) ** 2) for c in (best, best + 0.1))
            found.append(other - least - 0.01)
        return found

    return Proposition(
        place="Equation 15",
        quote="has an unique minimizer given by",
        says="the product of the mean residuals alone minimises the calibration estimator loss",
        computed="the rise of the loss by 0.1 squared at a distance of 0.1, on random pairs of "
        "label laws with 2, 3 and 5 classes",
        cases=len(deviations(False)),
        result=largest_deviation(deviations(False), ROUNDING),
        variant="the two labels are one label instead of independent",
        variant_result=largest_deviation(deviations(True), ROUNDING),
    )


def risk_is_error(size: int) -> Proposition:
    """Check that the risk is the squared error of h plus the risk of h*."""
    rng = np.random.default_rng(1)
    right, wrong = [], []
    for law in laws(size):
        h = rng.normal(size=(4, 4))
        for found, best in ((right, true_products(law)), (wrong, law.f @ law.f.T)):
            error = law.w @ (h - best) ** 2 @ law.w
            found.append(population_risk(law, h) - population_risk(law, best) - error)
    return Proposition(
        place="Theorem 1",
        quote="we have that R_CE(h) > R_CE(h*)",
        says="the risk of h is that of h* plus E (h - h*)^2, and so larger unless h = h*",
        computed=f"both sides for random h, on {LAWS}",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="<f, f'> in the place of h*",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def error_on_the_diagonal(size: int) -> Proposition:
    """Check that E h*(f, f) is the squared canonical error."""
    right, wrong = [], []
    for law in laws(size):
        error = law.w @ ((law.f - law.c) ** 2).sum(axis=1)
        right.append(law.w @ np.diag(true_products(law)) - error)
        wrong.append(law.w @ true_products(law) @ law.w - error)
    return Proposition(
        place="Equation 13",
        quote="from this follows that",
        says="the mean of h* at equal arguments is the squared canonical error",
        computed=f"both sides, on {LAWS}",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="the mean of h* at independent arguments",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def diagonal_alone(size: int) -> Proposition:
    """Check that without continuity the least risk may belong to another error."""
    m, rise = 2000, 0.5
    grid = (np.arange(m) + 0.5) / m
    distance = np.abs(grid[:, None] - grid)

    def excess(change: np.ndarray) -> float:
        """Return E (h - h*)^2, by which the risk rises (Theorem 1), for independent arguments."""
        return float((change**2).mean())

    allowed = 2.0 * rise**2 / m
    return Proposition(
        place="Theorem 2",
        quote="To avoid such theoretical exceptions, we require additional",
        says="without continuity on the diagonal, a function of the least risk can give any error",
        computed=f"the risk of h* + {rise} at equal arguments, whose error is larger by {rise}, on "
        f"{m:,} equally likely predictions between 0 and 1 instead of all; 2 / {m:,} of the square "
        "is allowed",
        cases=1,
        result=largest_deviation([excess(rise * (distance == 0.0))], allowed),
        variant="a continuous change, that falls to 0 at a distance of 0.1",
        variant_result=largest_deviation(
            [excess(rise * np.maximum(1.0 - distance / 0.1, 0.0))], allowed
        ),
    )


def expected_mean(law: Law, h: np.ndarray, n: int, pairs: np.ndarray) -> float:
    """Return the expectation, over all samples of n atoms, of the mean loss of some pairs.

    `pairs` (q, 2) are positions in a sample.
    """
    weight = law.atoms()[2]
    samples = np.array(list(itertools.product(range(len(weight)), repeat=n)))
    means = losses(law, h)[samples[:, pairs[:, 0]], samples[:, pairs[:, 1]]].mean(axis=1)
    return float(weight[samples].prod(axis=1) @ means)


def biases(size: int, n: int, pairs: list[tuple[int, int]]) -> list[float]:
    """Return the bias of the mean loss of these pairs as an estimate of the risk, for some laws."""
    rng, found = np.random.default_rng(2), []
    for law in itertools.islice(laws(size, states=2, classes=(2, 3)), max(size // 10_000, 2)):
        h = rng.normal(size=(2, 2))
        h = h + h.T
        found.append(expected_mean(law, h, n, np.array(pairs)) - population_risk(law, h))
    return found


def unbiased_risk(size: int) -> Proposition:
    """Check that the U-statistic (eq. 20) is unbiased, by all samples of size 3."""
    every = list(itertools.product(range(3), repeat=2))
    right = biases(size, 3, [(i, j) for i, j in every if i != j])
    return Proposition(
        place="Equation 20",
        quote="It holds that E[R^_CE(h)] = R_CE(h)",
        says="the empirical risk over pairs of different samples is unbiased",
        computed="its expectation over all samples of size 3, on random laws of two predictions",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="pairs of a sample with itself are included",
        variant_result=largest_deviation(biases(size, 3, every), ROUNDING),
    )


def linear_time_risk(size: int) -> Proposition:
    """Check that the mean over disjoint pairs of samples is unbiased."""
    right = biases(size, 4, [(0, 1), (2, 3)])
    return Proposition(
        place="Section 3.2.1",
        quote="an estimator with linear complexity can be constructed as well",
        says="the mean over disjoint pairs of samples, in linear time, is unbiased too",
        computed="its expectation over all samples of size 4, on random laws of two predictions",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="each sample is paired with itself",
        variant_result=largest_deviation(biases(size, 4, [(0, 0), (1, 1)]), ROUNDING),
    )


class Fit(NamedTuple):
    """A training set: kernel matrix K (n, n), kernels k (n, m) at m points, residuals u (n, d)."""

    K: np.ndarray
    k: np.ndarray
    u: np.ndarray

    def kronecker(self, c: float, regularised: float = 0.0) -> np.ndarray:
        """Return h_kkr at all pairs of points by the inverse of eq. 28, with c for lambda n^2.

        `regularised` is added to the diagonal of K.
        """
        gram = self.K + regularised * np.eye(len(self.K))
        matrix = np.kron(gram, gram) + c * np.eye(gram.size)
        coefficients = np.linalg.solve(matrix, (self.u @ self.u.T).ravel())
        return self.k.T @ coefficients.reshape(self.K.shape) @ self.k

    def eigenvectors(self, c: float) -> np.ndarray:
        """Return h_kkr at all pairs of points by eq. 29."""
        values, vectors = np.linalg.eigh(self.K)
        z = vectors.T @ self.u
        core = z @ z.T / (np.multiply.outer(values, values) + c)
        return self.k.T @ vectors @ core @ vectors.T @ self.k

    def two_step(self, c: float) -> np.ndarray:
        """Return h_ukkr at all pairs of points by eq. 32, with c for lambda n."""
        g = np.linalg.solve(self.K + c * np.eye(len(self.K)), self.u).T @ self.k
        return g.T @ g


def fits(size: int, n: int = 8) -> Iterator[Fit]:
    """Yield random training sets of n samples, and five points, with 2, 3 and 5 classes.

    Kernel matrices with a condition number above 1,000 are left out, so that a ridge of 0 is
    possible.
    """
    rng = np.random.default_rng(4)
    for k, _ in itertools.product((2, 3, 5), range(max(size // 10_000, 2))):
        f, points = rng.dirichlet(np.ones(k), n), rng.dirichlet(np.ones(k), 5)
        while np.linalg.cond(rbf(f, f, GAMMA)) > 1e3:
            f = rng.dirichlet(np.ones(k), n)
        u = f - np.eye(k)[rng.integers(k, size=n)]
        yield Fit(rbf(f, f, GAMMA), rbf(f, points, GAMMA), u)


def closed_form(size: int) -> Proposition:
    """Check by the gradient that eq. 28 minimises the objective of eq. 27 as it is printed."""
    wrong, right = [], []
    for fit in fits(size):
        n, ridge = len(fit.K), 0.01
        target = (fit.u @ fit.u.T).ravel()
        gram = np.kron(fit.K, fit.K)
        alpha = np.linalg.solve(gram + ridge * n**2 * np.eye(n**2), target)
        diagonal = gram[np.tile(np.arange(n) * (n + 1), n)]  # h(f_j, f_j) in row (i, j)
        for found, design in ((wrong, diagonal), (right, gram)):
            slope = design.T @ (design @ alpha - target) / n**2 + ridge * gram @ alpha
            found.append(np.abs(slope).max())
    return Proposition(
        place="Equations 27 and 28",
        quote="Then, a closed-form minimizer can be found",
        says="the closed form minimises the printed objective, with h(f(X_j), f(X_j)) for a pair",
        computed="the largest component of the gradient, on random samples of size 8 with 2, 3 and "
        "5 classes",
        cases=len(wrong),
        result=largest_deviation(wrong, ROUNDING),
        variant="the objective has h(f(X_i), f(X_j)), as its proof has",
        variant_result=largest_deviation(right, ROUNDING),
        why="a misprint: Appendix C.3 proves the repaired statement",
    )


def eigenvectors(size: int) -> Proposition:
    """Check that the form in O(n^3) (eq. 29) equals the Kronecker inverse (eq. 28)."""

    def deviations(power: int) -> list[float]:
        return [
            np.abs(fit.kronecker(0.01 * 8**2) - fit.eigenvectors(0.01 * 8**power)).max()
            for fit in fits(size)
        ]

    return Proposition(
        place="Equation 29",
        quote="we classically for Kronecker products make use of the eigenvalue decomposition",
        says="eigenvectors give the values of the Kronecker inverse",
        computed="both at 25 pairs of points, on random samples of size 8 with 2, 3 and 5 classes",
        cases=len(deviations(2)),
        result=largest_deviation(deviations(2), ROUNDING),
        variant="with lambda n in the place of lambda n^2",
        variant_result=largest_deviation(deviations(1), ROUNDING),
    )


def two_step(size: int) -> Proposition:
    """Check that ukkr is kkr whose kernel contains the ridge, or kkr if the ridge is 0."""

    def deviations(c: float) -> list[float]:
        return [
            max(
                np.abs(fit.two_step(0.1) - fit.kronecker(c, regularised=0.1)).max(),
                np.abs(fit.two_step(0.0) - fit.kronecker(c)).max(),
            )
            for fit in fits(size)
        ]

    return Proposition(
        place="Equation 32",
        quote="incorporates the regularisation constant λ or when λ = 0",
        says="h_ukkr = h_kkr if the kernel of h_kkr contains the ridge, or if the ridge is 0",
        computed="both at 25 pairs of points, on random samples of size 8 with 2, 3 and 5 classes",
        cases=len(deviations(0.0)),
        result=largest_deviation(deviations(0.0), 1e-8),
        variant="h_kkr has a ridge of 0.1 beside it",
        variant_result=largest_deviation(deviations(0.1), 1e-8),
    )


def orthogonal(size: int) -> Proposition:
    """Check that an orthogonal matrix that acts on the residuals changes nothing."""
    rng = np.random.default_rng(5)
    right, wrong = [], []
    for fit in fits(size):
        q, _ = np.linalg.qr(rng.normal(size=(fit.u.shape[1],) * 2))
        stretch = np.ones(len(q))
        stretch[0] = 1.01
        h = fit.eigenvectors(0.64)
        value = risk(fit.u[:5], ResidualGram(h, np.linalg.pinv(h)))
        for found, matrix in ((right, q), (wrong, q * stretch)):
            turned = fit._replace(u=fit.u @ matrix)
            found.append(np.abs(turned.eigenvectors(0.64) - h).max())
            found.append(risk(turned.u[:5], ResidualGram(h, np.linalg.pinv(h))) - value)
    return Proposition(
        place="Section 3.1",
        quote="our approach is invariant to any orthogonal matrix M",
        says="an orthogonal matrix that acts on all residuals changes neither h_kkr nor its risk",
        computed="both after random rotations, on random samples of size 8 with 2, 3 and 5 classes",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="the rotation stretches one axis by 1 %",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


CHECKS = (
    error_on_the_diagonal,
    loss_minimiser,
    risk_is_error,
    diagonal_alone,
    unbiased_risk,
    linear_time_risk,
    closed_form,
    eigenvectors,
    two_step,
    orthogonal,
)
