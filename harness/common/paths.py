"""Where things lie: the package, the checkout it may be part of, configuration, experiments, list of packs, cache of downloads."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "conf" / "config.yaml").is_file() else None
CONF = CHECKOUT / "conf" if CHECKOUT else PACKAGE / "_conf"
EXPERIMENTS = PACKAGE.parent / "experiments"
PACKS = CHECKOUT / "data" / "packs.yaml" if CHECKOUT else PACKAGE / "_data" / "packs.yaml"
CACHE = CHECKOUT / "data" / "cache" if CHECKOUT else Path.home() / ".cache" / "calharness"
