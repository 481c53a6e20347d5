"""The bootstrap over halves of the rows: intervals of means, null test, coverage."""

import functools

import numpy as np
import pytest
from harness.experiments.berta2026 import authors
from monte_carlo import least_share
from numpy.random import default_rng

import harness
from harness import UndefinedError
from harness.estimators import Binned, Bootstrap, Brier, Debiased, Oracle, TVKfold, Variational
from harness.estimators.application import apply
from harness.estimators.resampled_interval import OWN_REVISION, calibrated_labels
from harness.math.notions import reduce
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine


def sample(n, k=2, seed=0):
    problem = Beta(map=LogitAffine(0.4, 0.3)) if k == 2 else Dirichlet(k)
    return problem.sample(n, default_rng(seed))


def bootstrapped(estimator, p, y, seed=0, notion=None, **fields):
    fields = {"resamples": 40} | fields
    return Bootstrap(estimator, **fields)(p, y, default_rng(seed), notion)


@pytest.mark.parametrize("form", ["half", "pivotal"])
@pytest.mark.parametrize("n", [200, 201])
def test_interval_of_a_mean_is_that_of_the_normal_theory(form, n):
    """Brier: value +- 1.96 s / sqrt(n), for even and odd n, within 4 Monte Carlo errors."""
    p, y = sample(n)
    many = 1500
    e = bootstrapped(Brier(), p, y, resamples=many, form=form)["brier"]
    se = np.std((p - y) ** 2, ddof=1) / np.sqrt(n)
    error = 4 * se / np.sqrt(many) * (2.7 if form == "pivotal" else 1.96 / np.sqrt(2) + 2.42)
    assert abs(e.low - (e.value - 1.96 * se)) < error
    assert abs(e.high - (e.value + 1.96 * se)) < error


def test_classwise_rows_are_drawn_for_all_classes_together():
    """The mean over classes is a mean over rows, so that its standard error includes dependence."""
    p, y = reduce(*sample(200, 3), "classwise")
    e = apply(Bootstrap(Brier(), resamples=1500), p, y, "classwise", default_rng(0))["brier"]
    terms = ((p - y) ** 2).mean(axis=1)
    se = terms.std(ddof=1) / np.sqrt(200)
    assert e.value == pytest.approx(terms.mean(), abs=1e-12)
    assert abs((e.high - e.low) / 2 - 1.96 * se) < 4 * se / np.sqrt(1500) * (
        1.96 / np.sqrt(2) + 2.42
    )


def test_canonical_without_a_notion_given():
    p, y = sample(100, 3)
    estimates = bootstrapped(Binned(bins=5, rule="kmeans"), p, y)
    assert estimates["l2"].high is not None


def binned_error(p, y, bins=5):
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    return sum(abs((p - y)[bin_of == b].sum()) for b in range(bins)) / len(p)


def draws(p, y, *, rng):
    return {"l1": float(abs(p - y).mean() + 0.01 * rng.random())}


@pytest.mark.parametrize(
    "estimator", [binned_error, functools.partial(binned_error, bins=3), draws]
)
def test_functions_of_users_are_wrapped(estimator):
    p, y = sample(200)
    e = bootstrapped(estimator, p, y)["l1"]
    assert e.value == apply(estimator, p, y, "binary", default_rng(0))["l1"].value
    assert 0.0 <= e.low < e.high and e.level == 0.95
    assert Bootstrap(estimator).notions == ("binary", "top_label", "classwise")
    assert Bootstrap(estimator).estimands is None


def test_integer_seeds_reach_an_authors_estimator():
    p, y = sample(60)
    estimator = authors.Variational(stratified=True)
    estimates = Bootstrap(estimator, resamples=20)(p, y, 7, "binary")
    assert (
        estimates["l1"].value == estimator(p, y, 7)["l1"].value and estimates["l1"].high is not None
    )


def test_halves_without_a_value_are_counted_and_many_of_them_leave_no_interval():
    p, y = sample(100)

    def of_share(share, wrong):
        """Bootstrap an estimator that has no value for this share of the halves of a sample."""

        def estimate(p, y, rng):
            if len(p) < 100 and rng.random() < share:
                return wrong()
            return float(np.mean(p))

        return bootstrapped(estimate, p, y, resamples=200)["l1"]

    def undefined():
        raise UndefinedError("too few")

    def refused():
        raise ValueError("one class only")

    for wrong in (undefined, refused, lambda: float("nan")):
        few, many, all_ = (of_share(share, wrong) for share in (0.01, 0.3, 1.0))
        assert 0 < few.diagnostics["undefined_resamples"] <= 10 and few.low < few.high
        assert 20 < many.diagnostics["undefined_resamples"] < 100
        assert many.low is many.high is many.level is None
        assert all_.diagnostics == {"resamples": 200.0, "undefined_resamples": 200.0}
        assert all_.high is None


def test_values_that_do_not_vary_have_no_interval():
    """Every half of perfect predictions has the value 0, which shows no sampling error."""
    y = np.arange(100) % 2
    e = bootstrapped(Binned(), y.astype(float), y)["l1"]
    assert (e.value, e.low, e.high, e.level, e.diagnostics["bootstrap_se"]) == (
        0.0,
        None,
        None,
        None,
        0.0,
    )


def test_zero_is_in_the_interval_unless_calibrated_labels_give_less():
    """The lower end is positive only if at most one of 79 draws of calibrated labels reaches the
    value.

    Calibrated labels give about 0.1 here.
    """
    p, y = sample(400)
    level = {}

    def interval_around(value):
        def estimate(p_, y_, rng):
            if len(p_) < 400 or y_ is y:
                return value + 1e-4 * rng.random()  # the sample and its halves
            level["draws"] = level.get("draws", 0) + 1
            return 0.1 + 1e-4 * rng.random()

        return bootstrapped(estimate, p, y)["l1"]

    assert interval_around(0.09).low == 0.0 and level.pop("draws") == 2  # decided by the first two
    assert interval_around(0.2).low > 0.19 and level.pop("draws") == 79


def test_calibrated_labels_follow_the_predictions():
    rng = default_rng(0)
    p = np.tile([0.2, 0.0, 0.5, 0.3], (4000, 1))
    y = np.zeros((4000, 4), int)
    drawn, hot = calibrated_labels(p, y[:, 0], rng), calibrated_labels(p, y, rng)
    assert drawn.shape == (4000,) and hot.shape == (4000, 4) and (hot.sum(axis=1) == 1).all()
    for share in (np.bincount(drawn, minlength=4) / 4000, hot.mean(axis=0), [np.nan]):
        assert (
            np.isnan(share[0])
            or (np.abs(share - p[0]) <= 4 * np.sqrt(p[0] * (1 - p[0]) / 4000)).all()
        )
    ones = calibrated_labels(np.full(4000, 0.3), y[:, 0], rng)
    assert abs(ones.mean() - 0.3) < 4 * np.sqrt(0.21 / 4000)


def test_properties_are_those_of_the_estimator():
    inner = Variational()
    outer = Bootstrap(inner)
    for name in ("notions", "estimands", "null_bias", "max_n", "max_classes", "unavailable"):
        assert getattr(outer, name) == getattr(inner, name), name
    assert outer.revision == (OWN_REVISION, inner.revision) and outer.determinism == "statistical"
    assert outer.seconds > 50 * inner.seconds
    assert Bootstrap(Oracle()).needs_posterior and Bootstrap(TVKfold()).notions == TVKfold().notions
    p, y = sample(100)
    estimates = Bootstrap(Oracle(), resamples=20)(
        p, y, default_rng(0), "binary", Beta(map=LogitAffine(0.4, 0.3))
    )
    assert estimates["l1"].low <= estimates["l1"].value <= estimates["l1"].high


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["beta_calibrated", "beta_overconfident", "beta_wavy"])
@pytest.mark.parametrize("estimator", [Binned(), Debiased()], ids=["binned15", "debiased15"])
def test_coverage_of_the_truth(problem, estimator):
    """Coverage is at least 95 % of 200 samples of 500, less 4 binomial standard errors."""
    problem, reps, inside = harness.load_problem(problem), 200, {}
    for rep in range(reps):
        p, y = problem.sample(500, default_rng([1, rep]))
        for name, e in bootstrapped(estimator, p, y, [2, rep], resamples=100).items():
            inside[name] = inside.get(name, 0) + (e.low <= problem.truth(name).value <= e.high)
    least = least_share(0.95, reps, errors=4)
    assert {name: count for name, count in inside.items() if count / reps < least} == {}
