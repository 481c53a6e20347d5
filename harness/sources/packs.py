"""Packs: published data files with checksum, size, licence and citation (data/packs.yaml).

No file is downloaded unless the user asks for it.
"""

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
from harness.common.reading import read_text, refuse_special
from harness.errors import BadInputError, guess, system_sentence
from harness.sources.download import download, failure_text

NAME_WIDTH = 40  # width of the column of names in listings


@dataclass(frozen=True)
class Pack:
    """One published file, as data/packs.yaml describes it.

    Parameters
    ----------
    name : str
        Name of the pack.
    path : str
        Path below CALHARNESS_DATA. A path that begins with experiments/ or data/ belongs to a file
        that comes with the package or its repository.
    sha256 : str or None
        Checksum. None if no checksum is known: the user's file is then accepted, and its checksum
        is shown.
    bytes : int or None
        Size of the file.
    licence, citation : str
        Licence and citation of the data.
    urls : tuple of str
        Addresses, tried in this order. Empty if the file is not published as a single file; `note`
        then says how to get it.
    note : str
        Remark for the user.
    group : str
        Name of a group of packs that are downloaded together.
    rows, validation_rows, classes : int, optional
        Number of test rows, validation rows and classes in a file of predictions. They are known
        without the file.
    repository, commit : str
        Source of the content.
    """

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
        """True if the file comes with the package or its repository."""
        return self.path.startswith(("experiments/", "data/"))

    def path_below(self, base: Path | None) -> Path:
        """Return the path of the file below `base`, or in the package if the file comes with it."""
        if self.is_shipped:
            folder, _, name = self.path.partition("/")
            return (EXPERIMENTS if folder == "experiments" else PACKS.parent) / name
        return Path(base or "") / self.path

    @property
    def is_here(self) -> bool:
        """True if the file exists, below CALHARNESS_DATA or in the package."""
        base = os.environ.get("CALHARNESS_DATA")
        return (self.is_shipped or bool(base)) and self.path_below(
            Path(base or "").expanduser()
        ).is_file()

    @property
    def remedy(self) -> str:
        """Return a clause that says how to get the file."""
        if self.urls:
            return f"`calharness data fetch {self.name}` gets it"
        return f"it is {self.note.rstrip('.')}"


# Listing


def packs(listing: Path | None = None) -> dict[str, Pack]:
    """Return all packs (published data files) by name, from data/packs.yaml or another listing."""
    path = listing or PACKS
    return dict(_read_packs(path, path.stat().st_mtime_ns))


@lru_cache(maxsize=2)
def _read_packs(listing: Path, modified: int) -> dict[str, Pack]:
    """Return the packs of a listing; a cached result is used until the listing changes.

    `modified` is the time of its last change, which is part of the cache key.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = yaml.load(read_text(listing), loader) or {}
    return {
        name: Pack(name, **{**entry, "urls": tuple(entry.get("urls", ()))})
        for name, entry in entries.items()
    }


def packs_at(path: str) -> tuple[Pack, ...]:
    """Return the packs (published data files) that a problem with this path reads.

    The result has one pack for a file of predictions, two for a folder of npy files, and none for
    an unknown path.
    """
    return tuple(pack for pack in packs().values() if pack.rows and _problem_path(pack) == path)


def select(name: str) -> list[Pack]:
    """Return the pack called `name`, or all packs of the group called `name`."""
    known = packs()
    if name in known:
        return [known[name]]
    chosen = [pack for pack in known.values() if name and pack.group == name]
    if not chosen:
        groups = list(dict.fromkeys(pack.group for pack in known.values() if pack.group))
        raise BadInputError(
            f"there is no pack {name!r}{guess(name, [*known, *groups])}; "
            f"groups are {', '.join(groups)}, and `calharness data list` shows all packs."
        )
    return chosen


def checksums() -> frozenset[str]:
    """Return the sha256 of all packs (published data files) that have one."""
    return frozenset(pack.sha256 for pack in packs().values() if pack.sha256)


def _problem_path(pack: Pack) -> str:
    """Return the path by which a problem refers to a pack (a published data file).

    It is the path of the file, or of the folder for a folder of npy files.
    """
    parent, _, name = pack.path.rpartition("/")
    return parent if name in FOLDER_FILES else pack.path


def folder() -> Path:
    """Return the data folder that the environment variable CALHARNESS_DATA names.

    Raises
    ------
    BadInputError
        If it is not set.
    """
    data_folder = os.environ.get("CALHARNESS_DATA")
    if not data_folder:
        raise BadInputError("CALHARNESS_DATA is not set; set it to the folder for data files.")
    return Path(data_folder).expanduser()


# Verify and fetch


def verify(chosen: list[Pack], base: Path) -> int:
    """Print the state of each pack. Return 1 if a file has the wrong checksum, else 0.

    `base` is the folder with the data files.
    """
    wrong = 0
    for pack in chosen:
        path = pack.path_below(base)
        if not path.is_file():
            line = f"absent     {path}"
        elif pack.sha256 is None:
            line = f"present    sha256 {sha256(path)}; no published checksum is known"
        elif sha256(path) == pack.sha256:
            line = "ok"
        else:
            line = f"WRONG: sha256 {sha256(path)}, expected {pack.sha256}"
            wrong += 1
        print(f"{pack.name:<{NAME_WIDTH}}{line}")
    return int(wrong > 0)


def fetch(pack: Pack, base: Path) -> Path:
    """Download a pack into the folder `base` unless it exists, and return its path.

    A partial download is resumed. The file is kept only if its sha256 matches.

    Raises
    ------
    BadInputError
        If the download fails, or if a different file has this path.
    """
    path = pack.path_below(base)
    refuse_special(path)
    if path.is_file():
        if pack.sha256 is None or sha256(path) == pack.sha256:
            return path
        raise BadInputError(
            f"{path} has sha256 {sha256(path)}, but {pack.sha256} is expected; move the file away "
            "to fetch it again."
        )
    if pack.sha256 is None:
        raise BadInputError(
            f"{pack.name} is not downloaded because its checksum is not known; {pack.note} Put it "
            f"at {path}."
        )
    if not pack.urls:
        raise BadInputError(
            f"{pack.name} is not published as a single file; {pack.note or 'no source is known'} "
            f"Put it at {path}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    problems = []
    for url in pack.urls:
        try:
            download(
                url, partial, lambda received: _print_progress(received, pack.bytes), pack.bytes
            )
        except OSError as error:
            problems.append(f"{url}: {failure_text(error)}")
            continue
        checksum = sha256(partial)
        if checksum == pack.sha256:
            partial.replace(path)
            return path
        problems.append(f"{url}: sha256 is {checksum}, expected {pack.sha256}")
        partial.unlink()
    raise BadInputError(
        f"{pack.name} could not be fetched: {'; '.join(problems)}. Run the same command to try "
        "again."
    )


def fetch_all(chosen: list[Pack], base: Path) -> int:
    """Download several packs and list the failures at the end. Return 1 if any failed, else 0."""
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
    state = "complete"
    if problems:
        state = f"{len(problems):,} could not be fetched"
    print(f"  {len(chosen):,} files, {state}")
    return int(bool(problems))


def _print_progress(received: int, size: int | None) -> None:
    """Print the progress of a download on the current line of the terminal.

    `received` is the number of bytes so far, `size` the size of the file or None.
    """
    end = "\n" if received == size else ""
    whole = "?" if size is None else f"{size / 1e6:.1f}"
    text = f"\r  {received / 1e6:.1f} of {whole} MB"
    print(text, end=end, file=unescaped(sys.stderr), flush=True)
