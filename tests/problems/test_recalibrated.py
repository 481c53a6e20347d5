"""Recalibration as a problem, and popordanoska2024's calibrators against their own outputs."""

import csv
from dataclasses import dataclass

import numpy as np
import pytest
from frozen import frozen_ids
from golden_data import FOLDER
from harness.experiments.popordanoska2024.authors import IsotonicScaled, TemperatureGrid
from harness.experiments.popordanoska2024.relabelled import Relabelled
from scipy.special import expit, logit, softmax

import harness
from harness import BadInputError
from harness.calibrators import Isotonic, Temperature
from harness.common.seeds import data_rng
from harness.plan.components import build_component
from harness.problems import (
    Beta,
    Dirichlet,
    OneClass,
    Paired,
    Perturbed,
    Predictions,
    Recalibrated,
    Uniform,
)
from harness.problems.base import ProblemSpec
from harness.problems.maps import LogitAffine, Power

THEIRS = FOLDER.parent / "popordanoska2024"


class Shift:
    """A calibrator that keeps what it was fitted on, and halves the first column."""

    def fit(self, p, y, rng):
        self.fitted = p, y
        return lambda x: x * np.r_[0.5, np.ones(x.shape[1] - 1)] if x.ndim == 2 else x**2


@pytest.fixture
def files(tmp_path):
    """Return prediction files of 60 validation rows and 40 test rows of three classes."""
    problems = []
    for name, n in (("val", 60), ("test", 40)):
        p, y = Dirichlet(3, map=Power(0.3)).sample(n, data_rng(0, "00", n))
        path = tmp_path / f"{name}.npz"
        np.savez(path, probs=p, labels=y)
        problems.append(Predictions(str(path)))
    return problems


# Recalibration as a problem


def test_rows_are_those_of_the_calibrator_fitted_on_validation(files):
    validation, test = files
    problem = Recalibrated(validation, test, Temperature())
    p, y = problem.sample(40, data_rng(0, "00", 0))
    q = Temperature().fit(*validation.sample(60, np.random.default_rng(0)))
    f, hit = test.sample(40, np.random.default_rng(0))
    order, theirs = (
        np.lexsort(p.T),
        np.lexsort(q(f).T),
    )  # both draw the file in an order of their own
    np.testing.assert_allclose(p[order], q(f)[theirs], rtol=1e-9)
    np.testing.assert_array_equal(y[order], hit[theirs])
    assert problem.n_max == problem.default_n == 40 and problem.classes == 3
    assert problem.notions == test.notions and problem.truth("l1", "canonical") is None
    assert not hasattr(problem, "posterior")  # the oracle has nothing to say


def test_the_fit_sees_all_validation_rows_whatever_n():
    calibrator = Shift()
    problem = Recalibrated(Dirichlet(3), Dirichlet(3), calibrator, validation_n=50)
    seen = []
    for n in (5, 30):
        problem.sample(n, data_rng(0, "00", 0))
        seen.append(calibrator.fitted)
    assert len(seen[0][0]) == 50
    for a, b in zip(*seen):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "calibrator", [Temperature(), Isotonic(), IsotonicScaled(), TemperatureGrid()], ids=repr
)
@pytest.mark.parametrize(
    "generator",
    [Beta(map=LogitAffine(0.4)), Dirichlet(4, map=Power(0.3))],
    ids=["beta", "dirichlet"],
)
def test_samples_are_repeatable_and_a_small_one_is_a_prefix(generator, calibrator):
    problem = Recalibrated(generator, generator, calibrator, validation_n=200)
    p, y = problem.sample(300, data_rng(1, "00", 4))
    for n in (1, 100, 300):
        p_small, y_small = problem.sample(n, data_rng(1, "00", 4))
        np.testing.assert_allclose(p_small, p[:n], rtol=1e-14)
        np.testing.assert_array_equal(y_small, y[:n])
    for notion in problem.notions:
        harness.reduce(p, y, notion)  # probabilities
    assert (problem.sample(300, data_rng(1, "00", 5))[0] != p).any()


def test_validation_and_test_rows_are_independent_draws():
    calibrator = Shift()
    p, _ = Recalibrated(Beta(), Beta(), calibrator, validation_n=50).sample(
        50, data_rng(0, "00", 0)
    )
    assert not np.intersect1d(np.sqrt(p), calibrator.fitted[0]).size


def test_rows_are_renormalised_on_request():
    generator = Dirichlet(3)
    f, _ = generator.sample(20, data_rng(0, "00", 0).spawn(3)[2])
    once, as_is = (
        Recalibrated(generator, generator, Shift(), 10, r).sample(20, data_rng(0, "00", 0))
        for r in (True, False)
    )
    halved = f * [0.5, 1.0, 1.0]
    np.testing.assert_array_equal(as_is[0], halved)
    np.testing.assert_allclose(once[0], halved / halved.sum(axis=1, keepdims=True), rtol=1e-15)
    with pytest.raises(BadInputError, match="sum to 1"):
        harness.reduce(*as_is, "canonical")


def config(**changes):
    part = {"_target_": "harness.problems.Beta", "a": 0.5}
    fields = {
        "validation": dict(part),
        "test": dict(part),
        "calibrator": {"_target_": "harness.calibrators.Temperature"},
    }
    return {"_target_": "harness.problems.Recalibrated", "validation_n": 100, **fields, **changes}


def test_every_part_identifies_the_problem():
    changes = [
        {},
        {"validation": {"_target_": "harness.problems.Beta", "a": 0.6}},
        {"test": {"_target_": "harness.problems.Beta", "a": 0.6}},
        {"calibrator": {"_target_": "harness.calibrators.Isotonic"}},
        {"calibrator": {"_target_": "experiments.popordanoska2024.authors.TemperatureGrid"}},
        {
            "calibrator": {
                "_target_": "experiments.popordanoska2024.authors.TemperatureGrid",
                "objective": "brier",
            }
        },
        {"validation_n": 101},
        {"renormalise": False},
    ]
    keys = [build_component("problem", "x", config(**change)).key for change in changes]
    assert len(set(keys)) == len(keys)
    assert build_component("problem", "x", config()).key == keys[0]


def test_a_files_content_identifies_the_problem_not_its_path(files, tmp_path):
    def key(path):
        part = {"_target_": "harness.problems.Predictions", "path": str(path)}
        return build_component("problem", "x", config(validation=part)).key

    copy = tmp_path / "copy.npz"
    copy.write_bytes((tmp_path / "val.npz").read_bytes())
    assert key(tmp_path / "val.npz") == key(copy) != key(tmp_path / "test.npz")


def test_an_unavailable_part_makes_the_problem_unavailable():
    class Absent(Beta):
        unavailable = "no file x.npz"

    problem = Recalibrated(Absent(), Beta(), Temperature(), 10)
    assert problem.unavailable == "validation: no file x.npz"
    assert Recalibrated(Beta(), Absent(), Temperature(), 10).unavailable == "test: no file x.npz"
    assert Recalibrated(Beta(), Beta(), Temperature(), 10).unavailable is None


def test_a_row_of_nothing_cannot_be_renormalised():
    class Nothing:
        def fit(self, p, y, rng):
            return np.zeros_like

    with pytest.raises(BadInputError, match="row 0"):
        Recalibrated(Dirichlet(3), Dirichlet(3), Nothing(), 9).sample(5, data_rng(0, "00", 0))


# The authors' temperature


def test_the_grid_finds_the_temperature_nearest_to_the_best():
    """Predictions are sigma(2 x) and labels follow sigma(x), so that T = 2.

    The log-loss is convex in 1 / T. The best of 10,000 grid values is therefore one of the two
    values around the exact minimum, which bisection finds.
    """
    x = np.linspace(-3, 3, 2001)
    p, y = expit(2 * x), (np.random.default_rng(0).random(2001) < expit(x)).astype(np.int64)
    q = Temperature().fit(p, y)(np.array([0.9]))
    exact = logit(0.9) / logit(q[0])
    result = TemperatureGrid().temperature(p, y)
    assert abs(result - exact) <= 5 / 9999 and exact == pytest.approx(2.0, rel=0.1)
    grid = np.linspace(1e-4, 5, 10_000)
    loss = [
        -np.log(np.maximum(expit(np.where(y == 1, 1, -1) * 2 * x / t), 1e-300)).mean()
        for t in grid[3000:6000]
    ]
    assert result == pytest.approx(grid[3000 + int(np.argmin(loss))], abs=1e-6)
    np.testing.assert_allclose(TemperatureGrid().fit(p, y)(p), expit(2 * x / result), rtol=1e-9)


def test_the_temperature_stays_on_the_grid():
    p = np.array([0.9, 0.8, 0.3, 0.2])
    assert (
        TemperatureGrid().temperature(p, np.array([1, 1, 0, 0])) <= 0.05
    )  # all right: the sharper the better
    assert (
        TemperatureGrid().temperature(p, np.array([0, 0, 1, 1])) == 5.0
    )  # all wrong: the flatter the better
    with pytest.raises(BadInputError, match="objective is 'l2'"):
        TemperatureGrid("l2")


def recal():
    """Return the authors' validation and test scores, their labels, and the recalibrated scores."""
    with np.load(THEIRS / "recal.npz") as data, np.load(THEIRS / "recal_out.npz") as out:
        p = {
            part: softmax(data[f"logits_{part}"].astype(np.float64), axis=1)
            for part in ("val", "test")
        }
        return (
            p,
            {part: data[f"y_{part}"] for part in p},
            {name: out[name].astype(np.float64) for name in ("temp", "iso")},
        )


def printed():
    with open(THEIRS / "golden.csv", newline="") as f:
        return {
            (row["function"], row["statistic"]): float(row["value"])
            for row in csv.DictReader(f)
            if row["case"] == "recal"
        }


@pytest.mark.golden
def test_temperatures_equal_the_authors():
    p, y, out = recal()
    assert (
        TemperatureGrid().temperature(p["val"], y["val"]) == printed()["temperature NLL grid", "T"]
    )
    assert (
        TemperatureGrid("brier").temperature(p["val"], y["val"])
        == printed()["temperature Brier grid", "T"]
    )
    ours = TemperatureGrid().fit(p["val"], y["val"])(p["test"])
    np.testing.assert_allclose(
        ours, out["temp"], atol=1e-6
    )  # theirs are single precision, clipped to 1e-7


@pytest.mark.golden
def test_isotonic_scores_equal_the_authors():
    """All 5,000 within 3e-6: single precision on both sides. Where our softmax in double precision
    rounds to another single, a score between two steps moves by that times the slope; 10 of them by
    more than 1e-6. In double precision throughout, 137 would differ by more than 1e-6 and one by
    0.019, at the edge of a step."""
    p, y, out = recal()
    gap = np.abs(IsotonicScaled().fit(p["val"], y["val"])(p["test"]) - out["iso"])
    assert gap.max() <= 3e-6 and (gap > 1e-6).sum() <= 10


@pytest.mark.golden
@pytest.mark.parametrize(
    "name, calibrator",
    [("uncal", None), ("temp-nll", TemperatureGrid()), ("iso", IsotonicScaled())],
)
def test_scores_of_recalibrated_predictions_equal_the_authors(name, calibrator):
    p, y, _ = recal()
    q = p["test"] if calibrator is None else calibrator.fit(p["val"], y["val"])(p["test"])
    q, y = np.clip(q, 1e-7, 1 - 1e-7), y["test"]
    rows = np.arange(len(y))
    assert (q.argmax(axis=1) == y).mean() == printed()[f"{name} acc", "value"]
    ours = {
        "Brier (unnormalised rows)": ((q - np.eye(10)[y]) ** 2).sum(axis=1).mean(),
        "NLL (rows renormalised)": -np.log(q[rows, y] / q.sum(axis=1)).mean(),
        "mean row sum": q.sum(axis=1).mean(),
    }
    for what, value in ours.items():
        assert value == pytest.approx(printed()[f"{name} {what}", "value"], abs=1e-6), what


# The authors' isotonic regression


def test_the_authors_isotonic_regression_by_hand():
    """The scores 0.2, 0.4, 0.6 have the labels 0, 1, 1.

    The scaled score m(s) = (s - 0.2) / 0.4 is 0, 1/2, 1. The regression r is 0 at 0, 1 from 1/2 on,
    and linear between. At the score 0.3 itself r = 0.6, and m^-1(0.6) = 0.44. Scores from 0.5 on go
    to 0.6.
    """
    q = IsotonicScaled().fit(np.array([0.2, 0.4, 0.6]), np.array([0, 1, 1]))
    np.testing.assert_allclose(q(np.array([0.0, 0.3, 0.5, 0.9])), [0.2, 0.44, 0.6, 0.6], atol=1e-6)


def test_isotonic_scores_stay_off_zero_and_one_and_do_not_sum_to_one():
    p, y = Dirichlet(4, 0.1).sample(300, data_rng(0, "00", 0))
    q = IsotonicScaled().fit(p, y)(np.vstack([p, np.eye(4)]))
    assert q.min() >= 0.99e-7 and q.max() <= 1 - 0.99e-7
    assert np.abs(q.sum(axis=1) - 1).max() > 0.01


def test_a_constant_score_is_no_division_by_zero():
    q = IsotonicScaled().fit(np.full(10, 0.3), np.arange(10) % 2)(np.array([0.0, 0.3, 1.0]))
    np.testing.assert_allclose(
        q, 0.8, atol=1e-6
    )  # r is the mean outcome 1/2 everywhere; plus the minimum 0.3


# Real networks

NETWORKS = [
    name
    for name in frozen_ids("problem")
    if name.startswith("cifar") and "temperature" in name.split("_")
]


def test_networks_have_all_four_recalibrations():
    plain = {
        name.removesuffix("_popordanoska2024").removesuffix("_temperature") for name in NETWORKS
    }
    assert len(plain) == 7 and len(NETWORKS) == 14
    for name in plain:
        kinds = (
            "temperature",
            "isotonic",
            "temperature_popordanoska2024",
            "isotonic_popordanoska2024",
        )
        problems = [harness.load_problem(f"{name}_{kind}") for kind in kinds]
        assert [type(m.calibrator) for m in problems] == [
            Temperature,
            Isotonic,
            TemperatureGrid,
            IsotonicScaled,
        ]
        plain_test, plain_val = harness.load_problem(name), harness.load_problem(f"{name}_val")
        assert all(m.test == plain_test and m.validation == plain_val for m in problems)


@pytest.mark.parametrize(
    "kind", ["temperature", "isotonic", "temperature_popordanoska2024", "isotonic_popordanoska2024"]
)
def test_recalibration_of_a_network_lowers_its_log_loss_or_brier_score(kind):
    """cifar10_resnet110, whose confidences are 2.5 % above its accuracy."""
    problem = harness.load_problem(f"cifar10_resnet110_{kind}")
    try:
        p, y = problem.sample(10_000, data_rng(0, "00", 0))
    except BadInputError as reason:
        pytest.skip(str(reason))
    f, hit = problem.test.sample(10_000, data_rng(0, "00", 0))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)

    def scores(q, y):
        return {
            "brier": ((q - np.eye(10)[y]) ** 2).sum(axis=1).mean(),
            "logloss": -np.log(q[np.arange(len(y)), y] + 1e-300).mean(),
        }

    after, before = scores(p, y), scores(f, hit)
    assert after["brier"] < before["brier"] - 0.001
    assert "isotonic" in kind or after["logloss"] < before["logloss"] - 0.005


@dataclass(frozen=True)
class Stored:
    """A hundred stored rows of three classes."""

    notions = ("top_label", "classwise", "canonical")
    classes, n_max, shares_rows = 3, 100, True

    def sample(self, n, rng):
        p, y = Dirichlet(3).sample(100, np.random.default_rng(0))
        rows = rng.permutation(100)[:n]
        return p[rows], y[rows]


def test_a_changed_problem_shares_rows_if_its_replications_hold_the_same_rows():
    stored, generated = Stored(), Dirichlet(3)
    for change, shares in (
        (lambda problem: OneClass(problem, 1), True),
        (lambda problem: Paired(problem, "models"), True),
        (Uniform, True),
        (lambda problem: Recalibrated(generated, problem, Temperature(), validation_n=50), True),
        (Relabelled, False),
        (lambda problem: Perturbed(problem, notion="top_label"), False),
    ):
        problem = change(stored)
        assert ProblemSpec.of(problem).shares_rows == shares
        assert not ProblemSpec.of(change(generated)).shares_rows
        samples = [problem.sample(100, np.random.default_rng(seed)) for seed in (1, 2)]
        rows = [np.sort(np.column_stack([p, y]).sum(axis=1)) for p, y in samples]
        assert np.allclose(*rows) == shares
