"""Cross-validated ridges of CKCE: samples that are left out, and both ends of the grid."""

import numpy as np
import pytest

from harness import load_estimator, load_problem
from harness.errors import BadInputError
from harness.estimators import CKCE
from harness.estimators.ckce_ridge import RIDGES, cross_validated_ridge


def left_out(kernel, r, c):
    """Squared error of each sample by ridge regression on the others, with the same c."""
    errors = []
    for i in range(len(r)):
        rest = np.delete(np.arange(len(r)), i)
        system = kernel[np.ix_(rest, rest)] + c * np.eye(len(rest))
        fit = kernel[i, rest] @ np.linalg.inv(system) @ r[rest]
        errors.append(float(((r[i] - fit) ** 2).sum()))
    return np.array(errors)


def chosen(kernel, r):
    """The one-standard-error rule, from errors of samples that are really left out."""
    errors = [left_out(kernel, r, len(r) * ridge) for ridge in RIDGES]
    best = min(errors, key=np.mean)
    near = [
        np.mean(e) - np.mean(best) <= np.std(e - best) / len(r) ** 0.5 + 1e-9 * np.mean(e)
        for e in errors
    ]
    return max(ridge for ridge, is_near in zip(RIDGES, near) if is_near)


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.1, 0.3, 1.0])
def test_the_choice_is_that_of_samples_that_are_left_out(noise):
    """The choices go from the smallest ridge, without noise, to the largest."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1, 1, 1], 16)
    square = ((q[:, None] - q) ** 2).sum(axis=2)
    kernel = q @ q.T + np.exp(-square / (2 * 0.6**2))
    r = q - q.mean(axis=0) + noise * rng.normal(size=q.shape)
    choice = cross_validated_ridge(q, r, 0.6)
    assert choice == pytest.approx(chosen(kernel, r))
    tied, group = q[np.arange(16) % 4], np.arange(16) % 4
    r = tied - q[:4].mean(axis=0) + noise * rng.normal(size=q.shape)
    tied_choice = cross_validated_ridge(tied, r, None)
    assert tied_choice == pytest.approx(chosen((group[:, None] == group).astype(float), r))


def test_choices_differ_between_noise_and_structure():
    """Residuals of two predictions: with mean 0 at both, and constant at each."""
    q = np.tile([[0.3, 0.7], [0.6, 0.4]], (20, 1))
    noise = np.repeat([[0.5, -0.5], [-0.5, 0.5]], 20, axis=0)
    structure = np.tile([[0.5, -0.5], [-0.5, 0.5]], (20, 1))
    for gamma in (0.5, None):
        assert cross_validated_ridge(q, noise, gamma) == 10.0
        assert cross_validated_ridge(q, structure, gamma) == pytest.approx(1e-6)


def test_one_sample_and_right_labels_take_the_largest_ridge():
    """Of one sample nothing can be left out; residuals of 0 are fitted by any ridge."""
    for p, y in (([0.3], [1]), ([0.0, 1.0, 1.0], [0, 1, 1])):
        estimate = CKCE(ridge="cross_validation")(np.array(p), np.array(y))["ckce"]
        assert estimate.diagnostics["ridge"] == 10.0
        assert np.isfinite(estimate.value)


def test_the_estimate_has_the_chosen_ridge():
    problem = load_problem("beta_overconfident")
    p, y = problem.sample(300, np.random.default_rng(0))
    for kernel in ("linear_rbf", "kronecker"):
        e = CKCE(ridge="cross_validation", kernel=kernel)(p, y)["ckce"]
        again = CKCE(ridge=e.diagnostics["ridge"], kernel=kernel)(p, y)["ckce"]
        assert e.value == again.value
    assert load_estimator("ckce_cross_validated").ridge == "cross_validation"
    assert load_estimator("ckce").ridge is None  # n^(-1/4), as before


def test_a_calibrated_model_is_near_0():
    """20 samples of 500: every estimate is below that with n^(-1/4) in the mean, 0.0015."""
    problem = load_problem("beta_calibrated")
    samples = [problem.sample(500, np.random.default_rng(seed)) for seed in range(20)]
    values = [CKCE(ridge="cross_validation")(p, y)["ckce"].value for p, y in samples]
    fixed = [CKCE()(p, y)["ckce"].value for p, y in samples]
    assert np.median(values) < 0.1 * np.mean(fixed)


def test_another_word_is_refused():
    with pytest.raises(BadInputError, match="cross_validation"):
        CKCE(ridge="cv")
