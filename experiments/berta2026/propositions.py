"""Statements of berta2026, decided by computation (see harness.evaluation.propositions)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from harness import calibrators
from harness.estimators.variational import Variational
from harness.evaluation.propositions import Proposition, largest_deviation, smallest_margin
from harness.math.divergences import ENTROPY, SQUARED, Bregman
from harness.math.estimands import p_norm
from harness.math.finite_laws import Law, random_laws
from harness.math.losses import Distance, Lp, OneSided

ROUNDING = 1e-12
ORDERS, CLASSES = (1.0, 1.5, 2.0, 3.0), tuple(range(2, 11))
CALIBRATORS = (
    calibrators.Identity(), calibrators.Temperature(), calibrators.Platt(),
    calibrators.BetaCalibration(), calibrators.Isotonic(), calibrators.HistogramBinning(),
    calibrators.Partition(), calibrators.NadarayaWatson(), calibrators.QuadraticScaling(),
)  # fmt: skip


def laws(size: int, classes: tuple[int, ...] = CLASSES) -> Iterator[Law]:
    """Yield random laws of four predictions, `size` / 10,000 for each number of classes."""
    return random_laws(max(size // 10_000, 2), classes=classes)


def expected(law: Law, contribution: Callable[..., np.ndarray], q: np.ndarray) -> float:
    """Return the expected contribution of a loss for recalibrated predictions q (m, k)."""
    position, label, weight = law.atoms()
    return float(weight @ contribution(law.f[position], q[position], label))


def variational_form(size: int) -> Proposition:
    """Check that the contributions of g* average to the Lp error, for p and k of all kinds."""

    def deviations(shift: float) -> list[float]:
        """Return deviations, with the loss of order p + shift for the error of order p."""
        return [
            expected(law, Lp(p + shift).contribution, law.c) - law.w @ p_norm(law.f - law.c, p)
            for law, p in itertools.product(laws(size), ORDERS)
        ]

    right = deviations(0.0)
    return Proposition(
        place="Proposition 1",
        quote="CE_p(f) = E[l_f(f, Y) - l_f(g* o f, Y)]",
        says="the expected gain of the loss by the optimal recalibration is the Lp error",
        computed="both sides by enumeration for p = 1, 1.5, 2, 3 and 2 to 10 classes, on random "
        "laws of four predictions",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="the loss of p + 1/2 in the place of that of p",
        variant_result=largest_deviation(deviations(0.5), ROUNDING),
    )


def maximiser(size: int) -> Proposition:
    """Check that no recalibration gains more than g*, which is where the least risk is attained."""
    rng = np.random.default_rng(1)

    def margins(best: Callable[[Law], np.ndarray]) -> list[float]:
        found = []
        for law, p in itertools.product(laws(size), ORDERS):
            gain = expected(law, Lp(p).contribution, best(law))
            others = (rng.dirichlet(np.ones(law.f.shape[1]), len(law.f)) for _ in range(20))
            found.append(gain - max(expected(law, Lp(p).contribution, q) for q in others))
        return found

    right = margins(lambda law: law.c)
    return Proposition(
        place="Equations 4 and 5",
        quote="where the min is taken over the set H of all measurable functions",
        says="the least expected loss of Proposition 1 exists, and g* = E[Y given f] attains it",
        computed="the gain of g* less the largest of 20 random functions, for p = 1, 1.5, 2, 3 and "
        "2 to 10 classes, on random laws of four predictions",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="the most probable class in the place of E[Y given f]",
        variant_result=smallest_margin(
            margins(lambda law: np.eye(law.c.shape[1])[law.c.argmax(axis=1)]), ROUNDING
        ),
    )


def _biases(calibrator: Any, **settings: Any) -> list[float]:
    """Return the error less the expected estimate, exactly, for small samples of two classes.

    The predictions of the five samples are fixed and their labels independent, so that the
    expectation is a sum over 32 vectors of labels.
    """
    f = np.array([0.1, 0.2, 0.4, 0.6, 0.9])
    estimator = Variational(calibrator, losses=(Lp(1.0),), **settings)
    found = []
    for c in (f, 0.25 + 0.5 * f, 1.0 - f):
        mean = 0.0
        for y in itertools.product((0, 1), repeat=5):
            labels = np.array(y)
            value = estimator(f, labels, np.random.default_rng(0))["l1"].value
            mean += float(np.where(labels == 1, c, 1.0 - c).prod()) * value
        found.append(float(np.abs(f - c).mean()) - mean)
    return found


def lower_bound(size: int) -> Proposition:
    """Check that cross-validation gives a lower bound in expectation, for each calibrator."""
    some = CALIBRATORS if size >= 10_000 else CALIBRATORS[:5]
    right = [b for calibrator in some for b in _biases(calibrator, folds=2)]
    wrong = [b for calibrator in some for b in _biases(calibrator, folds=1)]
    return Proposition(
        place="Section 2",
        quote="this yields a lower bound on the true calibration error",
        says="whatever the calibrator, the expected cross-validated estimate is at most the error",
        computed="the expectation of the L1 estimate over all labels of five samples, for "
        f"{len(some)} calibrators, two folds and three conditional means",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="the calibrator is fitted to the samples on which its loss is evaluated",
        variant_result=smallest_margin(wrong, ROUNDING),
    )


def random_folds(size: int) -> Proposition:
    """Check that the bound needs folds that do not depend on the labels."""
    some = (calibrators.Isotonic(), calibrators.HistogramBinning(bins=1))
    right = [b for calibrator in some for b in _biases(calibrator, folds=3)]
    wrong = [b for calibrator in some for b in _biases(calibrator, folds=3, stratified=True)]
    return Proposition(
        place="Algorithm 1",
        quote="Randomly divide {1, ..., n} into k approx. equal-sized folds",
        says="with folds that do not depend on the labels, the estimate is a lower bound",
        computed="as before, with three folds, for isotonic regression and the base rate",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="the folds are stratified by the label, as in the authors' package",
        variant_result=smallest_margin(wrong, ROUNDING),
    )


def _seminorm(rng: np.random.Generator, k: int, power: float) -> Distance:
    """Return d(f, q) = ||A (q - f)||^power for a random matrix A."""
    a = rng.normal(size=(k, k))

    def value(f: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.linalg.norm((q - f) @ a.T, axis=1) ** power  # type: ignore[no-any-return]

    def gradient(f: np.ndarray, q: np.ndarray) -> np.ndarray:
        norm = np.linalg.norm((q - f) @ a.T, axis=1)[:, None]
        return power * norm ** (power - 2.0) * ((q - f) @ a.T @ a)  # type: ignore[no-any-return]

    return Distance("distance_norm", value, gradient)


def _distances(rng: np.random.Generator, k: int) -> list[Distance]:
    weight = rng.uniform(0.1, 3.0, k)
    weighted = Bregman("bregman_weighted", lambda p: p * p @ weight, lambda p: 2.0 * p * weight)
    bregman = [Distance.of_bregman("distance_bregman", g) for g in (SQUARED, ENTROPY, weighted)]
    return [*bregman, _seminorm(rng, k, 1.0), _seminorm(rng, k, 1.5)]


def general_distances(size: int) -> Proposition:
    """Check Proposition 2 for norms and Bregman divergences, through `harness.math.losses`."""
    right, wrong = [], []
    for law in laws(size):
        for d in _distances(np.random.default_rng(2), law.f.shape[1]):
            error = law.w @ d.value(law.f, law.c)
            right.append(expected(law, d.contribution, law.c) - error)
            wrong.append(expected(law, d.contribution, (law.c + law.f) / 2.0) - error)
    return Proposition(
        place="Proposition 2",
        quote="is a proper loss satisfying",
        says="the gain by g* is the error of any distance that is convex and least at f",
        computed="both sides by enumeration for three Bregman divergences, a norm ||A(q - f)|| and "
        "its power 1.5, 2 to 10 classes, on random laws of four predictions",
        cases=len(right),
        result=largest_deviation(right, 1e-10),
        variant="a recalibration that goes half of the way to g*",
        variant_result=largest_deviation(wrong, 1e-10),
    )


def convexity(size: int) -> Proposition:
    """Check that the loss of Proposition 2 is proper, and that this needs convexity."""
    rng = np.random.default_rng(3)

    def margins(distances: Callable[[int], list[Distance]]) -> list[float]:
        found = []
        for law in laws(size):
            q = rng.dirichlet(np.ones(law.f.shape[1]), len(law.f))
            for d in distances(law.f.shape[1]):
                best, other = (expected(law, d.contribution, x) for x in (law.c, q))
                found.append(best - other)
        return found

    right = margins(lambda k: _distances(np.random.default_rng(2), k))
    return Proposition(
        place="Proposition 2",
        quote="Let D_f(X) be a convex function minimized at f(X)",
        says="the loss of a convex distance is proper: no other prediction has a smaller risk",
        computed="the gain of g* less that of a random prediction, for the distances before",
        cases=len(right),
        result=smallest_margin(right, 1e-10),
        variant="the distance ||A(q - f)||^(1/2), which is not convex",
        variant_result=smallest_margin(
            margins(lambda k: [_seminorm(np.random.default_rng(2), k, 0.5)]), 1e-10
        ),
    )


def two_sides(size: int) -> Proposition:
    """Check that over- and underconfidence are the two parts of the binary L1 error."""
    rng = np.random.default_rng(4)
    right, wrong = [], []
    for _ in range(max(size // 1000, 5)):
        f, c, w = rng.uniform(size=4), rng.uniform(size=4), rng.dirichlet(np.ones(4))
        for found, at_half in ((right, False), (wrong, True)):
            g = np.where(np.arange(4) == 0, 0.5, f) if at_half else f
            parts = [_side(g, c, w, side) for side in ("over", "under")]
            is_over = (c < g) == (g > 0.5)
            error = w * np.abs(g - c)
            found += [parts[0] - error @ is_over, parts[1] - error @ ~is_over]
    return Proposition(
        place="Appendix C",
        quote="can respectively be used to estimates the over- and under-confidence",
        says="the gains of the clipped losses are the L1 errors towards and away from 1/2",
        computed="both by enumeration, on random laws of four binary predictions",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="some predictions are 1/2, which belong to neither side",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def _side(f: np.ndarray, c: np.ndarray, w: np.ndarray, side: str) -> float:
    """Return the expected contribution of q = C to one side of the L1 error."""
    loss = OneSided(Lp(1.0), side)
    return float(
        sum(w * (c if y else 1.0 - c) @ loss.contribution(f, c, np.full(len(f), float(y)))
            for y in (0, 1))
    )  # fmt: skip


def dual_form(size: int) -> Proposition:
    """Check Remark 3: the largest <h, Y - f> over the unit ball is the L2 error, attained by h*."""
    rng = np.random.default_rng(5)

    def margins(order: float) -> list[float]:
        """Return the error less E<h, Y - f> for random h on the unit sphere of this order."""
        found = []
        for law in laws(size):
            error = law.w @ p_norm(law.c - law.f, 2.0)
            gap = law.c - law.f
            noise = 0.3 * rng.normal(size=(50, *gap.shape)) * p_norm(gap, 2.0)[:, None]
            noise[0] = 0.0  # the gradient itself
            h = gap + noise
            h = h / np.linalg.norm(h, ord=order, axis=2, keepdims=True)
            found.append(error - np.einsum("hmk,mk,m->h", h, gap, law.w).max())
        return found

    right = margins(2.0)
    return Proposition(
        place="Remark 3",
        quote="it coincides with our formulation via h(f(X)) = gradient",
        says="no h with ||h||_2 <= 1 gives more than the L2 error, which the gradient gives",
        computed="the error less the largest of the gradient and 49 functions h near it, 2 to 10 "
        "classes, on random laws of four predictions",
        cases=len(right),
        result=smallest_margin(right, ROUNDING),
        variant="the ball ||h||_inf <= 1",
        variant_result=smallest_margin(margins(np.inf), ROUNDING),
    )


def class_against_rest(size: int) -> Proposition:
    """Check the L1 error as a sum over classes, given the vector and given the class alone."""
    right, wrong = [], []
    for law in laws(size, (3, 4, 5)):
        f = law.f.copy()
        f[1, 0] = f[0, 0]  # two predictions agree in the first class
        f[1, 1:] *= (1.0 - f[1, 0]) / f[1, 1:].sum()
        c = law.c.copy()
        alone = c.copy()
        alone[:2, 0] = law.w[:2] @ c[:2, 0] / law.w[:2].sum()
        error = law.w @ np.abs(f - c).sum(axis=1)
        right.append(sum(law.w @ np.abs(f - c)[:, j] for j in range(f.shape[1])) - error)
        wrong.append(sum(law.w @ np.abs(f - alone)[:, j] for j in range(f.shape[1])) - error)
    return Proposition(
        place="Section 2",
        quote="is simply the sum of the binary L1 calibration error of each class",
        says="the L1 error is the sum over classes of E|f_i - C_i|, with C_i given the whole f",
        computed="both by enumeration, on random laws of four predictions with 3 to 5 classes, two "
        "of which agree in one class",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="each class by itself: C_i given f_i alone, as binary errors are defined",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


CHECKS = (
    variational_form,
    maximiser,
    lower_bound,
    random_folds,
    dual_form,
    general_distances,
    convexity,
    two_sides,
    class_against_rest,
)
