"""Wheel, container, citation and changelog."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from harness.common.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("wheel")
MINE = '''
import numpy as np

def mine(p, y):
    """Mean absolute residual over ten bins of equal width."""
    cell = np.digitize(p, np.linspace(0.1, 0.9, 9))
    return sum(abs((p - y)[cell == b].sum()) for b in range(10)) / len(p)
'''
IMPORTS_EVERYTHING = """
import importlib, importlib.util, pkgutil, harness, harness.experiments
assert importlib.util.find_spec("experiments") is None
for package in (harness, harness.experiments):
    for _, name, _ in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if name != "harness.__main__":
            importlib.import_module(name)
"""


def allowed():
    """Return the paths that .dockerignore admits. The wheel is built from these paths."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line[1:] for line in lines if line.startswith("!")]


def copied(folder):
    """Copy these files with times of today, and add bytecode as in a used checkout."""
    for name in allowed():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                place,
                copy_function=shutil.copyfile,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        else:
            shutil.copyfile(ROOT / name, place)
    (folder / "harness" / "__pycache__").mkdir()
    (folder / "harness" / "__pycache__" / "errors.cpython-311.pyc").write_bytes(b"none")
    return folder


def run(*command, folder, **environment):
    """Run a command that knows nothing of this checkout; it must succeed."""
    silent = ("PYTHONPATH", "CALHARNESS_OUT", "CALHARNESS_DATA", "PYTHONHOME", "VIRTUAL_ENV")
    clean = {name: value for name, value in os.environ.items() if name not in silent}
    given = [str(word) for word in command]
    done = subprocess.run(
        given, cwd=folder, env={**clean, **environment}, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, f"{' '.join(given)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout + done.stderr


def built(source, folder):
    """The wheel of a source folder."""
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "-w",
        folder,
        ".",
        folder=source,
        SOURCE_DATE_EPOCH="1577836800",
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    return built(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
def test_two_builds_give_the_same_bytes_and_hold_what_is_needed(wheel, tmp_path):
    again = built(copied(tmp_path / "copy"), tmp_path / "again")
    assert wheel.name == again.name == f"calharness-{VERSION}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names == set(zipfile.ZipFile(again).namelist())
    assert wheel.read_bytes() == again.read_bytes()
    for folder, inside in (
        ("conf", "harness/_conf"),
        ("results/baseline", "harness/_baseline"),
        ("experiments", "harness/_experiments"),
    ):
        files = [
            path
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        ]
        missing = {f"{inside}/{path.relative_to(ROOT / folder)}" for path in files} - names
        assert not missing, missing
    data = [
        path
        for path in (ROOT / "harness").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".nbc", ".nbi")
    ]
    missing = {str(path.relative_to(ROOT)) for path in data} - names
    missing |= {"calharness/__init__.py", "calharness/py.typed"} - names
    assert not missing, missing
    assert not [
        name
        for name in names
        if name.startswith(("tests/", "docs/", "results/")) or "__pycache__" in name
    ]


@pytest.mark.slow
def test_an_installed_wheel_needs_nothing_of_the_checkout(wheel, tmp_path):
    """Run judge, an experiment and compare in an environment with declared dependencies only."""
    empty = tmp_path / "empty"
    empty.mkdir()
    run(sys.executable, "-m", "venv", "environment", folder=tmp_path)
    python = tmp_path / "environment" / "bin" / "python"
    run(
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-compile",
        "-c",
        ROOT / "constraints.txt",
        wheel,
        folder=empty,
    )
    assert "No broken requirements" in run(python, "-m", "pip", "check", folder=empty)
    calharness = python.with_name("calharness")
    assert VERSION in run(calharness, "--version", folder=empty)
    run(python, "-c", IMPORTS_EVERYTHING, folder=empty)
    run(python, "-c", "import calharness, harness; assert calharness is harness", folder=empty)

    rng = np.random.default_rng(0)
    p = rng.random(400)
    rows = np.column_stack([p, rng.random(400) < p**1.5])
    np.savetxt(
        empty / "preds.csv", rows, delimiter=",", header="p,y", comments="", fmt=["%.6f", "%d"]
    )
    output = run(calharness, "judge", "preds.csv", "--html", "report.html", folder=empty)
    assert output.strip() and "<html" in (empty / "report.html").read_text()

    output = run(
        calharness, "experiment=smoke", "reps=1", "n=[100]", "jobs=1", "engine=serial", folder=empty
    )
    assert list((empty / "results" / "variations").glob("*/*.html")), output

    (empty / "my_module.py").write_text(MINE)
    options = ("n=200", "reps=4", "notion=binary", "family=power", "jobs=1")
    output = run(calharness, "compare", "my_module.mine", *options, folder=empty)
    assert "the RMSE of mine is " in output
    assert (empty / "results" / "compare" / "mine" / "mine.html").is_file()


COMPARES = """
import sys, harness
part = dict(n=200, notion="binary", reps=10)
frame = harness.compare("my_module.mine", **part, jobs=1, out=sys.argv[1])
frame.to_pickle(sys.argv[1] + "/frame.pkl")
print(harness.__file__)
"""


@pytest.mark.slow
def test_a_comparison_from_an_installed_wheel_equals_one_from_the_checkout(wheel, tmp_path):
    """A small part of the arena. Packages other than calharness are those of this environment."""
    run(sys.executable, "-m", "venv", "environment", folder=tmp_path)
    python = tmp_path / "environment" / "bin" / "python"
    install = ("-m", "pip", "install", "-q", "--no-deps", "--no-compile", wheel)
    run(python, *install, folder=tmp_path)
    (site,) = (tmp_path / "environment").glob("lib/python*/site-packages")
    packages = {folder for folder in sys.path if folder.endswith("-packages")}
    (site / "others.pth").write_text("\n".join(sorted(packages)))
    (tmp_path / "my_module.py").write_text(MINE)
    (tmp_path / "compares.py").write_text(COMPARES)
    outputs = {"wheel": (python, {}), "checkout": (sys.executable, {"PYTHONPATH": str(ROOT)})}
    frames, verdicts = {}, {}
    for name, (interpreter, environment) in outputs.items():
        (tmp_path / name).mkdir()
        paths = run(interpreter, "compares.py", name, folder=tmp_path, **environment)
        assert paths.strip().startswith(str(site if name == "wheel" else ROOT)), paths
        frame = pd.read_pickle(tmp_path / name / "frame.pkl")
        frames[name] = frame.drop(columns=["seconds", "cpu_seconds"])
        verdicts[name] = (tmp_path / name / "compare/mine/mine_verdicts.csv").read_text()
    assert verdicts["wheel"] == verdicts["checkout"] and "worse" in verdicts["wheel"]
    pd.testing.assert_frame_equal(frames["wheel"], frames["checkout"])


def test_the_citation_is_valid_and_of_this_version():
    """CITATION.cff has the keys, dates and versions that the Citation File Format 1.2.0 asks
    for.
    """
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation) and citation[
        "cff-version"
    ] == "1.2.0"
    assert (
        citation["type"] == "software"
        and citation["version"] == VERSION
        and citation["license"] == "MIT"
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", citation["date-released"])
    for reference in citation["references"]:
        assert {"type", "title", "authors"} <= set(reference) and reference["type"] in (
            "article",
            "conference-paper",
        )
        assert all({"family-names"} <= set(author) for author in reference["authors"])
    papers = [
        yaml.safe_load(path.read_text())
        for path in sorted((ROOT / "experiments").glob("*/paper.yaml"))
    ]
    assert {paper["title"] for paper in papers} == {
        reference["title"] for reference in citation["references"]
    }


def test_the_changelog_begins_with_this_version_and_its_date():
    log = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", log, re.M)
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text())["date-released"]
    assert versions[0] == (VERSION, released)
    numbers = [tuple(map(int, number.split("."))) for number, _ in versions]
    assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) == len(numbers)


def test_the_container_has_no_root_user_and_the_files_of_the_wheel():
    lines = [
        line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")
    ]
    stages = [line for line in lines if line.startswith("FROM ")]
    assert len(stages) == 2 and all("slim" in stage for stage in stages)
    last = lines[lines.index(stages[1]) :]
    assert 'ENTRYPOINT ["calharness"]' in last and not any(
        line.startswith("COPY . ") for line in last
    )
    (user,) = (line.split()[1] for line in last if line.startswith("USER "))
    assert user not in ("root", "0") and last.index(f"USER {user}") < last.index(
        'ENTRYPOINT ["calharness"]'
    )
    assert all((ROOT / name).exists() for name in allowed())
    built_in = re.findall(r'^"([^"]+)" = "harness/', (ROOT / "pyproject.toml").read_text(), re.M)
    assert built_in and set(built_in) <= set(allowed())
