"""Calibrators: hand-computed fits, exact equivalents, and edges."""

import numpy as np
import pytest
from golden_data import arrays, rows
from hypothesis import given
from hypothesis import strategies as st
from samples import assert_probabilities, rng
from scipy.special import expit, logit

from harness.calibrators import (
    ExtraTrees,
    Isotonic,
    NadarayaWatson,
    Partition,
    RandomForest,
    Temperature,
    logits,
    temperature,
)
from harness.calibrators.nadaraya_watson import DENSE
from harness.math.softmax import softmax

EVERY = [
    Isotonic(),
    Temperature(),
    NadarayaWatson(),
    Partition(),
    NadarayaWatson(0.01),
    Partition(3, 3, 42),
    RandomForest(5),
    ExtraTrees(5),
]


# All of them


@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
@pytest.mark.parametrize(
    "p",
    [np.linspace(0, 1, 40), np.full(40, 0.3), np.zeros(40), np.ones(40), np.array([0.4])],
    ids=len,
)
def test_scalars_become_probabilities(calibrator, p):
    y = (np.arange(len(p)) % 3 == 0).astype(np.int64)
    for outcome in (y, np.zeros_like(y), np.ones_like(y)):
        x = np.array([0.0, 0.2, 0.5, 1.0])
        assert_probabilities(calibrator.fit(p, outcome, rng())(x), x, -1e-14)


@pytest.mark.parametrize("calibrator", EVERY, ids=repr)
@pytest.mark.parametrize("n", [1, 5, 60])
def test_vectors_become_vectors_of_probabilities(calibrator, n):
    p = rng(1).dirichlet(np.full(4, 0.5), n)
    p[0] = [1.0, 0.0, 0.0, 0.0]
    y = rng(2).integers(0, 3, n)  # class 3 is never seen
    x = np.vstack([rng(3).dirichlet(np.full(4, 0.5), 20), np.eye(4)])
    q = calibrator.fit(p, y, rng())(x)
    assert q.shape == x.shape and np.isfinite(q).all() and q.min() >= 0
    if not isinstance(
        calibrator, NadarayaWatson
    ):  # which takes a denominator below 1e-12 as 1e-12: tested below
        np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    "calibrator", [Isotonic(), NadarayaWatson(), Partition(random_state=42)], ids=repr
)
def test_a_class_that_was_never_seen_gets_nothing(calibrator):
    p = rng(1).dirichlet(np.ones(3), 200)
    q = calibrator.fit(p, rng(2).integers(0, 2, 200), rng())(p)
    np.testing.assert_array_equal(q[:, 2], 0.0)


# Isotonic


def test_isotonic_pools_adjacent_violators():
    """The fit is linear between the fitted points and constant outside.

    The sample is y = 0, 1, 0, 1, 1 at p = .1, .3, .5, .7, .9. The violators 1, 0 pool to 1/2.
    """
    q = Isotonic().fit(np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0, 1, 0, 1, 1]))
    x = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    np.testing.assert_allclose(q(x), [0, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1, 1, 1, 1], atol=1e-15)


def test_isotonic_vectors_are_one_versus_rest_and_normalised():
    p = rng(1).dirichlet(np.ones(3), 50)
    y = rng(2).integers(0, 3, 50)
    scores = np.column_stack(
        [Isotonic().fit(p[:, j], (y == j).astype(int))(p[:, j]) for j in range(3)]
    )
    q = Isotonic().fit(p, y)(p)
    np.testing.assert_allclose(q, scores / scores.sum(axis=1, keepdims=True), rtol=1e-14)


def test_isotonic_is_uniform_where_every_class_has_zero():
    p = np.array([[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]])
    q = Isotonic().fit(p, np.array([0, 1]))(np.array([[0.3, 0.3, 0.4]]))
    np.testing.assert_allclose(q, [[1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)


# Temperature


@pytest.mark.parametrize("beta", [0.4, 1.0, 4.0])
def test_temperature_recovers_a_known_beta(beta):
    """Each p occurs 1,000 times with the share of ones of sigma(beta logit p).

    The optimum is then beta. Rounding of the share moves it by less than 1e-3.
    """
    p = np.linspace(0.02, 0.98, 97)
    ones = np.round(1000 * expit(beta * logit(p))).astype(int)
    y = np.concatenate([np.repeat([1, 0], [k, 1000 - k]) for k in ones])
    q = Temperature().fit(np.repeat(p, 1000), y)(np.array([0.8]))
    assert logit(q)[0] / logit(0.8) == pytest.approx(beta, rel=2e-3)


def test_temperature_on_two_columns_is_that_on_one():
    p, y = rng(1).beta(0.5, 0.5, 200), rng(2).integers(0, 2, 200)
    single, columns = (
        Temperature().fit(p, y)(p),
        Temperature().fit(np.column_stack([1 - p, p]), y)(np.column_stack([1 - p, p])),
    )
    np.testing.assert_allclose(columns[:, 1], single, rtol=1e-8)


def test_temperature_equals_the_authors():
    for row in rows("peer_outputs.csv"):
        if row["metric"] == "invtemp_full_fit":
            data = arrays(row["input"])
            q = Temperature().fit(data["p"], data["y"])
            if data["p"].ndim == 1:
                beta = logit(q(np.array([0.8])))[0] / logit(0.8)
            else:
                probabilities = q(np.array([[0.2, 0.2, 0.6]]))[0]
                beta = np.log(probabilities[2] / probabilities[0]) / np.log(3)
            assert beta == pytest.approx(float(row["value"]), rel=1e-12), row["input"]


def plain_temperature(p, y):
    """Return beta, and the map at p, by 30 bisections of log beta on [-16, 16].

    Each bisection takes the half that the sign of the gradient gives.
    """
    if p.ndim == 1:
        z = logits.log_odds(p)
        target = float((z * y).mean())
    else:
        z = logits.floored_log(p)
        target = float(z[np.arange(len(y)), y].mean())
    low, high = -16.0, 16.0
    for _ in range(30):
        middle = (low + high) / 2
        beta = np.exp(middle)
        expected = z * expit(beta * z) if p.ndim == 1 else (z * softmax(beta * z)).sum(axis=1)
        if float(expected.mean()) - target > 0:
            high = middle
        else:
            low = middle
    beta = np.exp((low + high) / 2)
    return beta, expit(beta * z) if p.ndim == 1 else softmax(beta * z)


def bits_of_temperature(p, y):
    np.testing.assert_array_equal(Temperature().fit(p, y)(p), plain_temperature(p, y)[1])


@given(
    st.integers(1, 300),
    st.sampled_from([1, 2, 3, 10]),
    st.sampled_from([0.02, 0.5, 1.0, 5.0]),
    st.floats(-6.0, 6.0),
    st.integers(0, 10**6),
)
def test_temperature_is_the_plain_bisection_to_the_last_bit(n, k, alpha, log_beta, seed):
    """Newton's method saves gradients and changes no bit of the result.

    The labels have temperatures inside and outside the range of the bisection.
    """
    r = rng(seed)
    if k == 1:
        p = r.beta(alpha, alpha, n)
        bits_of_temperature(
            p, (r.random(n) < expit(np.exp(log_beta) * logits.log_odds(p))).astype(int)
        )
    else:
        p = r.dirichlet(np.full(k, alpha), n)
        c = np.cumsum(softmax(np.exp(log_beta) * logits.floored_log(p)), axis=1)
        bits_of_temperature(p, (r.random((n, 1)) > c[:, :-1]).sum(axis=1))


NASTY = [0.0, 1.0, 0.5, 0.25, 0.75, 5e-324, 1e-300, 1 - 2**-53, 0.5 + 2**-50, 1e-9, 0.999]


@given(st.lists(st.tuples(st.sampled_from(NASTY), st.integers(0, 1)), min_size=1, max_size=12))
def test_temperature_is_the_plain_bisection_where_gradients_vanish(pairs):
    """Saturated, separable, constant and flat samples have no root, a root at infinity, or many
    roots.
    """
    p, y = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    bits_of_temperature(p, y)
    bits_of_temperature(np.column_stack([1 - p, p]), y)


def test_temperature_computes_few_gradients(monkeypatch):
    """Bisection alone would compute 30 gradients. Newton's method needs about ten."""
    asked = []
    p = rng(1).beta(0.5, 0.5, 2000)
    y = (rng(2).random(2000) < expit(0.4 * logit(p))).astype(int)
    monkeypatch.setattr(temperature, "expit", lambda x: asked.append(1) or expit(x))
    assert Temperature().slope(p, y) == plain_temperature(p, y)[0]
    assert len(asked) <= 12


# Random forest and extremely randomised trees

FORESTS = [RandomForest(20), ExtraTrees(20)]


@pytest.mark.parametrize("calibrator", FORESTS, ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_forests_are_those_of_scikit_learn(calibrator, k):
    """The forests have scikit-learn's defaults.

    The seed is the field `seed`, or else the given integer, or else a draw from the given stream.
    """
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    kind = RandomForestClassifier if isinstance(calibrator, RandomForest) else ExtraTreesClassifier
    p, y, x = (rng(i).random(60) if k == 2 else rng(i).dirichlet(np.ones(3), 60) for i in (1, 2, 3))
    y = rng(2).integers(0, k, 60)
    columns = (lambda a: a[:, None]) if k == 2 else (lambda a: a)
    for seed, given_rng, fixed in (
        (5, 5, None),
        (int(rng(4).integers(2**31 - 1)), rng(4), None),
        (3, rng(4), 3),
    ):
        expected = (
            kind(n_estimators=20, random_state=seed).fit(columns(p), y).predict_proba(columns(x))
        )
        q = type(calibrator)(20, fixed).fit(p, y, given_rng)(x)
        np.testing.assert_array_equal(q, expected[:, 1] if k == 2 else expected)


@pytest.mark.parametrize("calibrator", FORESTS, ids=repr)
def test_a_forest_of_extremely_randomised_trees_remembers(calibrator):
    """Fully grown trees: without bootstrap each distinct prediction gets the share of its own
    labels back."""
    p, y = np.repeat([0.1, 0.2, 0.7], [3, 2, 1]), np.array([1, 0, 0, 1, 0, 1])
    q = calibrator.fit(p, y, 0)(np.array([0.1, 0.2, 0.7]))
    if isinstance(calibrator, ExtraTrees):
        np.testing.assert_allclose(q, [1 / 3, 1 / 2, 1.0], rtol=1e-12)
    else:
        assert (q != [1 / 3, 1 / 2, 1.0]).any()  # a bootstrap sample leaves some out


@pytest.mark.parametrize("calibrator", FORESTS, ids=repr)
def test_forests_keep_the_columns_of_unseen_classes(calibrator):
    """A class that the fit never sees keeps its column, filled with 0. A single class has q = 1."""
    p = rng(1).dirichlet(np.ones(4), 50)
    for seen in ([1, 3], [0, 2], [3]):
        q = calibrator.fit(p, np.resize(seen, 50), 0)(p)
        assert q.shape == p.shape
        np.testing.assert_array_equal(np.delete(q, seen, axis=1), 0.0)
        np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
    for label in (0, 1):
        np.testing.assert_array_equal(
            calibrator.fit(p[:, 0], np.full(50, label), 0)(p[:, 0]), np.full(50, float(label))
        )


# Nadaraya-Watson


def textbook(x, p, y, bandwidth):
    kernel = np.exp(-((x[:, None] - p) ** 2) / (2 * bandwidth**2))
    total = kernel.sum(axis=1)
    return np.where(total > 0, (kernel @ y) / np.maximum(total, 1e-12), 0.5)


def test_nadaraya_watson_closed_form():
    q = NadarayaWatson(0.1).fit(np.array([0.0, 0.1]), np.array([0, 1]))
    w = np.exp(-0.5)
    np.testing.assert_allclose(
        q(np.array([0.0, 0.1, 0.05])), [w / (1 + w), 1 / (1 + w), 0.5], rtol=1e-14
    )


POINTS = {
    "spread": lambda r, n: r.beta(0.5, 0.5, n),
    "one cluster": lambda r, n: np.clip(0.1 + 0.005 * r.standard_normal(n), 0, 1),
    "two points": lambda r, n: np.where(r.random(n) < 0.5, 0.05, 0.93),
    "constant": lambda r, n: np.full(n, 0.7),
    "ends": lambda r, n: r.integers(0, 2, n).astype(float),
}


@pytest.mark.parametrize("bandwidth", [0.01, 0.03, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("points", POINTS)
def test_the_expansion_equals_the_dense_sum(points, bandwidth):
    """The sum of kernels far from all points is small compared with n.

    Rounding errors would show there, so that such rows are summed directly.
    """
    r, n = rng(3), 5000
    p = POINTS[points](r, n)
    y = (r.random(n) < 0.5 * p + 0.2).astype(np.int64)
    x = np.concatenate([np.linspace(0, 1, 601), p[:100]])
    assert len(x) * n > DENSE and len(x) + n >= 2 * (
        7.5 / bandwidth + 20
    )  # so the expansion is used
    ours, expected = (
        NadarayaWatson(bandwidth).fit(p, y)(x),
        textbook(x, p, y.astype(float), bandwidth),
    )
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [3, 400])
def test_few_samples_are_summed_directly(n):
    p, y = rng(1).random(n), rng(2).integers(0, 2, n)
    x = np.linspace(0, 1, 51)
    np.testing.assert_allclose(
        NadarayaWatson(0.05).fit(p, y)(x),
        textbook(x, p, y.astype(float), 0.05),
        rtol=1e-13,
        atol=1e-15,
    )


def test_nadaraya_watson_vectors_equal_the_textbook():
    p, y, x = (
        rng(1).dirichlet(np.ones(3), 300),
        rng(2).integers(0, 3, 300),
        rng(3).dirichlet(np.ones(3), 40),
    )
    kernel = np.exp(-((x[:, None] - p) ** 2).sum(axis=2) / (2 * 0.1**2))
    expected = kernel @ np.eye(3)[y] / kernel.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(NadarayaWatson(0.1).fit(p, y)(x), expected, rtol=1e-11)


def test_nadaraya_watson_far_from_everything():
    """A denominator below 1e-12 is replaced by 1e-12, so that q falls towards 0.

    Without any weight q is uniform.
    """
    q = NadarayaWatson(0.1).fit(np.array([0.0, 0.0]), np.array([1, 1]))
    weight = 2 * np.exp(-0.5 * (0.8 / 0.1) ** 2)
    assert weight < 1e-12
    np.testing.assert_allclose(q(np.array([0.8])), [weight / 1e-12], rtol=1e-12)
    assert NadarayaWatson(0.01).fit(np.array([0.0]), np.array([1]))(np.array([1.0]))[0] == 0.5
    far = NadarayaWatson(0.01).fit(np.array([[1.0, 0.0, 0.0]]), np.array([0]))(
        np.array([[0.0, 0.5, 0.5]])
    )
    np.testing.assert_array_equal(far, np.full((1, 3), 1 / 3))
    vectors = NadarayaWatson(0.1).fit(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 1]))(
        np.array([[0.4, 0.6]])
    )
    np.testing.assert_allclose(vectors, [[0.0, 2 * np.exp(-0.5 * 0.72 / 0.01) / 1e-12]], rtol=1e-12)


def test_no_predictions_give_no_predictions():
    for calibrator in EVERY[:4]:
        if not isinstance(
            calibrator, (Isotonic, Partition)
        ):  # scikit-learn refuses no rows; folds are never empty
            assert calibrator.fit(np.array([0.2, 0.7]), np.array([0, 1]), rng())(
                np.array([])
            ).shape == (0,)


# Partition


def test_partition_is_the_mean_of_each_part():
    p = np.array([0.1, 0.11, 0.12, 0.8, 0.81])
    q = Partition(bins=2).fit(p, np.array([1, 0, 0, 1, 0]), rng())
    np.testing.assert_allclose(q(np.array([0.0, 0.2, 0.9])), [1 / 3, 1 / 3, 0.5], rtol=1e-15)


def test_partition_of_vectors():
    p = np.array([[0.9, 0.05, 0.05]] * 3 + [[0.05, 0.05, 0.9]] * 2)
    q = Partition(vector_bins=2).fit(p, np.array([0, 0, 1, 2, 2]), rng())
    np.testing.assert_allclose(q(p[[0, 4]]), [[2 / 3, 1 / 3, 0.0], [0.0, 0.0, 1.0]], rtol=1e-15)


def test_fewer_samples_than_parts_are_one_part():
    p, y = np.array([0.1, 0.5, 0.9]), np.array([0, 1, 1])
    np.testing.assert_allclose(
        Partition(bins=15).fit(p, y, rng())(np.array([0.0, 1.0])), [2 / 3, 2 / 3], rtol=1e-15
    )


def test_distinct_predictions_fewer_than_parts_have_a_part_each():
    y = np.arange(40) % 4 == 0
    np.testing.assert_allclose(
        Partition().fit(np.full(40, 0.3), y.astype(int), rng())(np.array([0.3])), [0.25]
    )
    p = np.repeat([0.2, 0.4, 0.9], [10, 10, 20])
    q = Partition().fit(p, y.astype(int), rng())
    np.testing.assert_allclose(
        q(np.array([0.2, 0.4, 0.9])), [y[:10].mean(), y[10:20].mean(), y[20:].mean()], rtol=1e-15
    )


def test_a_fixed_seed_makes_a_partition_exact():
    p, y = rng(1).random(200), rng(2).integers(0, 2, 200)
    fixed = Partition(random_state=42)
    assert fixed.determinism == "exact" and Partition().determinism == "statistical"
    np.testing.assert_array_equal(fixed.fit(p, y, rng(1))(p), fixed.fit(p, y, rng(2))(p))
    assert (Partition().fit(p, y, rng(1))(p) != Partition().fit(p, y, rng(2))(p)).any()


@pytest.mark.parametrize(
    "draw",
    [
        lambda r, n: r.random(n),
        lambda r, n: r.integers(0, 8, n) / 7,
        lambda r, n: (
            1.0 - r.integers(0, 40, n) * 2.0**-53
        ),  # closer to each other than scikit-learn tells apart
        lambda r, n: r.integers(0, 60, n) * 1e-16,
        lambda r, n: 10.0 ** -r.uniform(13, 17, n),
        lambda r, n: 10.0 ** -r.uniform(15, 40, n),  # all but a few in one place
        lambda r, n: np.concatenate([r.random(n // 2), np.ones(n - n // 2)]),
    ],
)
def test_isotonic_regression_is_that_of_scikit_learn(draw):
    from sklearn.isotonic import IsotonicRegression

    r = np.random.default_rng(0)
    for n in (1, 3, 500):
        p = draw(r, n)
        y = (r.random(n) < p).astype(int)
        x = np.concatenate([p, r.random(20), [0.0, 1.0], r.integers(0, 60, 9) * 1e-16])
        theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(x)
        np.testing.assert_allclose(Isotonic().fit(p, y)(x), theirs, rtol=0, atol=1e-14)
