"""Statements of moskvichev2025, decided by computation (see harness.evaluation.propositions).

With m predictions q_i, kernel K (m, m) and gaps d_i = P(Y given q_i) - q_i, the difference of the
conditional mean operators maps the feature of q_i to d_i. Its squared Hilbert-Schmidt norm is

    ckce = sum_ij [K^-1]_ij <d_i, d_j>

where K is invertible.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from harness.estimators import CKCE
from harness.estimators.grouped_ckce import GroupedCKCE
from harness.evaluation.propositions import Proposition, largest_deviation, smallest_margin
from harness.math.finite_laws import Law, random_laws
from harness.math.kernels import rbf
from harness.math.mean_operators import operator_distance

from .extension_propositions import cost_of_features, cost_of_incomplete_cholesky, regression

ROUNDING = 1e-10
GAMMA = 0.3  # bandwidth of the kernel
STATES = 5


def laws(size: int, classes: tuple[int, ...] = (2, 3, 4)) -> Iterator[Law]:
    """Yield random laws of five predictions."""
    return random_laws(max(size // 1000, 2), STATES, classes)


def kernel(q: np.ndarray) -> np.ndarray:
    """Return the kernel of Section 3.2 between predictions q (m, k)."""
    return q @ q.T + rbf(q, q, 0.5 / GAMMA**2)


def weighted_ckce(gram: np.ndarray, gaps: np.ndarray, w: np.ndarray, ridge: float) -> float:
    """Return the squared distance of the operators that ridge regression gives, as n grows.

    `w` (m,) are the probabilities of the predictions. A ridge of 0 gives the minimum-norm solution.
    """
    root = np.sqrt(w)[:, None]
    scaled = root * gram * root.T
    # The ridge solution is sum_i alpha_i phi(q_i), with alpha = W^(1/2) (S + ridge)^-1 W^(1/2) d.
    inverse = np.linalg.pinv(scaled + ridge * np.eye(len(w)), rcond=1e-12, hermitian=True)
    alpha = root * (inverse @ (root * gaps))
    return float(np.einsum("ik,ij,jk->", alpha, gram, alpha))


def zero_if_calibrated(size: int) -> Proposition:
    """Check that ckce is above 0 for every miscalibrated law, with a characteristic kernel."""
    right, wrong = [], []
    for law in laws(size):
        gaps = law.c - law.f
        # Gaps that no linear map of the predictions shows: orthogonal to them under w.
        hidden = np.linalg.svd(law.f.T * law.w)[2][-1][:, None] * np.array([1.0, -1.0])
        for gap in (gaps, hidden):
            right.append(weighted_ckce(kernel(law.f), gap, law.w, 0.0))
            wrong.append(weighted_ckce(law.f @ law.f.T, gap, law.w, 0.0))
    return Proposition(
        place="Equation 5",
        quote="A CKCE of 0 implies the conditional distributions are equal",
        says="with the kernel of Section 3.2, the CKCE of a miscalibrated model is above 0",
        computed="the CKCE of random laws of five predictions with 2, 3 and 4 classes, and of gaps "
        "that are orthogonal to the predictions; 1e-6 is subtracted",
        cases=len(right),
        result=smallest_margin(np.array(right) - 1e-6),
        variant="the linear part of the kernel alone, which is not characteristic",
        variant_result=smallest_margin(np.array(wrong) - 1e-6),
    )


def _changes(size: int, value: Callable[[Law, np.ndarray], float]) -> list[float]:
    """Return relative changes of a value if the law of the predictions alone changes."""
    rng = np.random.default_rng(1)
    found = []
    for law in laws(size, (3,)):
        first, second = (value(law, rng.dirichlet(np.full(STATES, 5.0))) for _ in range(2))
        found.append(abs(second / first - 1.0))
    return found


def _ckce(ridge: float) -> Callable[[Law, np.ndarray], float]:
    return lambda law, w: weighted_ckce(kernel(law.f), law.c - law.f, w, ridge)


def _jkce(law: Law, w: np.ndarray) -> float:
    gaps = (law.c - law.f) * w[:, None]
    return float(np.einsum("ik,ij,jk->", gaps, kernel(law.f), gaps))


def marginal_of_predictions(size: int) -> Proposition:
    """Check that the population CKCE does not depend on the marginal of the predictions."""
    ridge = 1000**-0.25
    return Proposition(
        place="Section 5.2.1",
        quote="we would expect that calibration error stays constant",
        says="the CKCE of the population depends on the predictions that occur, not on how often",
        computed="its relative change under another law of the same five predictions; 1e-6 is "
        "allowed",
        cases=len(_changes(size, _ckce(0.0))),
        result=largest_deviation(_changes(size, _ckce(0.0)), 1e-6),
        variant="with the ridge that the paper takes at n = 1,000",
        variant_result=largest_deviation(_changes(size, _ckce(ridge)), 1e-6),
    )


def joint_error(size: int) -> Proposition:
    """Check that the joint error does depend on the marginal of the predictions."""
    changes = _changes(size, _jkce)
    without = _changes(size, _ckce(0.0))
    return Proposition(
        place="Section 4.3",
        quote="the estimator will be sensitive to the difference between the marginal",
        says="the JKCE changes by more than 0.1 % if the law of the predictions alone changes",
        computed="the relative change under another law of the same five predictions, less 0.1 %",
        cases=len(changes),
        result=smallest_margin(np.array(changes) - 1e-3),
        variant="the same of the CKCE of the population",
        variant_result=smallest_margin(np.array(without) - 1e-3),
    )


def trace_form(size: int) -> Proposition:
    """Check the trace form against operators between explicit features, and our estimator."""
    rng = np.random.default_rng(2)

    def deviations(power: int) -> list[float]:
        """Return deviations, with the ridge times n^power beside the kernel."""
        found = []
        for k, _ in itertools.product((2, 3, 4), range(max(size // 10_000, 2))):
            q, y, ridge = rng.dirichlet(np.ones(k), 8), rng.integers(k, size=8), 0.1
            phi = np.linalg.cholesky(kernel(q) + 1e-13 * np.eye(8)).T  # columns: features of q_i
            inverse = np.linalg.inv(phi @ phi.T + ridge * 8.0**power * np.eye(8))
            operators = [outcome.T @ phi.T @ inverse for outcome in (np.eye(k)[y], q)]
            norm = ((operators[0] - operators[1]) ** 2).sum()
            ours = CKCE(gamma=GAMMA, ridge=ridge, method="cholesky")(q, y)["ckce"].value
            found.append(ours - norm)
        return found

    right = deviations(1)
    return Proposition(
        place="Section 3.1",
        quote="an equivalent formulation for the CKCE estimator is",
        says="the trace form equals the Hilbert-Schmidt norm of the difference of the operators",
        computed="our estimator less the norm of operators between explicit features, on random "
        "samples of size 8 with 2, 3 and 4 classes",
        cases=len(right),
        result=largest_deviation(right, 1e-9),
        variant="lambda in the place of lambda n",
        variant_result=largest_deviation(deviations(0), 1e-9),
    )


def _expectation(law: Law, n: int, statistic: Callable[[np.ndarray, np.ndarray], float]) -> float:
    """Return the exact expectation of a statistic of predictions and residuals of a sample."""
    position, label, weight = law.atoms()
    total = 0.0
    for sample in itertools.product(range(len(weight)), repeat=n):
        chosen = list(sample)
        q = law.f[position[chosen]]
        total += weight[chosen].prod() * statistic(q, label[chosen] - q)
    return total


def unbiased_joint_error(size: int) -> Proposition:
    """Check that the JKCE has an unbiased estimator, by all samples of size 3."""
    right, wrong = [], []
    for law in random_laws(2, 2, (2, 3)):
        truth = _jkce(law, law.w)
        for found, same in ((right, 0.0), (wrong, 1.0)):
            pairs = np.ones((3, 3)) - (1.0 - same) * np.eye(3)
            found.append(
                _expectation(law, 3, lambda q, r, s=pairs: (s * kernel(q) * (r @ r.T)).sum())
                / pairs.sum()
                - truth
            )
    return Proposition(
        place="Section 4.3",
        quote="it is possible to construct an unbiased estimator",
        says="the mean over pairs of different samples estimates the JKCE without bias",
        computed="its expectation over all samples of size 3, on random laws of two predictions",
        cases=len(right),
        result=largest_deviation(right, ROUNDING),
        variant="pairs of a sample with itself are included",
        variant_result=largest_deviation(wrong, ROUNDING),
    )


def biased_estimator(size: int) -> Proposition:
    """Check that the CKCE of a calibrated model is overestimated."""
    right, wrong = [], []
    off = 1.0 - np.eye(3)
    for law in random_laws(2, 2, (2, 3)):
        calibrated = law._replace(c=law.f)
        right.append(
            _expectation(
                calibrated, 3, lambda q, r: operator_distance(kernel(q), r @ r.T, 3**-0.25)
            )
        )
        wrong.append(
            _expectation(calibrated, 3, lambda q, r: (off * kernel(q) * (r @ r.T)).sum() / 6.0)
        )
    return Proposition(
        place="Section 5.1.2",
        quote="CKCE and ECE estimators are both biased",
        says="the expected CKCE estimate of a calibrated model is above 0",
        computed="its expectation over all samples of size 3, on random laws of two predictions; "
        "1e-6 is subtracted",
        cases=len(right),
        result=smallest_margin(np.array(right) - 1e-6),
        variant="the unbiased estimate of the JKCE",
        variant_result=smallest_margin(np.array(wrong) - 1e-6),
    )


def groups(size: int) -> Proposition:
    """Check that a kernel on predictions and groups sees errors that cancel between groups."""
    q, a = np.full(12, 0.5), np.repeat(["first", "second"], 6)
    right, wrong = [], []
    for ones in (0, 1, 2, 4, 5, 6):
        first = (np.arange(6) < ones).astype(int)
        y = np.concatenate([first, 1 - first])
        for found, names in ((right, a), (wrong, np.zeros(12))):
            estimate = GroupedCKCE(GAMMA, 0.01)(q, y, groups=names)["grouped_ckce"]
            found.append(estimate.value - 0.01)
    return Proposition(
        place="Section 3.3",
        quote="one can similarly use the CKCE to measure the group calibration",
        says="with a kernel on pairs of prediction and group, errors that cancel between groups "
        "are seen",
        computed="the CKCE of 12 predictions of 1/2 whose labels are opposite in two groups, less "
        "0.01",
        cases=len(right),
        result=smallest_margin(right),
        variant="the kernel does not see the groups",
        variant_result=smallest_margin(wrong),
    )


def schedule(size: int) -> Proposition:
    """Check that the ridge n^(-1/4) meets the two conditions for consistency."""

    def margins(power: float) -> list[float]:
        """Return the exponents of n in 1 / ridge and in n ridge^3, less 1e-9."""
        return [power - 1e-9, 1.0 - 3.0 * power - 1e-9]

    return Proposition(
        place="Section 2.3",
        quote="we choose the regularisation parameter to have schedule n^(-1/4)",
        says="the ridge n^(-1/4) falls to 0 while n ridge^3 grows without bound",
        computed="the exponents of n in both",
        cases=2,
        result=smallest_margin(margins(0.25)),
        variant="the ridge n^(-1/3)",
        variant_result=smallest_margin(margins(1 / 3)),
    )


def random_features(size: int) -> Proposition:
    """Check that the variance of random Fourier features falls as 1 / D."""
    draws, distances = max(size // 20, 1000), np.array([0.5, 1.0, 2.0])

    def exponents(of_deviation: bool) -> np.ndarray:
        rng = np.random.default_rng(3)
        spread = [
            np.cos(rng.normal(size=(draws, D, 1)) * distances).mean(axis=1).var(axis=0)
            for D in (8, 128)
        ]
        ratio = np.log(spread[1] / spread[0]) / np.log(16.0)
        return ratio / 2.0 if of_deviation else ratio

    allowed = 4.0 * np.sqrt(4.0 / draws) / np.log(16.0)  # four standard errors of the exponent
    return Proposition(
        place="Section 3.2",
        quote="random Fourier features can easily be used to approximate it",
        says="the variance of the approximated kernel falls as 1 / D with D features",
        computed=f"the exponent of D from 8 to 128, by {draws:,} draws at three distances; four "
        f"standard errors, {allowed:.2g}, are allowed",
        cases=len(distances),
        result=largest_deviation(exponents(False) + 1.0, allowed),
        variant="its standard deviation falls as 1 / D",
        variant_result=largest_deviation(exponents(True) + 1.0, allowed),
    )


CHECKS = (
    schedule,
    zero_if_calibrated,
    trace_form,
    random_features,
    cost_of_features,
    cost_of_incomplete_cholesky,
    groups,
    regression,
    joint_error,
    unbiased_joint_error,
    biased_estimator,
    marginal_of_predictions,
)
