"""Classes that were moved to the folder of a paper: their former paths and their keys."""

import json

import pytest

import harness
from harness.common.module_names import moved_classes
from harness.plan.components import build_component
from harness.plan.targets import import_object

FORMER = "harness.estimators.PopulationMetrics"
NESTED = {
    "_target_": "harness.estimators.Bootstrap",
    "estimator": {"_target_": FORMER},
    "resamples": 50,
}
# Keys of the version that had the class in harness/estimators.
KEYS = {"population": "90681741e2270f32", "b": "3443569c58e0b1b9"}


@pytest.mark.parametrize(("before", "now"), moved_classes().items())
def test_former_paths_lead_to_the_class_of_the_same_name(before, now):
    assert import_object(before, "a") is import_object(now, "a")
    assert before.rpartition(".")[2] == now.rpartition(".")[2]


@pytest.mark.parametrize("path", [FORMER, moved_classes()[FORMER], f"cal{FORMER}"])
def test_moved_classes_keep_their_keys(path):
    nested = {**NESTED, "estimator": {"_target_": path}}
    keys = {
        name: build_component("estimator", name, config).key
        for name, config in {"population": {"_target_": path}, "b": nested}.items()
    }
    assert keys == KEYS


def test_a_yaml_of_a_user_may_have_a_former_path(tmp_path, out, capsys):
    """The run computes its cells, and one note names the new path, however often it is read."""
    folder = tmp_path / "conf" / "estimator"
    folder.mkdir(parents=True)
    former = "harness.estimators.population_metrics.PopulationMetrics"  # in no other test's run
    (folder / "mine.yaml").write_text(json.dumps({"mine": {"_target_": former}}))
    law = {"weights": [0.5, 0.5], "predictions": [0.3, 0.6], "posteriors": [0.5, 0.5]}
    run = [f"config_dir={tmp_path / 'conf'}", "estimator=[mine]", "problem=[]", "n=20", "reps=1"]
    points = [f"+problem.law.{name}={value}" for name, value in law.items()]
    run += [
        "+problem.law._target_=experiments.moskvichev2025.shift.Points",
        *points,
        "engine=serial",
    ]
    for _ in range(2):
        frame = harness.run(run)
    assert frame["value"].tolist() == pytest.approx([0.3])
    assert capsys.readouterr().err.count(moved_classes()[former]) == 1
