"""Paths of the package, of its data files, and of the Git checkout if it runs from one."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "conf" / "config.yaml").is_file() else None
CONF = CHECKOUT / "conf" if CHECKOUT else PACKAGE / "_conf"
EXPERIMENTS = CHECKOUT / "experiments" if CHECKOUT else PACKAGE / "_experiments"
_DATA = CHECKOUT / "data" if CHECKOUT else PACKAGE / "_data"
PACKS = _DATA / "packs.yaml"
KEYS = _DATA / "keys.csv"  # keys that earlier versions gave to components
CACHE = CHECKOUT / "data" / "cache" if CHECKOUT else Path.home() / ".cache" / "calharness"
BASELINE = CHECKOUT / "results" / "baseline" if CHECKOUT else PACKAGE / "_baseline"
