"""Download and check TabRepo's predictions (context D244_F3_C1530_100; Salinas and Erickson, 2024; Apache-2.0).

A task, one (data set, fold), is five files; configs.parquet tells their kind. The files come from the publishers' hub, else
from their object storage. The hub names the sha256 of its large files, to which what came is compared; object storage names
none, and neither does for small files. The sha256 of everything that came is written into SHA256SUMS beside the data and
compared on every later run: this proves that a file is what was first received, not that its publisher meant it so. Each file
is also checked against the shape and type in its task's metadata.json before it takes its place.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path

from harness.common.data_files import sha256
from harness.common.progress import Progress
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.sources import tabrepo
from harness.sources.download import download
from harness.sources.download import said as in_words

HUB = "https://huggingface.co/datasets/Tabrepo/tabrepo/resolve/main/2023_11_14/"
STORAGE = "https://tabrepo.s3.us-west-2.amazonaws.com/contexts/2023_11_14/"
SUMS = "SHA256SUMS"
ATTEMPTS, WAIT_SECONDS = 3, 2.0
UNANSWERED_FILES = 3  # in a row; then the network is taken to be down


class NoServerError(Exception):
    """Nobody answers any more: going on with further files is of no use."""


def fetch(root: Path, tasks: list[tuple[str, int]], bases: list[str]) -> list[str]:
    """Download what is missing of the tasks into `root`; returns a sentence per file that could not be had or is wrong."""
    wanted = Fetch(root, [base if base.endswith("/") else f"{base}/" for base in bases])
    print(
        f"  {1 + len(tasks) * len(tabrepo.FILES):,} files of {len(tasks):,} tasks, into {root}",
        file=sys.stderr,
    )
    with contextlib.suppress(NoServerError):
        _get_all(wanted, tasks)
    return wanted.problems


def _get_all(wanted: Fetch, tasks: list[tuple[str, int]]) -> None:
    root = wanted.root
    wanted.get("configs.parquet")
    folders = [f"model_predictions/{dataset.replace('.', '_')}/{fold}" for dataset, fold in tasks]
    described = [folder for folder in folders if wanted.get(f"{folder}/metadata.json")]
    sizes = {folder: _array_bytes(root / folder) for folder in described}
    missing = sum(
        size
        for folder in described
        for name, size in sizes[folder].items()
        if not (root / folder / name).is_file()
    )
    if missing > shutil.disk_usage(root).free:
        raise BadInputError(
            f"{root} has {shutil.disk_usage(root).free / 1e9:.1f} GB left, but {missing / 1e9:.1f} GB are to come."
        )
    print(f"  {missing / 1e6:,.0f} MB of predictions to come", file=sys.stderr)
    wanted.progress = Progress(max(1, round(missing / 1e6)), unit="MB")
    for folder in described:
        for name in tabrepo.FILES[1:]:
            wanted.get(f"{folder}/{name}")
    wanted.progress.close()


class Fetch:
    """One download of many files: where to, where from, the checksums so far, and what went wrong."""

    def __init__(self, root: Path, bases: list[str]):
        self.root, self.bases = root, bases
        self.sums = read_sums(root)
        self.problems: list[str] = []
        self.progress: Progress | None = None
        self.received = 0.0  # bytes not yet told to the progress line
        self.unanswered = 0

    def get(self, name: str) -> bool:
        """Have one file, by its path below the root: checked if it is there, else downloaded. Notes a problem in a sentence."""
        path = self.root / name
        try:
            if path.is_file():
                self._check_present(name, path)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._download(name, path)
            return True
        except BadInputError as error:
            self.problems.append(str(error))
            return False
        except NoServerError as error:
            self.problems.append(f"{error}.")
            raise

    def _check_present(self, name: str, path: Path) -> None:
        found = sha256(path)
        if name not in self.sums:  # came before it could be noted, or by other means
            self._check(name, path)
            self._pin(name, found)
        elif self.sums[name] != found:
            raise BadInputError(
                f"{path} has sha256 {found}, but had {self.sums[name]} when it came; move it away and it is fetched again."
            )

    def _download(self, name: str, path: Path) -> None:
        partial = path.with_name(path.name + ".part")
        said = []
        for base in self.bases:
            try:
                published = self._patiently(base + name, partial)
                self._check_new(name, partial, published)
            except (OSError, BadInputError) as error:
                said.append(
                    f"{base}: {(str(error) if isinstance(error, BadInputError) else in_words(error)).rstrip('.')}"
                )
                if isinstance(error, (BadInputError, urllib.error.HTTPError)):
                    partial.unlink(missing_ok=True)  # wrong or refused: nothing to go on from
                elif partial.is_file():  # broken off: to be continued with the same server
                    break
                continue
            partial.replace(path)
            self._pin(name, sha256(path))
            return
        raise BadInputError(f"{name} could not be fetched ({'; '.join(said)}).")

    def _patiently(self, url: str, partial: Path) -> str | None:
        """Download with a few attempts, each going on from the one before; an answer such as 404 is final."""
        for attempt in range(1, ATTEMPTS + 1):
            before = partial.stat().st_size if partial.is_file() else 0
            try:
                published = download(url, partial, self._note(before))
                self.unanswered = 0
                return published
            except urllib.error.HTTPError as error:
                self.unanswered = 0
                if error.code not in (429, 500, 502, 503, 504) or attempt == ATTEMPTS:
                    raise
            except OSError as error:
                if attempt == ATTEMPTS:
                    self.unanswered += 1
                    if self.unanswered >= UNANSWERED_FILES * len(self.bases):
                        raise NoServerError(
                            f"no server answers any more, the last one asked was for {url}"
                        ) from error
                    raise
            time.sleep(WAIT_SECONDS * attempt)
        raise AssertionError("unreachable")

    def _note(self, before: int) -> Callable[[int], None]:
        seen = [before]

        def note(received: int) -> None:
            self.received += max(0, received - seen[0])
            seen[0] = received
            if self.progress is not None and self.received >= 1e6:
                self.progress.add(int(self.received // 1e6), len(self.problems))
                self.received %= 1e6

        return note

    def _check_new(self, name: str, partial: Path, published: str | None) -> None:
        found = sha256(partial)
        if published is not None and found != published:
            raise BadInputError(f"what came has sha256 {found}, the publisher names {published}")
        if self.sums.get(name, found) != found:
            raise BadInputError(
                f"what came has sha256 {found}, but {SUMS} holds {self.sums[name]} from the first time"
            )
        self._check(name, partial)

    def _check(self, name: str, path: Path) -> None:
        """Refuse a file that does not fit its task's metadata."""
        if name == "configs.parquet":
            tabrepo.read_problem_types(path)
            return
        kind = Path(name).name
        folder = (self.root / name).parent
        about = None if kind == "metadata.json" else tabrepo.read_metadata(folder / "metadata.json")
        tabrepo.check_file(path, kind, about)

    def _pin(self, name: str, found: str) -> None:
        self.sums[name] = found
        with whole_file(self.root / SUMS) as temporary:
            temporary.write_text(
                "".join(f"{digest}  {file}\n" for file, digest in sorted(self.sums.items()))
            )


def verify(held: tabrepo.Repository) -> tuple[int, int, list[str]]:
    """(files, how many have a checksum, a sentence per file that is missing, changed, or does not fit its metadata)."""
    sums = read_sums(held.root)
    names = {"configs.parquet", *sums}
    for dataset in held.datasets():
        for fold in held.folds(dataset):
            names |= {
                f"{held.folder(dataset, fold).relative_to(held.root).as_posix()}/{name}"
                for name in tabrepo.FILES
            }
    problems = []
    checks = Fetch(held.root, [])
    for name in sorted(names):
        path = held.root / name
        try:
            if not path.is_file():
                raise BadInputError(f"{path} is missing.")
            if name in sums and sha256(path) != sums[name]:
                raise BadInputError(
                    f"{path} has changed: sha256 {sha256(path)}, but {sums[name]} when it came."
                )
            checks._check(name, path)
        except BadInputError as error:
            problems.append(str(error))
    return len(names), len(sums), problems


def read_sums(root: Path) -> dict[str, str]:
    """{path below the root: sha256} of SHA256SUMS, in the format of sha256sum; empty without one."""
    path = root / SUMS
    lines = path.read_text().splitlines() if path.is_file() else []
    sums = {}
    for number, line in enumerate(lines, 1):
        match = re.fullmatch(r"([0-9a-f]{64})  (.+)", line)
        if match is None:
            raise BadInputError(
                f"{path}, line {number}, is not '<sha256>  <file>'; correct or delete it."
            )
        sums[match[2]] = match[1]
    return sums


def _array_bytes(folder: Path) -> dict[str, int]:
    about = tabrepo.read_metadata(folder / "metadata.json")
    return {f"pred-{part}.dat": about.bytes(part) for part in tabrepo.PARTS}
