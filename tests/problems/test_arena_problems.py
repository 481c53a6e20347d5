"""The arena's problems: samples carry the posterior, and truths hold by a second method."""

import numpy as np
import pytest
from frozen import frozen_ids
from refusals import refuses
from scipy.integrate import quad
from scipy.special import beta

from harness import load_problem
from harness.figures import problem_pictures
from harness.figures.figure_files import to_png
from harness.math import estimands
from harness.math.notions import reduce
from harness.problems import (
    Beta,
    BinaryProblem,
    Fitted,
    Float32,
    MovedMass,
    Predictions,
    TopLaw,
    TwoNormals,
    maps,
)
from harness.problems.base import ProblemSpec
from harness.problems.posterior_samples import sample

FAMILIES = "wavy stepped local nonmonotone sparse ties saturated rare mixed".split()
MADE = [
    name
    for name in frozen_ids("problem")
    if name.startswith(tuple(f"{family}_k" for family in FAMILIES))
]
CALIBRATED = [name for name in MADE if name.endswith("_calibrated")]


VECTORS = [name for name in MADE if "_k2" not in name]  # the contract covers k = 2 and smaller k
MANY_CLASSES = [name for name in MADE if "_k10" in name]


def slow_if_costly(name):
    quick = name in ("wavy_k3", "sparse_k3", "mixed_k3")
    return name if quick else pytest.param(name, marks=pytest.mark.slow)


def drawn(name, n, seed=0):
    problem = load_problem(name)
    p, y = problem.sample(n, np.random.default_rng([140, seed]))
    return problem, p, y


def top_given_confidence(problem, p):
    """E[the class on top is right given the confidence] of rows: the mean of the posterior over all
    classes that may be on top, reached by turning the row around, by how often each is."""
    k, top = p.shape[1], p.argmax(axis=1)
    result = np.zeros(len(p))
    for j, share in enumerate(problem.law.shares):
        turned = p[np.arange(len(p))[:, None], (np.arange(k)[None, :] - j + top[:, None]) % k]
        assert (turned.argmax(axis=1) == j).all()
        result += share * problem.posterior(turned)[:, j]
    return result


def test_the_families_are_all_there():
    assert len(MADE) >= 36
    for family in FAMILIES:
        classes = {load_problem(name).classes for name in MADE if name.startswith(f"{family}_k")}
        assert {2, 3, 10, 100} <= classes
    errors = [
        load_problem(name).truth("l1", ProblemSpec.of(load_problem(name)).default_notions[-1]).value
        for name in MADE
    ]
    assert min(errors) == 0.0 and 0.2 < max(errors) < 0.6


@pytest.mark.parametrize("name", [slow_if_costly(name) for name in VECTORS])
def test_truths_by_a_second_method(name):
    """Truths agree with means over a sample of the distance to the posterior, to 4.5 standard
    errors.

    The posterior given the confidence comes from turning rows around. The contract compares the
    truths of few whole vectors.
    """
    problem, p, _ = drawn(name, 4_000 if name.endswith("_k100") else 10_000)
    known = {"top_label": ("l1", "l2_squared", "l1_under", "refinement_kl", "brier")}
    pairs = {"top_label": (p.max(axis=1), top_given_confidence(problem, p))}
    if name in MANY_CLASSES:
        known["canonical"] = ("l1", "l2_squared", "top_class_l1_over", "refinement_l2_squared")
        pairs["canonical"] = (p, problem.posterior(p))
    for notion, (f, c) in pairs.items():
        for estimand in known[notion]:
            truth = problem.truth(estimand, notion)
            d = estimands.pointwise(estimand, f, c, notion)
            # A mean of few large values is not normal: allow for one more of the largest size.
            error = max(d.std(ddof=1), 1e-9) / np.sqrt(len(d)) + d.max() / len(d)
            assert abs(d.mean() - truth.value) < 4.5 * np.hypot(error, truth.error) + 2e-7, (
                notion,
                estimand,
                d.mean(),
                truth,
            )


@pytest.mark.parametrize("name", [slow_if_costly(name) for name in MANY_CLASSES])
def test_samples_carry_the_posterior_and_small_ones_are_prefixes(name):
    """The contract shows it for fewer classes."""
    problem, p, y = drawn(name, 6_000)
    few = problem.sample(50, np.random.default_rng([140, 0]))
    assert np.array_equal(few[0], p[:50]) and np.array_equal(few[1], y[:50])
    c = problem.posterior(p)
    assert c.min() >= -1e-12 and c.max() <= 1.0 + 1e-9
    assert np.allclose(p.sum(axis=1), 1.0, atol=1e-6)
    assert np.allclose(c.sum(axis=1), 1.0, atol=1e-6)
    f, hit = reduce(p, y, "top_label")
    mean = c[np.arange(len(p)), p.argmax(axis=1)]
    for rows in np.array_split(np.argsort(f, kind="stable"), 12):
        spread = np.sqrt((mean[rows] * (1.0 - mean[rows])).sum())
        assert abs((hit[rows] - mean[rows]).sum()) < 5.0 * spread + 5.0


@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_members_are_calibrated(name):
    problem, p, _ = drawn(name, 1_000)
    assert np.allclose(problem.posterior(p), p, atol=2e-7)
    for notion in problem.notions:
        for estimand in ("l1", "l2_squared", "kl", "rms"):
            assert problem.truth(estimand, notion).value == 0.0


@pytest.mark.parametrize(
    "name",
    ["saturated_k3", "saturated_k10", pytest.param("saturated_k100", marks=pytest.mark.slow)],
)
def test_the_truth_in_32_bits_where_other_classes_underflow(name):
    """The squared error is also computed in two parts, by the distance of the confidence t from 1.

    Where 1 - t < 1e-30, it is a mean over vectors that are drawn there, times their probability.
    Above, it is the usual integral by another quadrature.
    """
    problem = load_problem(name)
    law, k = problem.law, problem.classes
    rng, draws, low = np.random.default_rng(11), 40_000, 1e-30
    # near 0 the law of s = (1 - t) k / (k - 1) ~ Beta(b, a) is a power law, to a relative 1e-30
    below = low**law.b / (law.b * beta(law.b, law.a))
    p = np.empty((draws, k))
    p[:, 1:] = (
        (1.0 - 1.0 / k)
        * (low * rng.random(draws) ** (1.0 / law.b))[:, None]
        * rng.dirichlet(np.full(k - 1, law.alpha), draws)
    )
    p[:, 0] = 1.0 - p[:, 1:].sum(axis=1)
    p = p.astype(np.float32).astype(np.float64)
    part = estimands.pointwise("l2_squared", p, problem.posterior(p), "canonical")
    moments = (law.alpha + 1.0) / ((k - 1) * law.alpha + 1.0)  # E sum_j u_j^2

    def integrand(x):
        # s = e^x. The others' shares have mean square 1 / (k - 1) + v^2.
        s = np.exp(x)
        rest = (1.0 - 1.0 / k) * s
        t = float(np.float32(1.0 - rest))
        v = float(law.spread(1.0 - rest, rest))
        squares = 1.0 / (k - 1) + v**2 * (moments - 1.0 / (k - 1))
        return (
            np.exp(law.b * x)
            * (1.0 - s) ** (law.a - 1.0)
            / beta(law.b, law.a)
            * (t - problem.map(t)) ** 2
            * (1.0 + squares)
        )

    edges = [np.log(low), -30.0, -18.0, -15.0, *np.log(np.linspace(2e-6, 1.0 - 1e-12, 12))]
    above = sum(quad(integrand, a, b, epsabs=1e-8, limit=200)[0] for a, b in zip(edges, edges[1:]))
    known = problem.truth("l2_squared", "canonical")
    assert known.error < 2e-6
    assert abs(
        below * part.mean() + above - known.value
    ) < known.error + 4.5 * below * part.std() / np.sqrt(draws)
    assert problem.truth("rms", "canonical").value == pytest.approx(np.sqrt(known.value), abs=1e-9)


def test_the_top_class_is_independent_of_the_confidence():
    """The shares of the classes are the same among low and high confidences.

    The truths of top_label rest on this independence.
    """
    law = TopLaw(4, a=1.5, b=0.6, alpha=0.2, decay=0.5, atoms=((0.9, 0.2),))
    p = law.draw(40_000, np.random.default_rng(1))
    for rows in np.array_split(np.argsort(p.max(axis=1), kind="stable"), 4):
        result = np.bincount(p[rows].argmax(axis=1), minlength=4) / len(rows)
        assert (np.abs(result - law.shares) < 4.5 * np.sqrt(law.shares / len(rows))).all()


def test_every_moment_of_the_law_is_that_of_its_draws():
    """The quadrature's mean, its atoms, and the others' spread against a sample."""
    law = TopLaw(5, a=0.7, b=0.3, alpha=0.4, atoms=((0.6, 0.1), (1.0, 0.2)))
    nodes, p = law.nodes((), 16), law.draw(40_000, np.random.default_rng(2))
    assert abs(nodes.weight.sum() - 1.0) < 1e-9
    t = p.max(axis=1)
    assert abs(t.mean() - nodes.weight @ nodes.t) < 4.5 * t.std() / 200
    assert abs((t == 1.0).mean() - 0.2) < 4.5 * 0.4 / 200
    squares = (p**2).sum(axis=1) - t**2
    expected = nodes.weight @ (nodes.rest**2 * law.squares(nodes.rest, nodes.v))
    assert abs(squares.mean() - expected) < 4.5 * squares.std() / 200


def test_a_point_counts_in_the_total_variation_twice():
    assert BinaryProblem(maps.Spot(0.9, 0.4)).variation == pytest.approx(2.0)


def test_scores_of_32_bits_and_their_law_have_the_same_share_of_ones():
    law = Float32(TwoNormals(6.0))
    s = law.draw(40_000, np.random.default_rng(3))
    assert np.array_equal(s, s.astype(np.float32))
    nodes, weight = law.nodes(np.linspace(0.0, 1.0, 33), 16)
    ones = weight[nodes == 1.0].sum()
    assert 0.2 < ones < 0.3 and abs((s == 1.0).mean() - ones) < 4.5 * np.sqrt(ones / len(s))


# The map that was best on held-out rows, by problem. An estimator like it has an advantage there.
CHOSEN = {
    "fitted_images_k10_resnet20": "matrix",
    "fitted_images_k10_vgg16": "curves_of_vector",
    "fitted_images_k10_lenet5": "matrix",
    "fitted_images_k10_densenet121": "isotonic",
    "fitted_images_k10_wideresnet_focalloss": "isotonic",
    "fitted_images_k10_mobilenetv2": "matrix",
    "fitted_images_k100_densenet_bc": "curves_of_vector",
    "fitted_images_k100_repvgg_a2": "curves",
    "fitted_tabular_k2_adult": "isotonic",
    "fitted_tabular_k2_credit_default": "curves",
    "fitted_tabular_k2_eeg": "curves",
    "fitted_tabular_k3_abalone": "curves_of_vector",
    "fitted_tabular_k3_connect_4": "vector",
    "fitted_tabular_k7_dry_bean": "curves",
    "fitted_tabular_k26_letter": "curves",
}


@pytest.fixture
def of_three_classes(tmp_path):
    """A file of 3,000 rows whose error no map of the list describes."""
    p, y = MovedMass(TopLaw(3, a=1.2, b=0.6, alpha=0.7), maps.Wave(0.8, 2, "parabola")).sample(
        3000, np.random.default_rng(5)
    )
    np.savez(tmp_path / "three.npz", p=p, y=y)
    return Predictions(str(tmp_path / "three.npz"))


def check_fitted(problem, n):
    """Assert that rows are those of the file and that posteriors and truths are those of its map.

    Truths of vectors are compared with drawn labels. Those of the confidence t are compared with
    products of neighbours in t, whose mean is E m(t)^2 for a smooth mean gap m.
    """
    p, c = problem.population[:2]
    x, y = problem.sample(n, np.random.default_rng(7))
    again = problem.sample(20, np.random.default_rng(7))
    assert np.array_equal(again[0], x[:20]) and np.array_equal(again[1], y[:20])
    once = x[: len(p)]  # without replacement until the file ends
    assert n < len(p) or np.array_equal(np.sort(once, axis=0), np.sort(p, axis=0))
    q = problem.posterior(x)
    assert q.min() >= 0.0 and q.max() <= 1.0 and (q.ndim == 1 or np.allclose(q.sum(axis=1), 1.0))
    assert np.allclose(problem.posterior(p), c, atol=1e-9)
    hit = y - q if q.ndim == 1 else (y[:, None] == np.arange(q.shape[1])) - q
    variance = q * (1.0 - q)
    for rows in np.array_split(np.argsort(x.max(axis=-1) if x.ndim == 2 else x, kind="stable"), 6):
        assert (
            np.abs(hit[rows].sum(axis=0)) < 5.0 * np.sqrt(variance[rows].sum(axis=0)) + 5.0
        ).all()
    # The squared error by labels alone. For two independent labels Y and Y' of a row,
    # E sum_j (p_j - Y_j)(p_j - Y_j') is sum_j (p_j - C_j)^2.
    other = np.random.default_rng(8).random(n)
    if q.ndim == 1:
        d = (x - y) * (x - (other < q))
    else:
        second = (other[:, None] > np.cumsum(q, axis=1)[:, :-1]).sum(axis=1)
        d = (
            (x - (y[:, None] == np.arange(q.shape[1])))
            * (x - (second[:, None] == np.arange(q.shape[1])))
        ).sum(axis=1)
    notion = "binary" if q.ndim == 1 else "canonical"
    assert abs(d.mean() - problem.truth("l2_squared", notion).value) < 4.5 * d.std() / np.sqrt(n)
    assert problem.truth("rms", notion).value == pytest.approx(
        np.sqrt(problem.truth("l2_squared", notion).value)
    )
    if q.ndim == 1:
        return
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    t, gap = p[rows, top], p[rows, top] - c[rows, top]
    order = np.argsort(t, kind="stable")
    t, gap = t[order], gap[order]
    products = np.mean([(gap[:-lag] * gap[lag:]).mean() for lag in range(1, 11)])
    known = problem.truth("l2_squared", "top_label")
    spread = np.sqrt(gap.var() * np.mean(gap**2) / len(gap))
    assert abs(products - known.value) < 3.0 * known.error + 4.5 * spread
    assert known.value <= problem.of_rows("l2_squared", "top_label") + known.error
    means = np.convolve(
        gap, np.ones(61) / 61, "same"
    )  # of l1: a row's gap by the sign of its neighbours without itself
    signs = np.sign(means - gap / 61)
    known = problem.truth("l1", "top_label")
    assert abs((gap * signs).mean() - known.value) < 3.0 * known.error + 4.5 * gap.std() / np.sqrt(
        len(gap)
    )


def test_labels_of_a_users_file_are_drawn_from_its_map(of_three_classes):
    problem = Fitted(of_three_classes)
    assert problem.classes == 3 and problem.chosen in problem.maps and len(problem.scores) == 7
    assert problem.scores[problem.chosen] == max(
        value for name, value in problem.scores.items() if name != "none"
    )
    check_fitted(problem, 6_000)
    assert Fitted(of_three_classes, maps=("temperature",)).chosen == "temperature"


def test_a_file_of_two_classes_in_one_column(tmp_path):
    p, y = Beta(map=maps.LogitAffine(0.4, 0.3)).sample(2000, np.random.default_rng(0))
    np.savez(tmp_path / "two.npz", p=p, y=y)
    problem = Fitted(Predictions(str(tmp_path / "two.npz")))
    check_fitted(problem, 5_000)
    both = problem.posterior(np.column_stack([1.0 - p, p]))
    assert np.allclose(both[:, 1], problem.posterior(p)) and np.allclose(both.sum(axis=1), 1.0)
    assert problem.truth("l1", "canonical").value == pytest.approx(
        2.0 * problem.truth("l1", "binary").value
    )


def test_a_finite_population_of_few_values_is_summed_by_value(tmp_path):
    """Four confidences: the mean truth of each, by hand."""
    rng = np.random.default_rng(0)
    t = rng.choice([0.5, 0.6, 0.8, 0.9], 2000)
    u = rng.random(2000)
    p = np.column_stack([t, (1.0 - t) * u, (1.0 - t) * (1.0 - u)])
    np.savez(
        tmp_path / "few.npz",
        p=p,
        y=(rng.random(2000)[:, None] > np.cumsum(p**1.5 / (p**1.5).sum(1)[:, None], 1)).sum(1),
    )
    problem = Fitted(Predictions(str(tmp_path / "few.npz")))
    rows, c = problem.population[:2]
    by_hand = (
        sum(abs((rows[:, 0] - c[:, 0])[rows[:, 0] == v].sum()) for v in np.unique(rows[:, 0]))
        / 2000
    )
    assert problem.truth("l1", "top_label").value == pytest.approx(by_hand, abs=1e-9)
    assert problem.of_rows("l1", "top_label") == pytest.approx(by_hand, abs=1e-9)


def test_problems_that_cannot_be_fitted_are_refused(of_three_classes):
    for make, says in (
        (lambda: Fitted(of_three_classes, maps=("trees",)), "maps is ['trees']"),
        (lambda: Fitted(3), "problem has no method sample"),
        (lambda: Fitted(Beta()).sample(5, np.random.default_rng(0)), "draws unlimited samples"),
        (lambda: load_problem("fitted").classes, "path of the predictions is missing"),
    ):
        refuses(make, says)


def test_absent_predictions_are_unavailable_and_keep_their_classes(monkeypatch, tmp_path):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    np.savez(tmp_path / "two.npz", p=[0.1, 0.6], y=[0, 1])
    assert (
        "n_classes is 4" in Fitted(Predictions(str(tmp_path / "two.npz")), n_classes=4).unavailable
    )
    problem = load_problem("fitted_images_k100_repvgg_a2")
    assert "no file" in problem.unavailable
    assert problem.classes == 100
    assert problem.notions[0] == "canonical"
    problem = Fitted(load_problem("tabular_oof", repository="no_such_folder"), n_classes=2)
    assert "no repository" in problem.unavailable
    assert problem.notions[0] == "binary"
    assert problem.version == (1,)


@pytest.mark.slow
def test_pictures_show_the_map():
    for name, dots in (("ties_k3", 6), ("sparse_k3", 1), ("wavy_k2", 0)):
        problem = load_problem(name)
        figure = problem_pictures.draw(*sample(problem, ProblemSpec.of(problem)))
        drawn_dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
        assert sum(len(line.get_xdata()) for line in drawn_dots) == dots
        assert to_png(figure, 50)[1:4] == b"PNG"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_fitted_problems_carry_their_posteriors_and_truths(name):
    problem = load_problem(name)
    if problem.unavailable:
        pytest.skip(problem.unavailable)
    check_fitted(problem, 20_000 if problem.classes <= 26 else 8_000)
    assert problem.chosen == CHOSEN[name]
    assert problem.scores[problem.chosen] > problem.scores["none"] - 1e-3
