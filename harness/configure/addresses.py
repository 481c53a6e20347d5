"""Engines, and the addresses of clusters that they join."""

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


def check(config: dict[str, Any]) -> None:
    """Raise BadInputError where the engine is unknown, or its address cannot be one."""
    engine, address = config["engine"], config["address"]
    if engine not in ENGINES:
        raise BadInputError(f"engine is {engine!r}; allowed are {', '.join(ENGINES)}.")
    if address is None:
        return
    if engine not in ADDRESSES:
        raise BadInputError(f"address is {address!r}, but engine={engine} has none; engine=dask and engine=ray join a cluster.")
    if not (engine == "ray" and address == "auto") and not host_and_port(engine, address):
        raise BadInputError(f"address is {address!r}; with engine={engine} it is {ADDRESSES[engine]}, or null for this machine.")


def host_and_port(engine: str, address: Any) -> tuple[str, int] | None:
    """Return host and port of an address, None of another text such as Ray's auto."""
    pattern = rf"(?:(?:{SCHEMES[engine]})://)?(\[[0-9a-fA-F:]+\]|[\w.-]+):(\d{{1,5}})"
    found = re.fullmatch(pattern, str(address))
    return (found[1].strip("[]"), int(found[2])) if found and 0 < int(found[2]) < 65536 else None
