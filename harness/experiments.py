"""Modules of the papers, importable as `harness.experiments.<paper>.<module>`.

Their files are in experiments/ of a checkout, and in harness/_experiments of an installed package.
No top-level package called `experiments` is installed, because users have folders of that name.
Configurations, keys and records say `experiments.<paper>...`; the functions here translate.

>>> module_name("experiments.berta2026.authors"), module_name("experiments.of_mine")
('harness.experiments.berta2026.authors', 'experiments.of_mine')
>>> written_name("harness.experiments.berta2026.authors"), written_name("harness.math.notions")
('experiments.berta2026.authors', 'harness.math.notions')
"""

from __future__ import annotations

from harness.common.paths import EXPERIMENTS

__path__ = [str(EXPERIMENTS)]


def module_name(name: str) -> str:
    """Return the name to import for a dotted path of a configuration. Other modules keep theirs."""
    package, _, rest = name.partition(".")
    paper = rest.partition(".")[0]
    is_ours = package == "experiments" and paper and (EXPERIMENTS / paper).is_dir()
    return f"harness.{name}" if is_ours else name


def written_name(module: str) -> str:
    """Return the name of a module in configurations and keys."""
    return module.removeprefix("harness.") if module.startswith("harness.experiments.") else module
