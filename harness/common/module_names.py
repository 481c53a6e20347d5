"""Translate the names of papers' modules between configurations and imports.

Configurations, keys and records write `experiments.<paper>.<module>`. Python imports the same
module as `harness.experiments.<paper>.<module>`. The functions here translate between the two.
`calharness` is another name of the package `harness`.

>>> module_name("experiments.berta2026.authors"), module_name("experiments.of_mine")
('harness.experiments.berta2026.authors', 'experiments.of_mine')
>>> module_name("calharness.estimators.Binned")
'harness.estimators.Binned'
>>> written_name("harness.experiments.berta2026.authors"), written_name("harness.math.notions")
('experiments.berta2026.authors', 'harness.math.notions')
"""

from __future__ import annotations

import csv
import functools
import importlib.util
from pathlib import Path

from harness.common.paths import EXPERIMENTS, MOVED


def module_name(name: str) -> str:
    """Return the importable name of a module that a configuration names.

    `experiments.<paper>...` becomes `harness.experiments.<paper>...`, and `calharness...` becomes
    `harness...`. Other names stay as they are.
    """
    package, dot, rest = name.partition(".")
    if package == "calharness":
        return f"harness{dot}{rest}"
    paper = rest.partition(".")[0]
    is_ours = package == "experiments" and paper and (EXPERIMENTS / paper).is_dir()
    return f"harness.{name}" if is_ours else name


def written_name(module: str) -> str:
    """Return the name by which configurations and keys call an imported module."""
    return module.removeprefix("harness.") if module.startswith("harness.experiments.") else module


@functools.cache
def moved_classes(path: Path = MOVED) -> dict[str, str]:
    """Return {former dotted path: current one} of classes that were moved, from data/moved.csv.

    A moved class keeps its name, also in keys.
    """
    with path.open(newline="") as file:
        return {row["before"]: row["now"] for row in csv.DictReader(file)}


def current_path(path: str) -> str:
    """Return the dotted path at which an object is found, also for the former path of a class."""
    return moved_classes().get(module_name(path), path)


def former_path(path: str) -> str:
    """Return the first former path of a moved class in data/moved.csv, or `path` itself.

    Digests of configurations use it, so that they do not change if a class moves.
    """
    return next((before for before, now in moved_classes().items() if now == path), path)


def item_module(paper: str, item: str) -> str:
    """Return the dotted path of the module that draws a figure or table of a paper.

    `item` is the name of the figure or table, such as fig1. If the paper has no folder in our
    experiments/, the module belongs to a package of the user: <paper>.<item>.
    """
    is_ours = (EXPERIMENTS / paper).is_dir()
    return f"harness.experiments.{paper}.{item}" if is_ours else f"{paper}.{item}"


def paper_folder(paper: str) -> Path:
    """Return the folder of a paper's modules and reported.csv: ours, or the user's package."""
    if (EXPERIMENTS / paper).is_dir() or not paper.isidentifier():
        return EXPERIMENTS / paper
    spec = importlib.util.find_spec(paper)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) if folders else EXPERIMENTS / paper
