"""Groups whose errors cancel: exact values by hand and by simulation."""

import numpy as np
import pytest

from harness.contract.items import ContractBrokenError
from harness.contract.problems import Case, returns_samples
from harness.errors import BadInputError
from harness.estimators import CKCE
from harness.estimators.grouped_ckce import GroupedCKCE
from harness.problems.opposed_groups import OpposedGroups


def test_the_value_of_one_prediction_by_hand():
    """f = (1/2, 1/2), kappa = 3/2: sum_a w_a^2 kappa / (w_a kappa + ridge)^2 2 e_a^2, for any
    bandwidth. Shares 0.25 and 0.75, errors 0.3 and -0.1."""
    problem = OpposedGroups((0.5,), share=0.25, error=0.4)
    for ridge in (0.0, 0.2):
        expected = sum(
            w**2 * 1.5 / (1.5 * w + ridge) ** 2 * 2 * e**2 for w, e in ((0.25, 0.3), (0.75, -0.1))
        )
        for gamma in (0.1, 2.0):
            assert problem.grouped_ckce(gamma, ridge) == pytest.approx(expected, rel=1e-12)


def test_the_value_of_two_predictions_by_the_inverse_of_the_kernel():
    """Without a ridge it is sum_ij [K^-1]_ij <d_i, d_j> in each group, whatever the weights."""
    problem = OpposedGroups((0.2, 0.6), share=0.6, error=0.3)
    off = np.exp(-2 * 0.4**2 / (2 * 0.5**2)) + 0.2 * 0.6 + 0.8 * 0.4
    inverse = np.linalg.inv([[0.2**2 + 0.8**2 + 1, off], [off, 0.6**2 + 0.4**2 + 1]])
    expected = sum(2 * e**2 * inverse.sum() for e in (0.4 * 0.3, -0.6 * 0.3))
    assert problem.grouped_ckce(0.5) == pytest.approx(expected, rel=1e-10)


def test_samples_have_the_stated_probabilities():
    """P(Y = 1 given p, A) within 4.5 standard errors in all six cells, and P(Y = 1 given p) = p."""
    problem, n = OpposedGroups(share=0.3), 120_000
    p, y = problem.sample(n, np.random.default_rng(1))
    a = problem.groups(n, np.random.default_rng(1))
    for value in problem.predictions:
        error = (y[p == value] - value).mean()
        assert abs(error) < 4.5 * 0.5 / (p == value).sum() ** 0.5
        for group, gap in ((1, 0.7 * 0.4), (0, -0.3 * 0.4)):
            rows = (p == value) & (a == group)
            assert rows.mean() == pytest.approx([0.7, 0.3][group] / 3, abs=4.5 * 0.5 / n**0.5)
            assert abs((y[rows] - value - gap).mean()) < 4.5 * 0.5 / rows.sum() ** 0.5


def test_the_estimate_tends_to_the_exact_value():
    """Ten samples of 10,000, fixed ridge: within four standard errors and the noise floor."""
    problem, estimator = OpposedGroups(share=0.3), GroupedCKCE(0.3, 0.1)
    values, floor, blind = [], 0.0, []
    for seed in range(10):
        p, y = problem.sample(10_000, np.random.default_rng(seed))
        a = problem.groups(10_000, np.random.default_rng(seed))
        e = estimator(p, y, groups=a)["grouped_ckce"]
        values.append(e.value)
        floor = max(floor, e.diagnostics["noise_floor"])
        blind.append(CKCE(0.3, 0.1)(p, y)["ckce"].value)
    error = np.std(values, ddof=1) / 10**0.5
    assert abs(np.mean(values) - problem.grouped_ckce(0.3, 0.1)) < 4 * error + floor
    assert np.mean(blind) < 0.02 * np.mean(values)


def test_a_small_sample_is_a_prefix_with_its_groups():
    problem = OpposedGroups()
    few, many = (problem.groups(n, np.random.default_rng(3)) for n in (5, 50))
    assert few.tolist() == many[:5].tolist()


def test_errors_that_ignore_the_group_are_0_and_scores_are_known():
    """Brier score of p in {0.3, 0.5, 0.7}: the mean of p (1 - p)."""
    problem = OpposedGroups()
    assert problem.truth("l1", "binary").value == 0.0
    assert problem.truth("brier", "binary").value == pytest.approx((0.21 + 0.25 + 0.21) / 3)
    assert problem.truth("ckce", "canonical").value == 0.0
    assert problem.truth("grouped_ckce", "canonical") is None


def test_probabilities_outside_of_the_unit_interval_are_refused():
    for wrong in ({"error": 0.9}, {"share": 1.0}, {"predictions": ()}, {"predictions": (0.5, 0.5)}):
        with pytest.raises(BadInputError, match="OpposedGroups"):
            OpposedGroups(**wrong)


def test_groups_of_another_length_break_the_contract():
    class Wrong(OpposedGroups):
        def groups(self, n, rng):
            return np.zeros(n + 1)

    with pytest.raises(ContractBrokenError, match="groups"):
        returns_samples(Case(Wrong(), "binary"))
