"""Access to the scripts in tools/ of a checkout, for example as `harness.tools.stand_ins`.

Some of them make stand-ins for data that cannot be downloaded. An installed package has no scripts.
"""

from __future__ import annotations

from harness.common.paths import CHECKOUT

__path__ = [str(CHECKOUT / "tools")] if CHECKOUT else []
