"""Scripts that make stand-ins for data that cannot be fetched, as `harness.tools.stand_ins`.

Their files are in tools/ of a checkout. An installed package has none.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from harness.common.paths import CHECKOUT
from harness.errors import BadInputError

__path__ = [str(CHECKOUT / "tools")] if CHECKOUT else []


def stand_in(name: str) -> ModuleType:
    """Import tools/stand_ins/<name>.py. Raise BadInputError without a checkout."""
    if CHECKOUT is None:
        raise BadInputError(
            f"data make {name} needs a checkout of the repository, whose tools/stand_ins trains the "
            "models; run it there, and give its output folder by --out."
        )
    return importlib.import_module(f"harness.tools.stand_ins.{name}")
