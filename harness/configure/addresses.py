"""Engines that compute cells, and the addresses of clusters that they join."""

from __future__ import annotations

import re
from typing import Any

from harness.errors import BadInputError

ENGINES = ("serial", "loky", "dask", "ray")
ADDRESSES = {
    "dask": "HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT of a scheduler",
    "ray": "auto, HOST:PORT or ray://HOST:PORT of a head",
}
SCHEMES = {"dask": "tcp|tls", "ray": "ray"}


def host_and_port(engine: str, address: Any) -> tuple[str, int] | None:
    """Return host and port of a cluster's address, or None if it has another form."""
    host = r"(\[[0-9a-fA-F:]+\]|[\w.-]+)"
    match = re.fullmatch(rf"(?:(?:{SCHEMES[engine]})://)?{host}:(\d{{1,5}})", str(address))
    if match and 0 < int(match[2]) < 65536:
        return match[1].strip("[]"), int(match[2])
    return None


def check_address(engine: str, address: Any) -> None:
    """Raise BadInputError if the engine joins no cluster, or the address has another form."""
    if address is None:
        return
    if engine not in ADDRESSES:
        raise BadInputError(
            f"address is {address!r}, but engine={engine} has none; engine=dask and engine=ray "
            "join "
            "a cluster."
        )
    if not (engine == "ray" and address == "auto") and not host_and_port(engine, address):
        raise BadInputError(
            f"address is {address!r}; with engine={engine} it is {ADDRESSES[engine]}, or null for "
            "this machine."
        )
