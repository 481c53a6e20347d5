"""The limit of somebody who knows the shape of an error, but not its size."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

import harness
from harness.evaluation.arena import limits
from harness.evaluation.arena.trends import trends
from harness.figures import arena_plot

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
import arena_limits  # noqa: E402

P, C = np.array([0.2, 0.5, 0.7, 0.9]), np.array([0.3, 0.6, 0.6, 0.8])
Y = np.array([0, 1, 1, 1])


def test_the_posterior_means_are_those_of_an_integral():
    a, c = (arena_limits.label_probabilities(values, Y) for values in (P, C))
    largest = arena_limits.largest_scale(P, C)
    assert largest == pytest.approx(5.0)  # 0.5 + 5 * 0.1 is 1, before the others leave [0, 1]

    def moment(power):
        return integrate.quad(
            lambda s: s ** (power - 1.0) * np.prod(a + s * (c - a)), 1.0 / 8.0, largest
        )[0]

    means = arena_limits.posterior_means(a, c - a, largest)
    expected = moment(1) / moment(0), moment(2) / moment(0)
    assert means == pytest.approx(expected, rel=2e-3)  # a grid of 200 points


def test_vectors_stay_in_the_simplex_up_to_the_largest_scale():
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    c = np.array([[0.3, 0.3, 0.4], [0.5, 0.45, 0.05]])
    s = arena_limits.largest_scale(p, c)
    assert s == pytest.approx(2.0) and (p + s * (c - p)).min() == pytest.approx(0.0)
    assert arena_limits.largest_scale(p, p) == arena_limits.LARGEST


def test_the_limit_at_large_n_is_that_of_the_fisher_information(monkeypatch):
    """Inside the prior, the relative error is near 1 / sqrt(n I), I = E (C - p)^2 / (C (1 - C))."""
    name = "beta_overconfident"
    problem = harness.load_problem(name)
    monkeypatch.setattr(arena_limits, "SIZES", (20_000,))
    monkeypatch.setattr(arena_limits, "REPS", 60)
    ((l1, l2_squared, largest),) = arena_limits.relative_errors(name, problem).values()
    p, _ = problem.sample(20_000, np.random.default_rng(1))
    c = problem.posterior(p)
    expected = (20_000 * np.mean((c - p) ** 2 / (c * (1.0 - c)))) ** -0.5
    # The root mean square of 60 normal errors has the relative error 1 / sqrt(120): 4 of them.
    assert largest > 2.0 and l1 == pytest.approx(expected, rel=4.0 / np.sqrt(120.0))
    assert l2_squared == pytest.approx(2.0 * l1, rel=0.1)


def test_no_problem_and_no_n_share_a_sample():
    """Shared noise would not average out in a mean over problems, nor along n in a picture."""
    places = itertools.product(("wavy_k2", "wavy_k3"), (50, 100), range(2))
    draws = [arena_limits.sample_rng(*place).random() for place in places]
    assert len(set(draws)) == 8
    assert arena_limits.sample_rng("wavy_k2", 50, 0).random() == draws[0]


def test_limits_are_multiples_of_the_truths_and_leave_out_truths_of_0():
    settings = pd.DataFrame({
        "family": ["a", "b", "b", "c"], "problem": ["p", "q", "q0", "r"], "k": 2,
        "notion": "binary", "n": 200, "estimand": "l1", "truth": [0.1, 0.2, 0.0, 0.3],
        "calibrated": [False, False, True, False], "estimator": "best", "rmse": 0.05,
    })  # fmt: skip
    measured = pd.DataFrame({"problem": ["p", "q", "q0"], "n": 200, "relative_l1": [0.1, 0.4, 9.0],
                             "relative_l2_squared": 0.5, "largest_s": 1.0})  # fmt: skip
    (row,) = limits.limit_trends(settings, measured, ["c"]).to_dict("records")
    assert row["estimator"] == limits.LIMIT_ID and row["families"] == 2
    assert row["rmse"] == pytest.approx(np.sqrt(0.01 * 0.08))
    recommended = pd.DataFrame({"notion": ["binary"], "estimand": "l1", "n": 200, "own_rmse": 0.05,
                                "rival": "kde", "rival_rmse": 0.06})  # fmt: skip
    every = pd.concat([trends(settings), pd.DataFrame([row])])
    (compared,) = limits.compare(recommended, every).to_dict("records")
    assert compared["times_limit"] == pytest.approx(0.05 / row["rmse"])
    figure = arena_plot.errors(every, recommended, "binary")
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert limits.LIMIT_ID in legend and "not its size" in figure.get_label()
