"""Modules of the papers, importable as `harness.experiments.<paper>.<module>`.

Their files are in experiments/ of a checkout, and in harness/_experiments of an installed package.
No top-level package called `experiments` is installed, because users have folders of that name.
"""

from __future__ import annotations

from harness.common.paths import EXPERIMENTS

__path__ = [str(EXPERIMENTS)]
