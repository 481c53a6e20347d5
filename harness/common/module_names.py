"""Translate the names of papers' modules between configurations and imports.

Configurations, keys and records write `experiments.<paper>.<module>`. Python imports the same
module as `harness.experiments.<paper>.<module>`. The functions here translate between the two.

>>> module_name("experiments.berta2026.authors"), module_name("experiments.of_mine")
('harness.experiments.berta2026.authors', 'experiments.of_mine')
>>> written_name("harness.experiments.berta2026.authors"), written_name("harness.math.notions")
('experiments.berta2026.authors', 'harness.math.notions')
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from harness.common.paths import EXPERIMENTS


def module_name(name: str) -> str:
    """Return the importable name of a module that a configuration names.

    `experiments.<paper>...` becomes `harness.experiments.<paper>...`. Other names stay as they are.
    """
    package, _, rest = name.partition(".")
    paper = rest.partition(".")[0]
    is_ours = package == "experiments" and paper and (EXPERIMENTS / paper).is_dir()
    return f"harness.{name}" if is_ours else name


def written_name(module: str) -> str:
    """Return the name by which configurations and keys call an imported module."""
    return module.removeprefix("harness.") if module.startswith("harness.experiments.") else module


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
