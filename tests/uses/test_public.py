"""The public Python surface: its examples run, and `harness.estimate` gives what a run records."""

import numpy as np
import pytest
from slow_params import slow

import harness
from harness import BadInputError, UndefinedError
from harness.common.seeds import data_rng, estimator_rng
from harness.common.version import VERSION
from harness.workflow.experiment import Experiment


def test_everything_public_is_there_and_says_what_it_is():
    assert harness.__version__ == VERSION
    for name in harness.__all__:
        assert getattr(harness, name).__doc__.strip()
    assert dir(harness) == sorted(harness.__all__)
    assert harness.math.divergences.__name__ == "harness.math.divergences"
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        harness.no_such_name  # noqa: B018


@pytest.mark.parametrize("notion", [*slow("top_label", "classwise"), "canonical"])
def test_estimate_gives_the_value_of_a_run(out, notion):
    run = [
        "problem=dirichlet3_overconfident",
        "estimator=kde",
        "n=80",
        "reps=1",
        f"notion={notion}",
        "jobs=1",
    ]
    recorded = harness.run(run).set_index("estimand")["value"]
    plan = Experiment.of(run).plan
    (problem,), (estimator,) = plan.problems.values(), plan.estimators.values()
    p, y = problem.object.sample(80, data_rng(0, problem.key, 0))
    estimates = [
        harness.estimate(
            instance, *data, notion, estimator_rng(0, problem.key, 0, 80, estimator.stream)
        )
        for instance, *data in (
            ("kde", p, y),
            (harness.load_estimator("kde"), p.tolist(), y.tolist()),
        )
    ]
    assert estimates[0] == estimates[1]
    assert {name: e.value for name, e in estimates[0].items()} == recorded.to_dict()


def test_estimate_takes_bare_functions_and_seeds():
    p, y = np.array([0.9, 0.8, 0.3, 0.6]), np.array([1, 1, 0, 0])
    assert harness.estimate(lambda p, y: np.float32(0.25), p, y, "binary")[
        "l1"
    ] == harness.Estimate(0.25)

    def random(p, y, rng):
        return rng.random()

    first, again, other = (
        harness.estimate(random, p, y, "binary", rng)["l1"].value for rng in (None, 0, 1)
    )
    assert (
        first == again == np.random.default_rng(0).random()
        and other == np.random.default_rng(1).random()
    )


def test_estimate_classwise_is_the_mean_over_the_classes():
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    y = np.array([0, 1, 1, 2])

    def gap_of_means(p, y):
        return abs(p.mean() - y.mean())

    mean = np.mean([gap_of_means(p[:, j], y == j) for j in range(3)])
    assert harness.estimate(gap_of_means, p, y, "classwise")["l1"].value == pytest.approx(
        mean, abs=1e-15
    )


@pytest.mark.parametrize(
    ("estimator", "p", "y", "notion", "says"),
    [
        ("binned15", [0.2, 1.4], [0, 1], "binary", "p "),
        ("binned15", [0.2, 0.4], [0, 1], "marginal", "notion is 'marginal'"),
        ("binned16", [0.2, 0.4], [0, 1], "binary", "'binned16' .*'binned15'"),
        ("binned15", [[0.2, 0.8]], [1], "canonical", "'binned15' .* no canonical notion"),
        ("oracle", [0.2, 0.4], [0, 1], "binary", "needs the true posterior"),
        (3.0, [0.2, 0.4], [0, 1], "binary", "estimator is 3.0"),
        (float, [0.2, 0.4], [0, 1], "binary", "estimator is <class 'float'>"),
    ],
)
def test_what_cannot_be_estimated_is_one_sentence(estimator, p, y, notion, says):
    with pytest.raises(BadInputError, match=says) as error:
        harness.estimate(estimator, p, y, notion)
    assert "\n" not in str(error.value)


def test_an_estimate_that_does_not_exist_is_undefined():
    with pytest.raises(UndefinedError):
        harness.estimate("kde", [0.3], [1], "binary")


@pytest.mark.parametrize(
    ("before", "now"), [("BadInput", BadInputError), ("Undefined", UndefinedError)]
)
def test_errors_are_found_by_their_names_of_before(before, now):
    with pytest.warns(DeprecationWarning, match=f"{before} has been renamed {now.__name__}"):
        assert getattr(harness, before) is now
