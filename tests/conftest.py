"""Shared by all tests: results go to a folder of their own."""

import os
import sys

import pytest
from dearer import is_dearer
from hypothesis import settings

from harness.common import user_code

os.environ.setdefault("MPLBACKEND", "Agg")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # as in a run's workers; small problems on several threads take ten times as long
settings.register_profile("fixed", derandomize=True, deadline=None)  # the same examples on every run
settings.register_profile("search", max_examples=2000, deadline=None)  # pytest --hypothesis-profile=search
settings.load_profile("fixed")


@pytest.fixture
def out(tmp_path, monkeypatch):
    """A fresh results folder, which the library and the command line take as default."""
    folder = tmp_path / "results"
    monkeypatch.setenv("CALHARNESS_OUT", str(folder))
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests of tests/dearer.py are slow ones."""
    for item in items:
        if is_dearer(item.nodeid):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def no_code_but_ours(monkeypatch):
    """Each test begins as a process that has imported nobody else's code: ours may be computed in it."""
    monkeypatch.setattr(user_code, "_ran", set())


@pytest.fixture(autouse=True)
def closed_figures():
    """Figures that a test draws and does not save are closed behind it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def result(out):
    """result(".csv"): the one file with this ending among the results of variations, but for tables beside it."""

    def one(end):
        (found,) = (path for path in (out / "variations").glob(f"*/*{end}") if path.stem == path.parent.name)
        return found

    return one


@pytest.fixture
def cli(out, capsys, monkeypatch):
    """Call the command line: cli("list", "problems") -> (exit status, standard output, standard error)."""
    from harness.commands.app import main

    monkeypatch.delenv("CALHARNESS_TRACEBACK", raising=False)

    def call(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module of a stranger's into an own folder on the path: module("name", "source"). It is gone after the test: one of
    the same name in another test's folder is another module."""
    folder = tmp_path / "stranger"
    folder.mkdir(exist_ok=True)
    monkeypatch.syspath_prepend(str(folder))

    def write(name, source):
        (folder / f"{name}.py").write_text(source)
        return folder

    yield write
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)
