"""Points, names and cells of sweeps."""

import numpy as np
import pytest
from sweep_runs import BASE, BINS

from harness.configure import sweeps
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.plan.plan import plan
from harness.workflow import multirun
from harness.workflow.experiment import Experiment


def test_paths_and_points():
    tree = {
        "estimator": {"binned15": {"bins": [5, 10]}},
        "seed": [0, 1],
        "problem": {"x": {"map": {"_target_": "a.B"}, "a": 1}},
    }
    assert sweeps.flatten(tree) == {
        "estimator.binned15.bins": [5, 10],
        "seed": [0, 1],
        "problem.x.map": [{"_target_": "a.B"}],
        "problem.x.a": [1],
    }
    settings = compose([*BASE, BINS, "sweep.seed=[0,1]"])
    result = sweeps.points(settings)
    assert [values["estimator.binned15.bins"] for values, _ in result] == [5, 5, 10, 10]
    assert [c.estimator["binned15"]["bins"] for _, c in result] == [5, 5, 10, 10]
    assert settings.estimator["binned15"]["bins"] == 15


def test_words_are_as_short_as_they_can_be():
    assert sweeps.short_names(["estimator.a.bins", "seed"]) == {
        "estimator.a.bins": "bins",
        "seed": "seed",
    }
    two = ["estimator.a.bins", "estimator.b.bins", "problem.a.a"]
    assert sweeps.short_names(two) == {two[0]: "a.bins", two[1]: "b.bins", two[2]: "a"}
    column = "problem.a.notion"  # which the table has already
    assert sweeps.short_names([column]) == {column: "problem.notion"}


def test_one_plan_holds_every_cell_once_under_names_that_say_what_was_swept():
    whole = plan(compose([*BASE, BINS, "sweep.problem.beta_overconfident.a=[0.5,2]"]))
    assert list(whole.estimators) == ["binned15 (bins=5)", "oracle", "binned15 (bins=10)"]
    assert set(whole.problems) == {
        "beta_calibrated",
        "beta_overconfident (a=0.5)",
        "beta_overconfident (a=2)",
    }
    assert (
        len(whole.cells) == len({c.key for c in whole.cells}) == 3 * 3 * 2
    )  # problems x estimators x reps
    points = [
        (f"estimator.binned15.bins={b}", f"+problem.beta_overconfident.a={a}")
        for b in (5, 10)
        for a in (0.5, 2)
    ]
    apart = [plan(compose([*BASE, *point])) for point in points]
    assert {c.key for single in apart for c in single.cells} == {c.key for c in whole.cells}


def test_seeds_are_of_the_cell():
    whole = plan(compose([*BASE, "sweep.seed=[3,4]"]))
    for seed in (3, 4):
        alone = plan(compose([*BASE, f"seed={seed}"]))
        assert {c.key for c in whole.cells if c.seed == seed} == {c.key for c in alone.cells}


def test_values_that_differ_in_late_digits_are_apart(out):
    """Workers know components by their names: two of one name would give wrong numbers."""
    a = [0.50000001, 0.50000002]
    result = Experiment.of(
        [*BASE, f"sweep.problem.beta_overconfident.a={a}", "estimator=[binned15]", f"out={out}"]
    )
    assert {f"beta_overconfident (a={value})" for value in a} <= set(result.plan.problems)
    result.compute(quiet=True)
    frame = result.records.read()
    planned = {c.key: result.plan.problems[c.problem].key for c in result.plan.cells}
    assert (
        frame["problem_key"].tolist() == frame["key"].map(planned).tolist()
        and frame["problem_key"].nunique() == 3
    )


def test_numbers_of_resamples_are_apart(out, tmp_path):
    file = tmp_path / "preds.npz"
    np.savez(file, p=np.linspace(0.02, 0.98, 60), y=np.arange(60) % 3 == 0)
    base = (
        "problem=predictions",
        f"problem.predictions.path={file}",
        "estimator=[binned15]",
        "jobs=1",
        f"out={out}",
    )
    result = Experiment.of([*base, "sweep.bootstrap=[0,20,40]"])
    assert list(result.plan.estimators) == [
        "binned15",
        "binned15 (20 resamples)",
        "binned15 (40 resamples)",
    ]
    result.compute(quiet=True)
    frame = result.records.read()
    planned = {c.key: result.plan.estimators[c.estimator].key for c in result.plan.cells}
    assert (
        frame["estimator_key"].tolist() == frame["key"].map(planned).tolist()
        and frame["estimator_key"].nunique() == 3
    )


def test_values_that_make_the_same_cells_are_refused_whatever_else_is_swept(tmp_path):
    for name in ("first.csv", "copy.csv", "other.csv"):
        (tmp_path / name).write_text(f"p,y\n0.2,0\n0.7,1\n0.4,{int(name == 'other.csv')}\n")
    run = [
        "problem=predictions",
        f"problem.predictions.path={tmp_path}/first.csv",
        "estimator=binned15",
        "reps=1",
    ]
    both = "sweep.problem.predictions.path=[{0}/first.csv,{0}/{1}]".format
    with pytest.raises(BadInputError, match="path is swept, but it changes no cell"):
        plan(compose([*run, both(tmp_path, "copy.csv"), "sweep.seed=[0,1]"]))
    assert len(plan(compose([*run, both(tmp_path, "other.csv"), "sweep.seed=[0,1]"])).points) == 4


def test_calibrators_are_swept_by_their_ids(out):
    """The cells are those of the estimators with these calibrators."""
    path = "sweep.estimator.variational_isotonic.calibrator"
    run = ["problem=beta_wavy", "n=[60]", "reps=1", "jobs=1", f"out={out}"]
    swept = plan(compose([*run, "estimator=variational_isotonic", f"{path}=[isotonic,beta]"]))
    plain = plan(compose([*run, "estimator=variational_isotonic"]))
    assert {c.key for c in plain.cells} < {c.key for c in swept.cells}
    described = {part.parameters for part in swept.estimators.values()}
    beta = plan(compose([*run, "estimator=variational_beta"]))
    assert {part.parameters for part in beta.estimators.values()} < described
    with pytest.raises(BadInputError, match="isotonik"):
        plan(compose([*run, "estimator=variational_isotonic", f"{path}=[isotonik]"]))


def test_values_of_several_paths_are_taken_together(out):
    pairs = ("sweep.zip.estimator.binned15.bins=range(5,20,5)", "sweep.zip.seed=[1,1,2]")
    (result,) = multirun.plan_experiments(compose([*BASE, *pairs, f"out={out}"]))
    values = [tuple(point.values()) for point in result.plan.points]
    assert values == [(5, 1), (10, 1), (15, 2)]
    product = plan(compose([*BASE, *pairs, "sweep.problem.beta_overconfident.a=[1,2]"]))
    assert len(product.points) == 6
    for wrong in ("sweep.zip.seed=[1,2]", "sweep.seed=[1,2,3]"):
        with pytest.raises(BadInputError, match="sweep"):
            plan(compose([*BASE, *pairs, wrong]))
