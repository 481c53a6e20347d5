"""The library judges predictions without the packages of runs, records and the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.judging.estimates import ESTIMATORS, LABELS

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = ("hydra", "omegaconf", "duckdb", "catboost", "lightgbm", "typer", "rich")
WITHOUT = """
import sys
for name in {names}:
    sys.modules[name] = None
"""
IMPORTS_THE_LIBRARY = """
import importlib, pkgutil
for room in ("math", "sources", "problems", "calibrators", "estimators", "judging"):
    package = importlib.import_module(f"harness.{room}")
    for _, name, _ in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(name)
"""
JUDGES = """
import json
import numpy as np
import harness
from harness.judging.data import from_file
from harness.judging.judge import judge_data

judgement = judge_data([from_file("tests/cases/weights.csv")])
assert judgement.how_far.errors[0].interval.value is not None
p = np.random.default_rng(0).dirichlet(np.ones(3), size=120)
y = (p.cumsum(axis=1) > 0.5).argmax(axis=1)
for judgement in (judgement, harness.judge(p, y)):
    assert not judgement.unanswered.keys() - {"versus"}
    assert str(judgement) and judgement.to_markdown() and len(judgement.to_frame())
    json.dumps(judgement.to_json(), allow_nan=False)
"""
DRAWS = "assert '<svg' in judgement.to_html() and judgement.plot().figure"
LOADED = """
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("harness.")}
print(*sorted(rooms))
"""
LIBRARY = {
    "calibrators",
    "common",
    "errors",
    "estimators",
    "judging",
    "math",
    "problems",
    "sources",
}


def run(*scripts, blocked=BLOCKED):
    """Run scripts in a new process; return the rooms of the harness that it has imported."""
    code = "\n".join([WITHOUT.format(names=blocked), *scripts, LOADED])
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return set(done.stdout.splitlines()[-1].split())


def test_all_modules_of_the_library_can_be_imported():
    assert run(IMPORTS_THE_LIBRARY) <= LIBRARY | {"figures", "pages"}


@pytest.mark.parametrize(
    ("drawing", "blocked", "rooms"),
    [
        ("", (*BLOCKED, "matplotlib", "jinja2"), LIBRARY),
        (DRAWS, BLOCKED, LIBRARY | {"figures", "pages"}),
    ],
)
def test_a_file_and_arrays_are_judged(drawing, blocked, rooms):
    assert run(JUDGES, drawing, blocked=blocked) == rooms


def test_the_face_imports_no_room():
    assert run("import harness", blocked=BLOCKED) == {"common", "errors"}


@pytest.mark.parametrize("name", LABELS)
def test_the_estimators_of_judge_equal_those_of_the_configuration(name):
    configured = harness.load_estimator(name)
    assert ESTIMATORS[name] == configured and type(ESTIMATORS[name]) is type(configured)
    assert repr(ESTIMATORS[name]) == repr(configured)


def test_every_estimator_of_judge_has_a_label():
    assert ESTIMATORS.keys() == LABELS.keys()
