"""Fixtures of all tests."""

import os
import sys

import pytest
from hypothesis import settings

from harness.common import user_code

os.environ.setdefault("MPLBACKEND", "Agg")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(
        variable, "1"
    )  # as in a run's workers; small problems on several threads take ten times as long
settings.register_profile(
    "fixed", derandomize=True, deadline=None
)  # the same examples on every run
settings.register_profile(
    "search", max_examples=2000, deadline=None
)  # pytest --hypothesis-profile=search
settings.load_profile("fixed")


@pytest.fixture
def out(tmp_path, monkeypatch):
    """Empty results folder, the default of the library and of the command line."""
    folder = tmp_path / "results"
    monkeypatch.setenv("CALHARNESS_OUT", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_code_but_ours(monkeypatch):
    """Forget which user code this process imported, so that cells may be computed in it."""
    monkeypatch.setattr(user_code, "_imported", set())


@pytest.fixture(autouse=True)
def no_width_but_the_terminals(monkeypatch):
    """Remove COLUMNS, to which the lines of tables would be fitted."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures that a test leaves open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def result(out):
    """Return the only result of a variation with this ending: result(".csv")."""

    def find(end):
        (path,) = (
            path for path in (out / "variations").glob(f"*/*{end}") if path.stem == path.parent.name
        )
        return path

    return find


@pytest.fixture
def cli(out, capsys, monkeypatch):
    """Call the command line: cli("list", "problems") -> (exit status, output, errors)."""
    from harness.commands.app import main

    monkeypatch.delenv("CALHARNESS_TRACEBACK", raising=False)

    def call(*arguments):
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a user's module into a folder on the path: module("name", "source").

    It is forgotten after the test, so that another test may use the same name.
    """
    folder = tmp_path / "stranger"
    folder.mkdir(exist_ok=True)
    monkeypatch.syspath_prepend(str(folder))

    def write(name, source):
        (folder / f"{name}.py").write_text(source)
        return folder

    yield write
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)
