"""Paths of the package, of its data files, and of the Git checkout if it runs from one."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "conf" / "config.yaml").is_file() else None
CONF = CHECKOUT / "conf" if CHECKOUT else PACKAGE / "_conf"
EXPERIMENTS = CHECKOUT / "experiments" if CHECKOUT else PACKAGE / "_experiments"
_DATA = CHECKOUT / "data" if CHECKOUT else PACKAGE / "_data"
PACKS = _DATA / "packs.yaml"
KEYS = _DATA / "keys.csv"  # keys that earlier versions gave to components
MOVED = _DATA / "moved.csv"  # classes that earlier versions had in another module
CACHE = CHECKOUT / "data" / "cache" if CHECKOUT else Path.home() / ".cache" / "calharness"
BASELINE = CHECKOUT / "results" / "baseline" if CHECKOUT else PACKAGE / "_baseline"


def short_path(path: Path) -> str:
    """Return a path as text: absolute or relative to the working folder, whichever is shorter."""
    try:
        return min(str(path), os.path.relpath(path), key=len)
    except FileNotFoundError:  # the working folder was deleted
        return str(path)
