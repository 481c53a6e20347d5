"""Our own estimators: the stack as a lower bound, its parts, and the learned estimate."""

import numpy as np
import pytest
from numpy.random import default_rng
from refusals import refuses
from slow_params import slow

import harness
from harness.calibrators import Isotonic, Spline, Temperature
from harness.errors import UndefinedError
from harness.estimators import Best, BestLower, Binned, Variational, scalar_ingredients
from harness.estimators.application import apply
from harness.estimators.ingredient_kernels import isotonic_columns, isotonic_folds
from harness.estimators.ingredients import compute_ingredients
from harness.estimators.stacking import convex_weights, cross_fit_pairs, stack_predictions
from harness.math.folds import assign_folds
from harness.math.notions import one_hot


def sample(problem, n, seed=0):
    return harness.load_problem(problem).sample(n, default_rng([5, seed]))


# The stack


class Spy:
    """A calibrator that records its training samples and predicts the number of the fit."""

    def __init__(self):
        self.seen = []

    def fit(self, p, y, rng):
        self.seen.append(set(p))
        number = len(self.seen) - 1
        return lambda x: np.full(x.shape, float(number))


def test_fits_leave_the_pair_of_folds_out():
    p, fold = np.linspace(0.0, 1.0, 20), np.arange(20) % 5
    spy = Spy()
    held_out = cross_fit_pairs([spy], p, np.zeros(20, int), fold, None)
    assert held_out.shape == (5, 1, 20) and len(spy.seen) == 15
    for v in range(5):
        for i in range(20):
            assert spy.seen[int(held_out[v, 0, i])] == set(p[(fold != v) & (fold != fold[i])])


@pytest.mark.parametrize("problem", ["beta_wavy", "dirichlet3_overconfident"])
def test_neither_maps_nor_weights_of_a_fold_see_its_labels(problem):
    p, y = sample(problem, 150)
    fold = np.arange(150) % 5
    others = np.where(fold == 2, 1 - np.minimum(y, 1), y)
    held_out = [
        stack_predictions(
            p, labels, fold, cross_fit_pairs([Isotonic(), Temperature()], p, labels, fold, None)
        )[0]
        for labels in (y, others)
    ]
    np.testing.assert_array_equal(held_out[0][fold == 2], held_out[1][fold == 2])
    assert not np.array_equal(held_out[0], held_out[1])


def test_weights_are_those_of_least_squares_inside_the_simplex():
    rng = default_rng(0)
    p, y = np.full(400, 0.5), (rng.random(400) < 0.8).astype(float)
    np.testing.assert_allclose(
        convex_weights(p, y, np.full((1, 400), 1.0)), [2 * y.mean() - 1], atol=1e-6
    )
    np.testing.assert_allclose(
        convex_weights(p, y, np.array([np.full(400, 0.6), np.zeros(400)])), [1.0, 0.0], atol=1e-6
    )
    assert convex_weights(p, y, np.array([p, np.zeros(400)]))[1] == 0.0  # the identity is better
    assert convex_weights(p, y, p[None]).shape == (1,)
    q = rng.random((4, 400))
    w = convex_weights(p, y, q)
    error = lambda w: ((p + w @ (q - p) - y) ** 2).mean()  # noqa: E731
    assert (w >= 0).all() and w.sum() <= 1 + 1e-9
    for other in rng.dirichlet(np.ones(5), 200)[:, :4]:
        assert error(w) <= error(other) + 1e-9


@pytest.mark.parametrize(
    "problem, notion",
    [
        ("beta_calibrated", "binary"),
        ("beta_wavy", "binary"),
        *slow(("dirichlet3_harmonic", "canonical")),
    ],
)
def test_the_stack_is_a_lower_bound_in_expectation(problem, notion):
    truth = {
        name: harness.load_problem(problem).truth(name, notion).value
        for name in ("l1", "l2_squared")
    }
    estimates = []
    for seed in range(20):
        p, y = sample(problem, 120, seed)
        estimates.append(BestLower((Isotonic(), Temperature()))(p, y, default_rng(seed), notion))
    for name, value in truth.items():
        x = np.array([e[name].value for e in estimates])
        assert x.mean() <= value + 3 * x.std(ddof=1) / np.sqrt(len(x))
    assert np.mean([e["l1"].low <= truth["l1"] for e in estimates]) == 1.0


@pytest.mark.parametrize("problem", ["beta_overconfident", *slow("beta_wavy")])
def test_the_stack_is_as_tight_as_each_of_its_calibrators(problem):
    calibrators = (Isotonic(), Temperature())
    gaps = []
    for seed in range(20):
        p, y = sample(problem, 1000, seed)
        stack = BestLower(calibrators)(p, y, default_rng(seed))
        singles = [
            Variational(single)(p, y, default_rng(seed)) for single in calibrators
        ]  # the same folds
        gaps.append(
            [
                [stack[name].value - single[name].value for single in singles]
                for name in ("l1", "l2_squared")
            ]
        )
    gaps = np.array(gaps)
    assert (
        gaps.mean(axis=0) >= -3 * gaps.std(axis=0, ddof=1) / np.sqrt(20) - [[2e-3], [2e-4]]
    ).all()
    assert gaps.mean(axis=0).max() > 0


def test_stacks_of_too_few_folds_or_no_calibrator_are_refused():
    refuses(lambda: BestLower(folds=2), "at least 3")
    refuses(lambda: BestLower(()), "calibrators is empty")
    with pytest.raises(UndefinedError, match=r"all calibrators are left out, .* \(30, 3\)"):
        BestLower((Spline(),))(
            np.full((30, 3), 1 / 3), np.arange(30) % 3, default_rng(0), "canonical"
        )


# The ingredients


def ingredients(p, y, seed=0):
    return compute_ingredients(p, y, np.arange(len(p)) % 5, default_rng(seed))


def test_equal_width_bins_are_those_of_the_plug_in():
    p, y = sample("beta_wavy", 500)
    assert ingredients(p, y).candidates["l1"][-8] == pytest.approx(
        Binned()(p, y)["l1"].value, abs=1e-12
    )


def test_held_out_gains_of_least_squares_are_lower_than_in_sample():
    p, y = sample("beta_overconfident", 400)
    of_members = np.reshape(ingredients(p, y).candidates["l2_squared"][1:33], (-1, 2, 2))
    held_out, in_sample = of_members[2:, :, 1].T  # isotonic and linear members
    assert (held_out < in_sample).all()


def test_products_of_neighbours_by_hand():
    """One bin of three rows: the mean of the products of two different residuals."""
    p, y = np.array([0.2, 0.4, 0.6]), np.array([0, 1, 1])
    residuals = y - p
    products = [residuals[i] * residuals[j] for i, j in ((0, 1), (0, 2), (1, 2))]
    value = scalar_ingredients.fine_square(p, y, np.arange(3), 8)
    assert value == pytest.approx(np.mean(products))


def test_products_of_neighbours_resolve_a_fast_square_wave():
    """Twenty periods of height 0.2: the squared error is 0.04, and 5,000 rows resolve them."""
    rng = default_rng(3)
    p = np.sort(0.2 + 0.6 * rng.random(5_000))
    wave = 0.2 * np.sign(np.sin(2 * np.pi * 20 * (p - 0.2) / 0.6))
    y = (rng.random(5_000) < p + wave).astype(int)
    value = scalar_ingredients.fine_square(p, y, np.arange(5_000), 8)
    # standard error: about (1/4) sqrt(2 / (5000 * 7)) + noise of the crossing terms, below 0.005
    assert value == pytest.approx(0.04, abs=0.015)


def test_kl_of_the_same_fit_is_the_mean_of_the_gains_of_the_stack():
    problem = harness.load_problem("beta_overconfident")
    truth = problem.truth("kl", "binary").value
    values = [
        Best(1)(*sample("beta_overconfident", 2000, s), default_rng(s))["kl"] for s in range(8)
    ]
    assert all(e.low is None for e in values)
    assert np.mean([e.value for e in values]) == pytest.approx(truth, rel=0.15)
    wrong = Best(1)(np.zeros(50), np.ones(50, int), default_rng(0))
    assert wrong["kl"].value == np.inf


@pytest.mark.parametrize("notion", ["binary", "top_label"])
def test_over_and_under_confidence_add_up_to_l1(notion):
    """Below 1/2 a prediction is overconfident if it is too small, except for top labels."""
    p, y = sample("beta_wavy", 1000)
    estimates = {name: e.value for name, e in apply(Best(1), p, y, notion, default_rng(0)).items()}
    side = 1.0 if notion == "top_label" else np.sign(p - 0.5)
    over, under = estimates["l1_over"], estimates["l1_under"]
    assert over + under == pytest.approx(estimates["l1"])
    assert over - under == pytest.approx((side * (p - y)).mean())


@pytest.mark.parametrize("name, notion", [
    ("beta_overconfident", "binary"), ("beta_mixed", "binary"),
    ("dirichlet3_overconfident", "top_label"), ("dirichlet3_overconfident", "classwise"),
])  # fmt: skip
def test_over_and_under_confidence_lie_near_the_truth(name, notion):
    problem = harness.load_problem(name)
    estimates = []
    for seed in range(6):
        p, y = harness.reduce(*sample(name, 3000, seed), notion)
        estimates.append(apply(Best(1), p, y, notion, default_rng(seed)))
    for side in ("l1_over", "l1_under"):
        truth = problem.truth(side, notion).value
        # A value has a standard deviation of at most 0.008: 3.7 standard errors of six.
        assert np.mean([e[side].value for e in estimates]) == pytest.approx(truth, abs=0.012)
        assert sum(e[side].low <= truth <= e[side].high for e in estimates) >= 5


def test_half_is_neither_over_nor_underconfident():
    e = Best(1)(np.full(40, 0.5), np.ones(40, int), default_rng(0))
    assert e["l1"].value > 0.4 and e["l1_over"].value == e["l1_under"].value == 0.0


@pytest.mark.parametrize("n", [1, 19, 30])
def test_equal_outcomes_do_not_exclude_calibrated_predictions(n):
    e = Best(1)(np.full(n, 0.95), np.ones(n, int), default_rng(0))
    assert e["l1_over"].low == e["l1_under"].low == 0.0
    assert (e["l1_over"].high == 1.0) == (n < 20)


def test_kl_of_a_few_samples_is_infinite_after_an_impossible_outcome():
    for p, y in (([0.0, 0.5], [1, 0]), ([[1.0, 0.0], [0.5, 0.5]], [1, 0])):
        assert Best(1)(np.array(p), np.array(y), default_rng(0))["kl"].value == np.inf
    assert Best(1)(np.array([0.0, 0.5]), np.array([0, 1]), default_rng(0))["kl"].value < 1.0


# The learned estimate


@pytest.mark.parametrize("notion, name, n", [
    ("binary", "beta_overconfident", 1000), ("binary", "beta_wavy", 3000),
    ("canonical", "dirichlet3_overconfident", 500)
])  # fmt: skip
def test_estimates_lie_near_the_truth_and_intervals_around_it(notion, name, n):
    problem = harness.load_problem(name)
    truth = {e: problem.truth(e, notion).value for e in ("l1", "l2_squared")}
    estimates = [Best(repeats=1)(*sample(name, n, seed), default_rng(seed)) for seed in range(12)]
    for e, value in truth.items():
        x = np.array([estimate[e].value for estimate in estimates])
        assert np.sqrt(((x - value) ** 2).mean()) <= 0.4 * value
        assert (
            sum(estimate[e].low <= value <= estimate[e].high for estimate in estimates) >= 9
        )  # 3 standard errors below 95 % of 12


@pytest.mark.parametrize("notion", ["binary", "top_label", "classwise", "canonical"])
def test_degenerate_samples_have_finite_values_in_range(notion):
    rng = default_rng(0)
    cases = [
        (np.full(50, 0.3), rng.integers(2, size=50)),
        (np.ones(50), np.zeros(50, int)),
        (np.ones(50), np.ones(50, int)),
    ]
    cases += [(np.full(n, 0.5), np.arange(n) % 2) for n in (1, 2, 19, 20, 21)]
    if notion != "binary":
        cases = [(np.column_stack([p, 1.0 - p, 0.0 * p]), 1 - y) for p, y in cases]
    for p, y in cases:
        p, y = harness.reduce(p, y, notion)
        estimates = apply(Best(repeats=1), p, y, notion, default_rng(1))
        assert estimates.pop("kl").value >= 0.0
        for name, e in estimates.items():
            assert (
                np.isfinite([e.value, e.low, e.high]).all()
                and 0.0 <= e.low <= e.value <= e.high <= 2.0
            ), name


def test_a_perfect_and_a_wrong_model():
    labels = np.arange(200) % 3
    right = Best(repeats=1)(one_hot(labels, 3), labels, default_rng(0))
    wrong = Best(repeats=1)(one_hot(labels, 3), (labels + 1) % 3, default_rng(0))
    assert right["l1"].value < 0.05 and wrong["l1"].value > 1.5 and wrong["l2_squared"].value > 1.5


def test_a_higher_level_is_wider_and_the_value_the_same():
    p, y = sample("beta_overconfident", 300)
    narrow, wide = (
        Best(repeats=1, level=level)(p, y, default_rng(0))["l1"] for level in (0.8, 0.99)
    )
    assert narrow.value == wide.value and wide.low <= narrow.low and narrow.high < wide.high


@pytest.mark.parametrize("repeats", [1, 4, 7])
def test_a_lower_end_of_rounding_is_zero(repeats):
    """If the intervals of all partitions begin at 0, so do their mean and its root."""
    lows = []
    for seed in range(4):
        p, y = sample("beta_calibrated", 200, seed)
        estimates = Best(repeats)(p, y, default_rng(seed))
        lows += [
            estimates[name].low / estimates[name].value for name in ("l1", "l2_squared", "rms")
        ]
    assert all(low == 0.0 or low > 1e-6 for low in lows)
    assert lows.count(0.0) >= 6


@pytest.mark.parametrize("grid", [None, 10])
def test_isotonic_levels_of_all_folds_are_those_of_the_calibrator(grid):
    rng = default_rng(7)
    p = np.sort(rng.random(300) if grid is None else rng.integers(0, grid, 300) / grid)
    y = (rng.random(300) < p**2).astype(np.int64)
    fold = rng.integers(0, 5, 300)
    held_out, in_sample = isotonic_folds(p, y, fold, 5)
    assert in_sample == pytest.approx(Isotonic().fit(p, y)(p), abs=1e-14)
    for v in range(5):
        inside = fold == v
        assert held_out[inside] == pytest.approx(
            Isotonic().fit(p[~inside], y[~inside])(p[inside]), abs=1e-14
        )


def test_isotonic_levels_by_hand():
    held_out, in_sample = isotonic_folds(
        np.array([0.1, 0.2, 0.3, 0.9]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), 2
    )
    assert in_sample.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert held_out.tolist() == [
        0.0,
        0.0,
        1.0,
        1.0,
    ]  # beyond the places where a map was fitted it is constant


def test_columns_of_isotonic_levels_sum_to_one():
    p, y = (
        np.array([[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]),
        np.array([0, 0, 1, 2]),
    )
    orders = np.argsort(p.T, axis=1, kind="stable")
    q = isotonic_columns(p, y, np.array([0, 1, 0, 1]), 2, orders)
    assert q.shape == (2, 4, 3)
    assert q.sum(axis=2) == pytest.approx(np.ones((2, 4)))
    assert q[1] == pytest.approx(np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]))


def test_blocks_of_rows_give_the_ingredients_of_the_whole_sample(monkeypatch):
    p, y = harness.load_problem("beta_overconfident").sample(40_000, default_rng(0))
    fold = assign_folds(y, 5, False, default_rng(1))
    blocks = compute_ingredients(p, y, fold, default_rng(2))
    monkeypatch.setattr(scalar_ingredients, "row_blocks", lambda n: [slice(0, n)])
    whole = compute_ingredients(p, y, fold, default_rng(2))
    for name, candidates in whole.candidates.items():
        np.testing.assert_allclose(blocks.candidates[name], candidates, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(blocks.features, whole.features, rtol=1e-8, atol=1e-10)


def test_predictions_that_differ_by_denormal_numbers_have_finite_estimates():
    """A softmax in double precision gives such numbers. The slope between two of them overflows."""
    p = np.tile([0.0, 5e-324, 1e-323, 0.4], 30)
    y = np.tile([0, 1, 0, 1, 0, 0], 20)
    levels = isotonic_folds(np.sort(p), y[np.argsort(p, kind="stable")], np.arange(120) % 5, 5)
    assert np.isfinite(levels).all() and (0.0 <= levels).all() and (levels <= 1.0).all()
    assert np.isfinite(Best(repeats=1)(p, y, default_rng(0))["l1"].value)
    vectors = np.column_stack([1.0 - p, p, 0.0 * p])
    assert np.isfinite(Best(repeats=1)(vectors, y, default_rng(0))["l1"].value)
