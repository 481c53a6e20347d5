"""Names of the engines that compute cells, and checks of the addresses of their clusters."""

from __future__ import annotations

import re
from typing import Any

from harness.errors import BadInputError

ENGINES = ("serial", "loky", "dask", "ray")
ADDRESSES = {  # allowed forms of an address, in words
    "dask": "HOST:PORT, tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler",
    "ray": "auto, HOST:PORT or ray://HOST:PORT of a Ray head node",
}
SCHEMES = {"dask": "tcp|tls", "ray": "ray"}


def host_and_port(engine: str, address: Any) -> tuple[str, int] | None:
    """Return the (host, port) in a cluster's address, or None for an address of another form."""
    host = r"(\[[0-9a-fA-F:]+\]|[\w.-]+)"
    match = re.fullmatch(rf"(?:(?:{SCHEMES[engine]})://)?{host}:(\d{{1,5}})", str(address))
    if match and 0 < int(match[2]) < 65536:
        return match[1].strip("[]"), int(match[2])
    return None


def check_address(engine: str, address: Any) -> None:
    """Raise BadInputError if an engine cannot join a cluster at this address."""
    if address is None:
        return
    if engine not in ADDRESSES:
        raise BadInputError(
            f"address is {address!r}, but engine={engine} runs on this machine only; leave "
            "address out, or give engine=dask or engine=ray."
        )
    if not (engine == "ray" and address == "auto") and not host_and_port(engine, address):
        raise BadInputError(
            f"address is {address!r}; with engine={engine}, allowed are {ADDRESSES[engine]}, and "
            "null for this machine."
        )
