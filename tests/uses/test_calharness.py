"""`import calharness` is `import harness`, also beside another package called harness."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.plan.components import build_component

ROOT = Path(__file__).resolve().parents[2]
IS_THE_SAME = """
import calharness
from calharness.estimators import Binned
import calharness.judging.judge
import calharness.experiments.berta2026
import harness, harness.estimators, harness.judging.judge
assert calharness is harness and calharness.judging.judge is harness.judging.judge
assert Binned is harness.estimators.Binned
assert harness.judging.judge.__spec__.name == "harness.judging.judge"
import pickle
assert type(pickle.loads(pickle.dumps(Binned()))) is Binned
"""
JUDGES = """
import calharness
judgement = calharness.judge([0.2, 0.7, 0.4], [0, 1, 0], questions=["calibrated"])
assert judgement.calibrated.rejected is False
"""
WITH_THE_OTHER = "import harness\nimport calharness"


def run(*arguments, folder):
    """Run Python in a folder, which is the first place where it looks for modules."""
    command = [sys.executable, *arguments]
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def beside_another(tmp_path):
    """A folder with a package of another project that is called harness."""
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("here = True\n")
    return tmp_path


@pytest.mark.parametrize("first", ["", "import harness.estimators\n"])
def test_modules_and_classes_are_the_same_objects(tmp_path, first):
    done = run("-c", first + IS_THE_SAME, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_another_package_called_harness_does_not_hide_ours(beside_another):
    done = run("-c", JUDGES, folder=beside_another)
    assert done.returncode == 0, done.stderr
    done = run("-c", WITH_THE_OTHER, folder=beside_another)
    assert done.returncode == 1 and str(beside_another) in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")


@pytest.mark.parametrize("module", ["calharness.no_such_module", "calharness.math.no_such_module"])
def test_a_missing_module_is_not_found(tmp_path, module):
    done = run("-c", f"import {module}", folder=tmp_path)
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named '{module}'"


def test_the_command_runs_as_a_module(tmp_path):
    done = run("-m", "calharness", "--version", folder=tmp_path)
    assert done.returncode == 0 and harness.__version__ in done.stdout


def test_a_configuration_may_name_either_package():
    keys = {
        build_component("estimator", "mine", {"_target_": f"{package}.estimators.Binned"}).key
        for package in ("harness", "calharness")
    }
    assert len(keys) == 1


def test_the_key_of_own_code_does_not_depend_on_our_source(tmp_path):
    """The file of `calharness` is no local module of a user's code that imports it."""
    (tmp_path / "own_estimator.py").write_text(
        "import calharness\n\n\ndef mine(p, y):\n    return calharness.ece(p, y, 'binary')\n"
    )
    script = (
        "from harness.common.user_code import source_digests\n"
        "print(*[text.split(':')[0] for text in source_digests('own_estimator')])"
    )
    assert run("-c", script, folder=tmp_path).stdout.split() == ["own_estimator"]
