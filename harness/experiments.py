"""The papers' modules, importable as `harness.experiments.<paper>.<module>`.

Their files are the folder experiments/ of a checkout, and harness/_experiments in an installed
package. Neither installs a top-level package called `experiments`, so that somebody's own folder of
that name keeps it. Configurations, keys and records write `experiments.<paper>...`; the functions
here translate.

>>> module_name("experiments.berta2026.authors"), module_name("experiments.of_mine")
('harness.experiments.berta2026.authors', 'experiments.of_mine')
>>> written_name("harness.experiments.berta2026.authors"), written_name("harness.math.notions")
('experiments.berta2026.authors', 'harness.math.notions')
"""

from __future__ import annotations

from harness.common.paths import EXPERIMENTS

__path__ = [str(EXPERIMENTS)]


def module_name(name: str) -> str:
    """Name to import for a dotted path of a configuration; of a module that is not ours the same."""
    package, _, rest = name.partition(".")
    paper = rest.partition(".")[0]
    ours = package == "experiments" and paper and (EXPERIMENTS / paper).is_dir()
    return f"harness.{name}" if ours else name


def written_name(module: str) -> str:
    """Name of a module as configurations and keys have it."""
    return module.removeprefix("harness.") if module.startswith("harness.experiments.") else module
