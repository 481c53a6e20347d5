"""Statements of popordanoska2024, decided by computation (see harness.evaluation.propositions)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.special import gammaln

from harness.evaluation.propositions import Proposition, largest_deviation, smallest_margin
from harness.math.divergences import ENTROPY, SQUARED, Bregman
from harness.math.finite_laws import Law, random_laws

ROUNDING = 1e-10
STATES = 8
SPHERICAL = Bregman(
    "bregman_spherical",
    lambda p: np.linalg.norm(p, axis=1),
    lambda p: p / np.linalg.norm(p, axis=1, keepdims=True),
)
SCORES = (SQUARED, ENTROPY, SPHERICAL)
LAWS = "random laws of eight states with 2, 3 and 5 classes, by enumeration"
THREE = "for the Brier, the logarithmic and the spherical score"


def laws(size: int, classes: tuple[int, ...] = (2, 3, 5)) -> Iterator[Law]:
    """Yield random laws of the input X and the label: f is g(X), and c is E[Y given X]."""
    return random_laws(max(size // 1000, 2), STATES, classes)


def merged(law: Law, layer: np.ndarray) -> np.ndarray:
    """Return E[Y given the output of a layer] in each state; `layer` (m,) numbers its outputs."""
    joint = np.zeros((layer.max() + 1, law.c.shape[1]))
    np.add.at(joint, layer, law.w[:, None] * law.c)
    return (joint / joint.sum(axis=1, keepdims=True))[layer]  # type: ignore[no-any-return]


def pairs(law: Law) -> tuple[Law, np.ndarray]:
    """Return the law with equal predictions in states 0 and 1, and E[Y given g(X)]."""
    f = law.f.copy()
    f[1] = f[0]
    return law._replace(f=f), merged(law, np.array([0, *range(STATES - 1)]))


def expected_risk(law: Law, score: Bregman) -> float:
    """Return E L(g(X), Y) of the loss L(p, y) = -F(p) - <grad F(p), y - p>."""
    position, label, weight = law.atoms()
    return float(-weight @ score.linear(label, law.f[position]))


def bayes(size: int) -> Proposition:
    """Check that the risk and the expected divergence differ by a constant of the task."""
    right, wrong = [], []
    for law, score in itertools.product(laws(size), SCORES):
        law, given_g = pairs(law)
        distance = law.w @ score.divergence(law.c, law.f)
        for found, mean in ((right, law.c), (wrong, given_g)):
            found.append(expected_risk(law, score) + law.w @ score.value(mean) - distance)
    return Proposition(
        place="Equation 2",
        quote="they only differ by a model independent constant",
        says="risk + E F(E[Y given X]) = E D_F(E[Y given X], g(X))",
        computed=f"both sides {THREE}, on {LAWS}",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="E[Y given g(X)] in the constant",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def decomposition(size: int) -> Proposition:
    """Check that risk is calibration error plus refinement."""
    right, wrong = [], []
    for law, score in itertools.product(laws(size), SCORES):
        law, given_g = pairs(law)
        for found, mean in ((right, given_g), (wrong, law.c)):
            error = law.w @ score.divergence(mean, law.f)
            found.append(expected_risk(law, score) - error + law.w @ score.value(given_g))
    return Proposition(
        place="Equation 3",
        quote="we can do the same for the risk",
        says="risk = calibration error + refinement, for every proper score",
        computed=f"both sides {THREE}, on {LAWS}, two states with the same prediction",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="the error of E[Y given X] in the place of E[Y given g(X)]",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def table_1(size: int) -> Proposition:
    """Check whether the two columns of Table 1 add up to the risk of the printed losses."""
    wrong, right = [], []
    for law in laws(size):
        law, given_g = pairs(law)
        position, label, weight = law.atoms()
        brier = weight @ ((law.f[position] - label) ** 2).sum(axis=1)
        log_loss = -weight @ np.log((law.f[position] * label).sum(axis=1))
        for score, risk, constant in ((SQUARED, brier, 1.0), (ENTROPY, log_loss, 0.0)):
            columns = law.w @ score.divergence(given_g, law.f) - law.w @ score.value(given_g)
            wrong.append(risk - columns)
            right.append(risk - columns - constant)
    return Proposition(
        place="Table 1",
        quote="estimators of calibration error and refinement, induced by Brier score",
        says="the two columns add up to the risk of the loss in the first column, with no constant "
        "left over (Equation 3)",
        computed=f"their limits, on {LAWS}",
        cases=len(wrong),
        result=largest_deviation(wrong, ROUNDING),
        variant="1 is added to the refinement of the Brier score",
        variant_result=largest_deviation(right, ROUNDING),
        why="the refinement of the Brier score lacks a constant, which is 1 for all classifiers",
    )


def sharpness(size: int) -> Proposition:
    """Check sharpness against refinement, and against the mutual information for the log-loss."""
    right, wrong = [], []
    for law, score in itertools.product(laws(size), SCORES):
        mean = np.tile(law.w @ law.c, (STATES, 1))
        value = law.w @ score.value(law.c) - score.value(mean)[0]
        right.append(law.w @ score.divergence(law.c, mean) - value)
        wrong.append(law.w @ score.divergence(mean, law.c) - value)
        if score is ENTROPY:
            joint = law.w[:, None] * law.c
            information = (joint * np.log(joint / (law.w[:, None] * mean))).sum()
            right.append(law.w @ score.divergence(law.c, mean) - information)
    return Proposition(
        place="Equations 4 and 5",
        quote="Model sharpness is related to the refinement term",
        says="-sharpness = F(E[Y]) + refinement; for the log-loss, it is the mutual information",
        computed=f"both sides {THREE}, on {LAWS}",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="the arguments of D_F are exchanged",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def f_divergence(size: int) -> Proposition:
    """Check Proposition 6.1: sharpness as an f-divergence of class-conditional laws."""
    right, wrong = [], []
    for law, score in itertools.product(laws(size), SCORES):
        base = law.w @ law.c
        ratios = law.c / base  # dP_y / dP, by Bayes' theorem
        exact = law.w @ score.divergence(law.c, np.tile(base, (STATES, 1)))
        for found, weight in ((right, base), (wrong, np.ones_like(base) / len(base))):
            constant = score.value(weight[None])[0]
            found.append(law.w @ score.value(ratios * weight) - constant - exact)
    return Proposition(
        place="Proposition 6.1",
        quote="the model sharpness can be represented as an f-divergence",
        says="sharpness is the f-divergence of the predictions of the classes, with F^Y",
        computed=f"both sides {THREE}, on {LAWS}",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="F^Y weighs all classes alike, not by E[Y]",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def information_monotonicity(size: int) -> Proposition:
    """Check Theorem 6.2: sharpness falls along the layers of a network."""
    rng = np.random.default_rng(1)
    right, wrong = [], []
    for law, score in itertools.product(laws(size), SCORES):
        layer, values = np.arange(STATES), []
        for outputs in (STATES, 6, 4, 2):  # each layer merges outputs of the one before
            into = np.concatenate([np.arange(outputs), rng.integers(outputs, size=STATES)])
            layer = np.unique(into[layer], return_inverse=True)[1]
            values.append(law.w @ score.value(merged(law, layer)))
        right += list(-np.diff(values))
        wrong.append(values[-1] - law.w @ score.value(law.c))
    return Proposition(
        place="Theorem 6.2",
        quote="Information monotonicity in neural networks",
        says="the sharpness of a layer is at most that of the layer before",
        computed=f"all steps of chains of four random layers, {THREE}, on {LAWS}",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="a skip connection: the layer after the last one sees the input again",
        variant_result=smallest_margin(wrong, ROUNDING),
    )


def ranges(size: int) -> Proposition:
    """Check that the squared error of vectors lies in [0, 2]."""
    errors = []
    for law in laws(size):
        for f in (law.f, np.eye(law.f.shape[1])[law.c.argmin(axis=1)]):
            errors.append(law.w @ SQUARED.divergence(law.c, f))
        sure = np.eye(law.f.shape[1])[[0, 1]]
        errors.append(SQUARED.divergence(sure, sure[::-1]).mean())
    return Proposition(
        place="Section 3",
        quote="CE_2^2(g) in [0, 2], while CE_KL(g) in [0, inf)",
        says="the squared error of vectors is at most 2",
        computed=f"2 less the error, on {LAWS}, and for sure and wrong predictions",
        cases=len(errors),
        result=smallest_margin((2.0 - error for error in errors), ROUNDING),
        variant="at most 1, as for scalars",
        variant_result=smallest_margin((1.0 - error for error in errors), ROUNDING),
    )


def weakest_notion(size: int) -> Proposition:
    """Check that canonical calibration makes the top label calibrated, and not the reverse."""
    right, wrong = [], []
    for law in laws(size, (3, 5)):
        rows, top = np.arange(STATES), law.f.argmax(axis=1)
        confidence = law.f[rows, top]
        c = law.c.copy()  # a law whose top label alone is calibrated
        c[rows, top] = 0.0
        c *= ((1.0 - confidence) / c.sum(axis=1))[:, None]
        c[rows, top] = confidence
        right.append(law.w @ np.abs(law.f[rows, top] - confidence))
        wrong.append(law.w @ np.abs(law.f - c).sum(axis=1))
    return Proposition(
        place="Appendix A",
        quote="top-label confidence calibration represents the weakest notion",
        says="where the canonical error is 0, the top-label error is 0",
        computed="the top-label error where E[Y given g(X)] = g(X), on random laws of eight "
        "predictions with 3 and 5 classes",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="the reverse: the canonical error where the top label is calibrated",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


BANDWIDTH, FEW, MANY = 0.5, 60, 120


def _counts(n: int) -> np.ndarray:
    """Return all counts of four atoms in a sample of size n, shape (N, 4)."""
    first, second, third = np.indices((n + 1,) * 3).reshape(3, -1)
    rest = n - first - second - third
    return np.column_stack([first, second, third, rest])[rest >= 0]


@cache
def _moments(n: int, score: Bregman, form: str) -> tuple[float, float, float]:
    """Return mean and standard deviation of the kernel estimate exactly, and its limit.

    The law has two predictions, two classes, and unequal errors.
    """
    f, w, c = np.array([0.3, 0.6]), np.array([0.5, 0.5]), np.array([0.5, 0.3])
    vectors = np.column_stack([1.0 - f, f])
    kernel = np.exp([[_log_kernel(z, x) for x in vectors] for z in vectors])
    counts = _counts(n)  # atoms (prediction, label): (0, 0), (0, 1), (1, 0), (1, 1)
    chance = np.repeat(w, 2) * np.column_stack([1.0 - c, c]).ravel()
    weight = np.exp(gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(chance))
    value = np.zeros(len(counts))
    for atom, (i, y) in enumerate(itertools.product((0, 1), repeat=2)):
        others = counts - np.eye(4)[atom]
        use = counts[:, atom] > 0
        share = np.einsum("na,a->n", others[use][:, 1::2], kernel[i])
        ratio = share / (others[use] @ np.repeat(kernel[i], 2))
        r = np.column_stack([1.0 - ratio, ratio])
        value[use] += counts[use, atom] / n * _form(score, form, r, vectors[i], y)
    limit = 0.0
    for i, y in itertools.product((0, 1), repeat=2):
        ratio = (kernel[i] * w @ c) / (kernel[i] @ w)
        r = np.array([[1.0 - ratio, ratio]])
        limit += chance[2 * i + y] * _form(score, form, r, vectors[i], y)[0]
    mean = float(weight @ value)
    return mean, float(weight @ (value - mean) ** 2) ** 0.5, float(limit)


def _log_kernel(z: np.ndarray, x: np.ndarray) -> float:
    """Return the logarithm of the Dirichlet kernel (eq. 12) at z."""
    alpha = x / BANDWIDTH + 1.0
    return float(gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1.0) @ np.log(z))


def _form(score: Bregman, form: str, r: np.ndarray, g: np.ndarray, y: int) -> np.ndarray:
    """Return the summand of the direct form (eq. 9) or of that by the risk (eq. 14)."""
    g = np.tile(g, (len(r), 1))
    if form == "direct":
        return score.divergence(r, g)
    return score.value(r) - score.linear(np.tile(np.eye(2)[y], (len(r), 1)), g)


def _truth(score: Bregman) -> float:
    f, c = np.array([0.3, 0.6]), np.array([0.5, 0.3])
    c, f = np.column_stack([1.0 - c, c]), np.column_stack([1.0 - f, f])
    return float(score.divergence(c, f).mean())


def rate_of_bias(size: int) -> Proposition:
    """Check the exponent of n in the bias, towards the true error and towards the limit."""
    to_truth, to_limit = [], []
    for score, form in itertools.product((SQUARED, ENTROPY), ("direct", "risk")):
        few, many = _moments(FEW, score, form), _moments(MANY, score, form)
        truth = _truth(score)
        to_truth.append(np.log2((many[0] - truth) / (few[0] - truth)))
        to_limit.append(np.log2((many[0] - many[2]) / (few[0] - few[2])))
    return Proposition(
        place="Propositions 5.1 and 5.2",
        quote="has a bias that converges as O(n^-1)",
        says="at a fixed bandwidth, the distance of the expected estimate from the true error "
        "falls as 1 / n",
        computed=f"the exponent of n from {FEW} to {MANY}, exactly, for two predictions, bandwidth "
        f"{BANDWIDTH}, both forms and both scores; -1 within 0.1",
        cases=len(to_truth),
        result=largest_deviation((exponent + 1.0 for exponent in to_truth), 0.1),
        variant="the distance from the limit at that bandwidth",
        variant_result=largest_deviation((exponent + 1.0 for exponent in to_limit), 0.1),
        why="at a fixed bandwidth the limit is not the true error; the proof has no bandwidth",
    )


def rate_of_convergence(size: int) -> Proposition:
    """Check that the standard deviation is O(n^(-1/2))."""
    exponents = []
    for score, form in itertools.product((SQUARED, ENTROPY), ("direct", "risk")):
        few, many = _moments(FEW, score, form), _moments(MANY, score, form)
        exponents.append(np.log2(many[1] / few[1]))
    return Proposition(
        place="Proposition 5.1",
        quote="has a O(n^-1/2) convergence rate",
        says="the standard deviation of both forms falls at least as fast as n^(-1/2)",
        computed=f"-1/2 less the exponent of n from {FEW} to {MANY}, exactly, as before",
        cases=len(exponents),
        result=smallest_margin((-0.5 - exponent for exponent in exponents), 0.05),
        variant="as fast as 1 / n",
        variant_result=smallest_margin((-1.0 - exponent for exponent in exponents), 0.05),
    )


CHECKS = (
    bayes,
    decomposition,
    table_1,
    sharpness,
    f_divergence,
    information_monotonicity,
    ranges,
    weakest_notion,
    rate_of_bias,
    rate_of_convergence,
)
