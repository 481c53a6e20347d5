"""Packs: published data files with checksum, size, licence and citation (data/packs.yaml). Nothing is fetched unasked."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from harness.common.data_files import FOLDER_FILES, sha256
from harness.common.escaping import unescaped
from harness.common.paths import EXPERIMENTS, PACKS
from harness.errors import BadInputError, system_sentence
from harness.sources.download import download, said

NAME_WIDTH = 40  # of names in listings


@dataclass(frozen=True)
class Pack:
    """One file: path below CALHARNESS_DATA, urls tried in order (none = not published as such; how to get it is in `note`).
    sha256 None: no checksum is known; the file that the user puts there is taken, and its checksum shown. Files of predictions
    say how many `rows` (of the test part) and `classes` they hold, so that problems without the file know what they lack. A path
    below experiments/ is of a file that comes with the package; `repository` and `commit` are where its content is from."""

    name: str
    path: str
    sha256: str | None
    bytes: int | None
    licence: str
    citation: str
    urls: tuple[str, ...] = ()
    note: str = ""
    group: str = ""
    rows: int | None = None
    validation_rows: int | None = None
    classes: int | None = None
    repository: str = ""
    commit: str = ""

    @property
    def is_shipped(self) -> bool:
        """Whether the file comes with the package."""
        return self.path.startswith("experiments/")

    def at(self, base: Path | None) -> Path:
        """Where the file lies, below `base` unless it comes with the package."""
        if self.is_shipped:
            return EXPERIMENTS / self.path.removeprefix("experiments/")
        return Path(base or "") / self.path

    @property
    def is_here(self) -> bool:
        """Whether the file is there, below CALHARNESS_DATA or with the package."""
        base = os.environ.get("CALHARNESS_DATA")
        return (self.is_shipped or bool(base)) and self.at(Path(base or "").expanduser()).is_file()

    @property
    def how(self) -> str:
        """How to get it, a clause."""
        return (
            f"`calharness data fetch {self.name}` gets it"
            if self.urls
            else f"it is {self.note.rstrip('.')}"
        )


def packs(listing: Path | None = None) -> dict[str, Pack]:
    """All packs by name, from data/packs.yaml or another listing."""
    entries = (
        yaml.load((listing or PACKS).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        or {}
    )
    return {
        name: Pack(name, **{**entry, "urls": tuple(entry.get("urls", ()))})
        for name, entry in entries.items()
    }


def of(path: str) -> tuple[Pack, ...]:
    """The packs of predictions at a path as the listing has it: one, those of a folder of npy files, or none."""
    return _by_path(PACKS, PACKS.stat().st_mtime_ns).get(path, ())


def checksums() -> frozenset[str]:
    """The sha256 of every pack that has one."""
    return _checksums(PACKS, PACKS.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _checksums(listing: Path, modified: int) -> frozenset[str]:
    return frozenset(pack.sha256 for pack in packs(listing).values() if pack.sha256)


@lru_cache(maxsize=2)
def _by_path(listing: Path, modified: int) -> dict[str, tuple[Pack, ...]]:
    found: dict[str, tuple[Pack, ...]] = {}
    for pack in packs(listing).values():
        parent, _, name = pack.path.rpartition("/")
        if pack.rows:
            at = parent if name in FOLDER_FILES else pack.path
            found[at] = (*found.get(at, ()), pack)
    return found


def folder() -> Path:
    """The folder of data: CALHARNESS_DATA, which must be set."""
    given = os.environ.get("CALHARNESS_DATA")
    if not given:
        raise BadInputError(
            "CALHARNESS_DATA is not set; it names the folder where data files lie or are fetched to."
        )
    return Path(given).expanduser()


def verify(chosen: list[Pack], base: Path) -> int:
    """Print one line per pack; 1 if a file that is there has another checksum, else 0."""
    wrong = 0
    for pack in chosen:
        path = pack.at(base)
        if not path.is_file():
            print(f"{pack.name:<{NAME_WIDTH}}absent     {path}")
            continue
        found = sha256(path)
        if pack.sha256 is None:
            print(
                f"{pack.name:<{NAME_WIDTH}}present    sha256 {found}, to which no published one is known"
            )
            continue
        wrong += found != pack.sha256
        print(
            f"{pack.name:<{NAME_WIDTH}}{'ok' if found == pack.sha256 else f'WRONG: sha256 {found}, expected {pack.sha256}'}"
        )
    return int(wrong > 0)


def fetch(pack: Pack, base: Path) -> Path:
    """Download a pack unless it is there; resumes a partial file; keeps it only if its sha256 matches."""
    path = pack.at(base)
    if path.is_file():
        found = sha256(path)
        if pack.sha256 in (None, found):
            return path
        raise BadInputError(
            f"{path} has sha256 {found}, expected {pack.sha256}; it is left as it is: move it away to fetch again."
        )
    if pack.sha256 is None:
        raise BadInputError(
            f"{pack.name} is not downloaded, for no checksum of it is known; {pack.note} Put it at {path}."
        )
    if not pack.urls:
        raise BadInputError(
            f"{pack.name} is not published as a single file; {pack.note or 'no source is known'} Put it at {path}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    problems = []
    for url in pack.urls:
        try:
            download(url, partial, lambda received: _say(received, pack.bytes), pack.bytes)
        except OSError as error:
            problems.append(f"{url}: {said(error)}")
            continue
        found = sha256(partial)
        if found == pack.sha256:
            partial.replace(path)
            return path
        problems.append(f"{url}: sha256 is {found}, expected {pack.sha256}")
        partial.unlink()
    raise BadInputError(f"{pack.name} could not be fetched: {'; '.join(problems)}.")


def fetch_all(chosen: list[Pack], base: Path) -> int:
    """Fetch several packs, one after the other; what cannot be had is listed at the end. 1 if that is any, else 0."""
    problems = []
    for number, pack in enumerate(chosen, 1):
        print(f"  {number} of {len(chosen)}: {pack.name}", file=sys.stderr)
        try:
            print(f"  {fetch(pack, base)}")
        except OSError as error:
            problems.append(system_sentence(error))
        except BadInputError as error:
            problems.append(str(error))
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
    state = (
        f"{len(problems):,} could not be had, the same command tries again"
        if problems
        else "complete"
    )
    print(f"  {len(chosen):,} files, {state}")
    return int(bool(problems))


def _say(received: int, size: int | None) -> None:
    """Write the progress of a download over the line before it."""
    end = "\n" if received == size else ""
    whole = "?" if size is None else f"{size / 1e6:.1f}"
    print(
        f"\r  {received / 1e6:.1f} of {whole} MB", end=end, file=unescaped(sys.stderr), flush=True
    )
