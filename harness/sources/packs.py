"""Packs: published data files with checksum, size, licence and citation (data/packs.yaml). Nothing is fetched unasked."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.config import PACKS
from harness.errors import BadInput
from harness.sources.files import sha256

CHUNK = 1 << 20


@dataclass(frozen=True)
class Pack:
    """One file: path below CALHARNESS_DATA, urls tried in order (none = not published as such; how to get it is in `note`)."""

    name: str
    path: str
    sha256: str
    bytes: int
    licence: str
    citation: str
    urls: tuple[str, ...] = ()
    note: str = ""


def packs(listing: Path | None = None) -> dict[str, Pack]:
    """All packs by name, from data/packs.yaml or another listing."""
    entries = yaml.safe_load((listing or PACKS).read_text()) or {}
    return {name: Pack(name, **{**entry, "urls": tuple(entry.get("urls", ()))}) for name, entry in entries.items()}


def folder() -> Path:
    """The folder of data: CALHARNESS_DATA, which must be set."""
    given = os.environ.get("CALHARNESS_DATA")
    if not given:
        raise BadInput("CALHARNESS_DATA is not set; it names the folder where data files lie or are fetched to.")
    return Path(given).expanduser()


def command(arguments: list[str]) -> int:
    """`calharness data list | fetch NAME | verify [NAME]`."""
    known = packs()
    if arguments[:1] == ["list"] and len(arguments) == 1:
        for pack in known.values():
            print(f"{pack.name:<24}{pack.bytes / 1e6:>8.2f} MB  {_state(pack):<10}{pack.licence:<30}{pack.path}")
        return 0
    if arguments[:1] == ["fetch"] and len(arguments) == 2:
        print(f"  {fetch(_named(known, arguments[1]), folder())}")
        return 0
    if arguments[:1] == ["verify"] and len(arguments) <= 2:
        chosen = [_named(known, arguments[1])] if len(arguments) == 2 else list(known.values())
        return verify(chosen, folder())
    raise BadInput(f"data {' '.join(arguments)} is not a command; allowed are data list, data fetch NAME, data verify [NAME].")


def verify(chosen: list[Pack], base: Path) -> int:
    """Print one line per pack; 1 if a file that is there has another checksum, else 0."""
    wrong = 0
    for pack in chosen:
        path = base / pack.path
        if not path.is_file():
            print(f"{pack.name:<24}absent     {path}")
            continue
        found = sha256(path)
        wrong += found != pack.sha256
        print(f"{pack.name:<24}{'ok' if found == pack.sha256 else f'WRONG: sha256 {found}, expected {pack.sha256}'}")
    return int(wrong > 0)


def fetch(pack: Pack, base: Path) -> Path:
    """Download a pack unless it is there; resumes a partial file; keeps it only if its sha256 matches."""
    path = base / pack.path
    if path.is_file():
        found = sha256(path)
        if found == pack.sha256:
            return path
        raise BadInput(f"{path} has sha256 {found}, expected {pack.sha256}; it is left as it is: move it away to fetch again.")
    if not pack.urls:
        raise BadInput(f"{pack.name} is not published as a single file; {pack.note or 'no source is known'} Put it at {path}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    problems = []
    for url in pack.urls:
        try:
            _download(url, partial, pack.bytes)
        except (urllib.error.URLError, OSError) as error:
            problems.append(f"{url}: {error}")
            continue
        found = sha256(partial)
        if found == pack.sha256:
            partial.replace(path)
            return path
        problems.append(f"{url}: sha256 is {found}, expected {pack.sha256}")
        partial.unlink()
    raise BadInput(f"{pack.name} could not be fetched: {'; '.join(problems)}.")


def _download(url, partial, size):
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    with urllib.request.urlopen(request, timeout=60) as answer, open(partial, "ab" if start else "wb") as f:
        if start and answer.status != 206:  # the server sends the whole file again
            f.truncate(0)
            start = 0
        while block := answer.read(CHUNK):
            f.write(block)
            start += len(block)
            print(f"\r  {start / 1e6:.1f} of {size / 1e6:.1f} MB", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def _named(known, name):
    if name not in known:
        raise BadInput(f"there is no pack {name!r}; packs are {', '.join(known)}.")
    return known[name]


def _state(pack):
    base = os.environ.get("CALHARNESS_DATA")
    return "present" if base and (Path(base) / pack.path).is_file() else "absent"
