"""Packs: published data files with checksum, size, licence and citation (data/packs.yaml). Nothing is fetched unasked."""

from __future__ import annotations

import http.client
import os
import re
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from harness.common.paths import PACKS
from harness.errors import BadInputError, guess
from harness.sources.files import sha256
from harness.sources.logits import FOLDER_FILES

CHUNK = 1 << 20
WIDTH = 40  # of names in listings


@dataclass(frozen=True)
class Pack:
    """One file: path below CALHARNESS_DATA, urls tried in order (none = not published as such; how to get it is in `note`).
    sha256 None: no checksum is known; the file that the user puts there is taken, and its checksum shown. Files of predictions
    say how many `rows` (of the test part) and `classes` they hold, so that problems without the file know what they lack."""

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

    @property
    def how(self) -> str:
        """How to get it, a clause."""
        return f"`calharness data fetch {self.name}` gets it" if self.urls else f"it is {self.note.rstrip('.')}"


def packs(listing: Path | None = None) -> dict[str, Pack]:
    """All packs by name, from data/packs.yaml or another listing."""
    entries = yaml.load((listing or PACKS).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    return {name: Pack(name, **{**entry, "urls": tuple(entry.get("urls", ()))}) for name, entry in entries.items()}


def of(path: str) -> tuple[Pack, ...]:
    """The packs of predictions at a path as the listing has it: one, those of a folder of npy files, or none."""
    return _by_path(PACKS, PACKS.stat().st_mtime_ns).get(path, ())


def checksums() -> frozenset[str]:
    """The sha256 of every pack that has one."""
    return _checksums(PACKS, PACKS.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _checksums(listing, modified):
    return frozenset(pack.sha256 for pack in packs(listing).values() if pack.sha256)


@lru_cache(maxsize=2)
def _by_path(listing, modified):
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
        raise BadInputError("CALHARNESS_DATA is not set; it names the folder where data files lie or are fetched to.")
    return Path(given).expanduser()


def command(arguments: list[str]) -> int:
    """`calharness data list | fetch NAME | verify [NAME] | make ...`; NAME is a pack or a group of packs."""
    if arguments[:2] == ["fetch", "tabrepo"]:
        from harness.sources import tabrepo_fetch

        return tabrepo_fetch.fetch_command(arguments[2:])
    if arguments[:1] == ["verify"] and arguments[1:2] in (["tabrepo"], ["tabular_oof"]):
        from harness.sources import tabrepo_fetch

        return tabrepo_fetch.verify_command(arguments[1], arguments[2:])
    if arguments[:2] == ["make", "tabular_oof"]:
        from harness.sources.make import tabular

        return tabular.command(arguments[2:])
    if arguments[:2] == ["make", "digits_networks"]:
        from harness.sources.make import digits_networks

        return digits_networks.command(arguments[2:])
    if arguments[:2] == ["make", "perturbed_networks"]:
        from harness.sources.make import perturbed_networks

        return perturbed_networks.command(arguments[2:])
    if arguments[:2] == ["make", "imagenet_brightness"]:
        from harness.sources.make import imagenet_brightness

        return imagenet_brightness.command(arguments[2:])
    known = packs()
    if arguments[:1] == ["list"] and len(arguments) == 1:
        for group in dict.fromkeys(pack.group for pack in known.values()):
            print(f"{group}:" if group else "")
            for pack in (pack for pack in known.values() if pack.group == group):
                print(f"  {_row(pack.name, pack.bytes, _state(pack), pack.licence)}{pack.path}{_own_checksum(pack)}")
        print("")
        _list_repositories()
        return 0
    if arguments[:1] == ["fetch"] and len(arguments) == 2:
        chosen = _named(known, arguments[1])
        if arguments[1] not in known:
            return fetch_all(chosen, folder())
        print(f"  {fetch(chosen[0], folder())}")
        return 0
    if arguments[:1] == ["verify"] and len(arguments) <= 2:
        return verify(_named(known, arguments[1]) if len(arguments) == 2 else list(known.values()), folder())
    made = "tabular_oof|digits_networks|perturbed_networks|imagenet_brightness"
    allowed = f"data list, data fetch NAME, data verify [NAME], data make {made}"
    raise BadInputError(f"data {' '.join(arguments)} is not a command; allowed are {allowed}.")


def _list_repositories():
    """The two repositories of tabular predictions: where they are, or the command that gets them."""
    from harness.sources import tabrepo

    licences = {"tabrepo": "Apache-2.0", "tabular_oof": "made here"}
    for name, command in tabrepo.COMMANDS.items():
        try:
            state, where = "present", tabrepo.find(name).root
        except BadInputError:
            state, where = "absent", f"`{command}`"
        print(f"  {_row(name, None, state, licences[name])}{where}")


def _row(name, size, state, licence):
    return f"{name:<{WIDTH}}{'?' if size is None else f'{size / 1e6:.2f}':>8} MB  {state:<10}{licence:<30}"


def verify(chosen: list[Pack], base: Path) -> int:
    """Print one line per pack; 1 if a file that is there has another checksum, else 0."""
    wrong = 0
    for pack in chosen:
        path = base / pack.path
        if not path.is_file():
            print(f"{pack.name:<{WIDTH}}absent     {path}")
            continue
        found = sha256(path)
        if pack.sha256 is None:
            print(f"{pack.name:<{WIDTH}}present    sha256 {found}, to which no published one is known")
            continue
        wrong += found != pack.sha256
        print(f"{pack.name:<{WIDTH}}{'ok' if found == pack.sha256 else f'WRONG: sha256 {found}, expected {pack.sha256}'}")
    return int(wrong > 0)


def fetch(pack: Pack, base: Path) -> Path:
    """Download a pack unless it is there; resumes a partial file; keeps it only if its sha256 matches."""
    path = base / pack.path
    if path.is_file():
        found = sha256(path)
        if pack.sha256 in (None, found):
            return path
        raise BadInputError(
            f"{path} has sha256 {found}, expected {pack.sha256}; it is left as it is: move it away to fetch again."
        )
    if pack.sha256 is None:
        raise BadInputError(f"{pack.name} is not downloaded, for no checksum of it is known; {pack.note} Put it at {path}.")
    if not pack.urls:
        raise BadInputError(
            f"{pack.name} is not published as a single file; {pack.note or 'no source is known'} Put it at {path}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    problems = []
    for url in pack.urls:
        try:
            download(url, partial, lambda received: _say(received, pack.bytes))
        except (OSError, http.client.HTTPException) as error:
            problems.append(f"{url}: {error or type(error).__name__}")
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
        except (BadInputError, OSError) as error:
            problems.append(str(error))
    for problem in problems:
        print(f"  {problem}", file=sys.stderr)
    state = f"{len(problems):,} could not be had, the same command tries again" if problems else "complete"
    print(f"  {len(chosen):,} files, {state}")
    return int(bool(problems))


def download(url: str, partial: Path, note=lambda received: None) -> str | None:
    """GET `url` into `partial`, going on behind what it already holds; `note` hears the bytes received so far after every block.
    Returns the sha256 that the server names for the file (a hub names it on its redirect, as X-Linked-ETag), None if it names
    none. Raises OSError if there is no answer, or if it is shorter than announced; what came is kept for the next attempt."""
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    redirects = _Redirects()
    try:
        answer = urllib.request.build_opener(redirects).open(request, timeout=60)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:  # 416: nothing follows what we have, which may be all or too much
            raise
        partial.unlink()
        return download(url, partial, note)
    with answer, open(partial, "ab" if start else "wb") as f:
        if start and answer.status != 206:  # the server sends the whole file again
            f.truncate(0)
            start = 0
        length = answer.headers.get("Content-Length")
        expected = None if length is None else start + int(length)
        try:
            while block := answer.read(CHUNK):
                f.write(block)
                start += len(block)
                note(start)
        except http.client.HTTPException as error:
            raise OSError(f"the connection broke after {start:,} bytes ({type(error).__name__})") from error
    if expected is not None and start != expected:
        raise OSError(f"the connection ended after {start:,} of {expected:,} bytes")
    named = (redirects.linked, answer.headers.get("X-Linked-ETag"), answer.headers.get("ETag"))
    tags = (str(tag or "").removeprefix("W/").strip('"').lower() for tag in named)
    return next((tag for tag in tags if re.fullmatch("[0-9a-f]{64}", tag)), None)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects and keeps the checksum that they carry."""

    linked = None

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        self.linked = headers.get("X-Linked-ETag") or self.linked
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _say(received, size):
    end = "\n" if received == size else ""
    print(f"\r  {received / 1e6:.1f} of {size / 1e6:.1f} MB", end=end, file=sys.stderr, flush=True)


def _named(known, name) -> list[Pack]:
    """The pack of that name, or the packs of that group."""
    chosen = [known[name]] if name in known else [pack for pack in known.values() if name and pack.group == name]
    if not chosen:
        groups = ", ".join(dict.fromkeys(pack.group for pack in known.values() if pack.group))
        close = guess(name, [*known, *(pack.group for pack in known.values())])
        raise BadInputError(f"there is no pack {name!r}{close}; groups are {groups}, and `calharness data list` shows all packs.")
    return chosen


def _own_checksum(pack):
    """The checksum of a file that is there and has no published one."""
    return f"  sha256 {sha256(folder() / pack.path)}" if pack.sha256 is None and _state(pack) == "present" else ""


def _state(pack):
    base = os.environ.get("CALHARNESS_DATA")
    return "present" if base and (Path(base) / pack.path).is_file() else "absent"
