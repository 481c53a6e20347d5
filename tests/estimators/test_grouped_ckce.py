"""CKCE within groups: a dense formula on six points, invariances, and runs of a problem."""

import numpy as np
import pytest

import harness
from harness import load_estimator, load_problem
from harness.errors import BadInputError
from harness.estimators import RowBootstrap
from harness.estimators.application import apply
from harness.estimators.grouped_ckce import GroupedCKCE

P = np.array(
    [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]
    + [[0.4, 0.4, 0.2]]
)
Y, A = np.array([0, 1, 2, 0, 1, 0]), np.array(list("uuvvuv"))


def dense(p, y, a, gamma, ridge):
    """The trace of Section 3.1 with the kernel of Section 3.2 on predictions, times 1{a = a'}."""
    n, k = p.shape
    kernel = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if a[i] == a[j]:
                square = sum((p[i, c] - p[j, c]) ** 2 for c in range(k))
                dot = sum(p[i, c] * p[j, c] for c in range(k))
                kernel[i, j] = dot + np.exp(-square / (2 * gamma**2))
    m, psi = p.T, np.eye(k)[y].T
    inverse = np.linalg.inv(kernel + ridge * n * np.eye(n))
    bracket = m.T @ m + psi.T @ psi - m.T @ psi - psi.T @ m
    return np.trace(inverse @ bracket @ inverse @ kernel)


@pytest.mark.parametrize("method", ["auto", "cholesky", "low_rank"])
@pytest.mark.parametrize("ridge", [0.05, 1.0, None])
def test_the_dense_formula_on_six_points(method, ridge):
    expected = dense(P, Y, A, 0.5, 6**-0.25 if ridge is None else ridge)
    estimate = GroupedCKCE(0.5, ridge, method)(P, Y, groups=A)["grouped_ckce"]
    assert estimate.value == pytest.approx(expected, rel=1e-8)
    assert estimate.diagnostics["groups"] == 2


def test_one_group_is_ckce():
    expected = load_estimator("ckce")(P, Y)["ckce"].value
    for groups in (None, [7] * 6):
        assert GroupedCKCE()(P, Y, groups=groups)["grouped_ckce"].value == pytest.approx(expected)


def test_names_and_order_of_rows_do_not_matter():
    """Also with a group of one row."""
    a = np.array(["x", "y", "y", "x", "z", "x"])
    value = GroupedCKCE(ridge=0.1)(P, Y, groups=a)["grouped_ckce"].value
    order = np.array([5, 3, 1, 0, 2, 4])
    other = np.array([{"x": 9, "y": -1, "z": 2}[name] for name in a])
    again = GroupedCKCE(ridge=0.1)(P[order], Y[order], groups=other[order])["grouped_ckce"].value
    assert again == pytest.approx(value, rel=1e-12)


def test_groups_that_err_in_opposite_directions_by_hand():
    """f = (1/2, 1/2) everywhere, so the kernel is 3/2 within a group. With the mean residual r of
    a group of share w, a group adds w^2 3/2 / (3/2 w + ridge)^2 ||r||^2; without groups r = 0."""
    n, ridge = 400, 0.3
    y = np.repeat([1, 1, 1, 0, 0, 0, 0, 1], n // 8)
    a = np.repeat([0, 1], n // 2)
    estimator = GroupedCKCE(ridge=ridge)
    expected = 2 * 0.25 * 1.5 / (0.75 + ridge) ** 2 * (2 * 0.25**2)
    value = estimator(np.full(n, 0.5), y, groups=a)["grouped_ckce"].value
    assert value == pytest.approx(expected, rel=1e-9)
    assert estimator(np.full(n, 0.5), y)["grouped_ckce"].value == pytest.approx(0.0, abs=1e-12)


def test_the_noise_floor_is_the_mean_over_labels_of_a_calibrated_model():
    """All 2^4 labels of four predictions, with their probabilities."""
    p, a = np.array([0.2, 0.7, 0.7, 0.0]), np.array([0, 0, 1, 1])
    estimator, mean = GroupedCKCE(0.5, 0.2), 0.0
    for labels in np.ndindex(2, 2, 2, 2):
        y = np.array(labels)
        chance = np.where(y == 1, p, 1 - p).prod()
        estimate = estimator(p, y, groups=a)["grouped_ckce"]
        mean += chance * estimate.value
    assert estimate.diagnostics["noise_floor"] == pytest.approx(mean, rel=1e-9)


def test_wrong_groups_and_parameters_are_refused():
    with pytest.raises(BadInputError, match="groups"):
        GroupedCKCE()(P, Y, groups=[1])
    with pytest.raises(BadInputError, match="features"):
        GroupedCKCE(method="features")
    with pytest.raises(BadInputError, match="cross_validation"):
        GroupedCKCE(ridge="cross_validation")
    with pytest.raises(BadInputError, match="ridge"):
        GroupedCKCE(ridge=-1.0)


def test_a_run_passes_the_groups_of_the_problem(tmp_path):
    """The errors of both groups are 0.2 and cancel: only the grouped estimate sees them."""
    words = ["estimator=[grouped_ckce,ckce]", "problem=[opposed_groups]", "n=400", "reps=2"]
    frame = harness.run(["experiment=smoke", *words, "jobs=1", f"out={tmp_path}"])
    assert frame["status"].eq("ok").all()
    values = frame.pivot(index="rep", columns="estimator", values="value")
    problem = load_problem("opposed_groups")
    assert (values["grouped_ckce"] > 0.5 * problem.grouped_ckce(ridge=400**-0.25)).all()
    assert (values["ckce"] < 0.2 * values["grouped_ckce"]).all()


def test_a_wrapper_that_would_lose_the_groups_is_refused():
    wrapper, problem = RowBootstrap(GroupedCKCE()), load_problem("opposed_groups")
    p, y = np.array([0.3, 0.7]), np.array([0, 1])
    with pytest.raises(BadInputError, match="RowBootstrap"):
        apply(wrapper, p, y, "binary", np.random.default_rng(0), problem)


def test_a_missing_group_is_refused():
    p, y = np.array([0.3, 0.4]), np.array([1, 0])
    for groups in (["a", None], [1.0, np.nan]):
        with pytest.raises(BadInputError, match="missing values"):
            GroupedCKCE()(p, y, groups=groups)
