"""List packs and repositories of data, with their state on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from harness.common.data_files import sha256
from harness.errors import BadInputError
from harness.sources import packs, tabrepo
from harness.sources.packs import NAME_WIDTH

LICENCES = {"tabrepo": "Apache-2.0", "tabular_oof": "made here"}  # {repository: licence}


def pack_lines() -> Iterator[str]:
    """Yield one line for each pack and repository: name, size, state, licence and path."""
    known = packs.packs().values()
    for group in dict.fromkeys(pack.group for pack in known):
        yield f"{group}:" if group else ""
        for pack in known:
            if pack.group == group:
                state = "present" if pack.is_here else "absent"
                checksum = ""
                if pack.is_here and pack.sha256 is None:
                    checksum = f"  sha256 {sha256(pack.path_below(packs.folder()))}"
                row = _row(pack.name, pack.bytes, state, pack.licence)
                yield f"{row}{pack.path}{checksum}"
    yield ""
    for name, command in tabrepo.COMMANDS.items():
        try:
            state, where = "present", str(tabrepo.find(name).root)
        except BadInputError:
            state, where = "absent", f"`{command}`"
        yield f"{_row(name, None, state, LICENCES[name])}{where}"


def _row(name: str, size: int | None, state: str, licence: str) -> str:
    megabytes = "?" if size is None else f"{size / 1e6:.2f}"
    return f"  {name:<{NAME_WIDTH}}{megabytes:>8} MB  {state:<10}{licence:<30}"
