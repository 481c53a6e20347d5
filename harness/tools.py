"""Scripts that make stand-ins for data that cannot be fetched, as `harness.tools.stand_ins`.

Their files are in tools/ of a checkout. An installed package has none.
"""

from __future__ import annotations

from harness.common.paths import CHECKOUT

__path__ = [str(CHECKOUT / "tools")] if CHECKOUT else []
