"""Download and check the predictions of TabRepo, context D244_F3_C1530_100.

The data are by Salinas and Erickson (2024), under the licence Apache-2.0. A task is one outer fold
of one data set, and consists of five files. The files come from the publishers' hub or, if the hub
fails, from their object storage.

Checksums:

* The hub states the sha256 of large files, and the download must match it. For small files, and in
  object storage, no checksum is published.
* The sha256 of every downloaded file is written to SHA256SUMS in the data folder. Later runs
  compare it. This shows that a file has not changed since the first download; it cannot show that
  the first download was right.
* Shape and type of each file must agree with the metadata.json of its task.
"""

from __future__ import annotations

import contextlib
import csv
import re
import shutil
import sys
import time
import urllib.error
from pathlib import Path

from harness.common.data_files import sha256
from harness.common.paths import EXPERIMENTS
from harness.common.progress import Progress
from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.sources import tabrepo, tabrepo_files
from harness.sources.download import download, failure_text

HUB = "https://huggingface.co/datasets/Tabrepo/tabrepo/resolve/main/2023_11_14/"
STORAGE = "https://tabrepo.s3.us-west-2.amazonaws.com/contexts/2023_11_14/"
SUMS = "SHA256SUMS"
ATTEMPTS, WAIT_SECONDS = 3, 2.0
TEMPORARY = (429, 500, 502, 503, 504)  # HTTP statuses after which another attempt is made
UNANSWERED_FILES = 3  # after this many files in a row without an answer, downloading stops


class NoServerError(Exception):
    """Error that ends the downloads because no server answers any more."""


def choose_tasks(table1: bool, datasets: list[str], folds: list[int]) -> list[tuple[str, int]]:
    """Return the tasks of TabRepo to fetch, as pairs (data set, fold).

    With `table1`, or without `datasets`, they are the tasks of Table 1. If `datasets` or `folds`
    are given, other data sets or folds are left out.

    With `datasets` and without `table1`, they are all folds of these data sets, or those in
    `folds`.
    """
    if datasets and not table1:
        return [(dataset, fold) for dataset in datasets for fold in folds or (0, 1, 2)]
    listed: dict[tuple[str, int], None] = {}  # ordered, each once
    for path in sorted(EXPERIMENTS.glob("*/table1_tasks.csv")):
        with path.open(encoding="utf-8") as file:
            listed |= {(row["dataset"], int(row["fold"])): None for row in csv.DictReader(file)}
    for position, option, chosen in ((0, "--datasets", datasets), (1, "--folds", folds)):
        unknown = [name for name in chosen if name not in {task[position] for task in listed}]
        if unknown:
            raise BadInputError(
                f"{option} has {unknown[0]}, which is not in Table 1; correct it, or leave out "
                "--table1."
            )
    return [
        (dataset, fold)
        for dataset, fold in listed
        if (not datasets or dataset in datasets) and (not folds or fold in folds)
    ]


def fetch(root: Path, tasks: list[tuple[str, int]], bases: list[str]) -> list[str]:
    """Download the missing files of tasks into the folder `root`.

    `tasks` holds pairs of a data set and an outer fold. `bases` holds the addresses to try, in this
    order.

    Returns
    -------
    list of str
        One sentence for each file that is wrong or could not be downloaded.
    """
    files = Fetch(root, [base if base.endswith("/") else f"{base}/" for base in bases])
    count = 1 + len(tasks) * len(tabrepo_files.FILES)
    print(f"  {count:,} files of {len(tasks):,} tasks, into {root}", file=sys.stderr)
    with contextlib.suppress(NoServerError):
        _fetch_files(files, tasks)
    return files.problems


def _fetch_files(files: Fetch, tasks: list[tuple[str, int]]) -> None:
    """Download the metadata of all tasks, then their other files.

    BadInputError if the disk has too little space for the predictions.
    """
    root = files.root
    files.get("configs.parquet")
    folders = [f"model_predictions/{dataset.replace('.', '_')}/{fold}" for dataset, fold in tasks]
    described = [folder for folder in folders if files.get(f"{folder}/metadata.json")]
    missing = 0
    for folder in described:
        metadata = tabrepo_files.read_metadata(root / folder / "metadata.json")
        for part in tabrepo_files.PARTS:
            if not (root / folder / f"pred-{part}.dat").is_file():
                missing += metadata.bytes(part)
    free = shutil.disk_usage(root).free
    if missing > free:
        raise BadInputError(
            f"{root} has {free / 1e9:.1f} GB left, but {missing / 1e9:.1f} GB have to be "
            "downloaded; free some space."
        )
    print(f"  {missing / 1e6:,.0f} MB of predictions to download", file=sys.stderr)
    names = [f"{folder}/{name}" for folder in described for name in tabrepo_files.FILES[1:]]
    progress = Progress(len(names), unit="files")
    for name in names:
        files.get(name)
        progress.add(1, len(files.problems))
    progress.close()


class Fetch:
    """Downloader of the files of a repository.

    `sums` holds the checksums of the files below the root. `problems` lists one sentence per file
    that is wrong or could not be downloaded.

    Parameters
    ----------
    root : path
        The target folder.
    bases : list of str
        Addresses to try for each file, in this order.
    """

    def __init__(self, root: Path, bases: list[str]):
        self.root, self.bases = root, bases
        self.sums = read_sums(root)
        self.problems: list[str] = []
        self.unanswered = 0

    def get(self, name: str) -> bool:
        """Check a file that exists, or download it; return True if it is good.

        `name` is the path of the file below the root. A problem is added to `problems`.
        """
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
        """Check an existing file against its recorded checksum, or record the checksum."""
        checksum = sha256(path)
        # The checksum is missing if a run was interrupted, or if the user copied the file.
        if name not in self.sums:
            self.check(name, path)
            self._pin(name, checksum)
        elif self.sums[name] != checksum:
            raise self.changed_error(path, checksum, self.sums[name])

    @staticmethod
    def changed_error(path: Path, checksum: str, first: str) -> BadInputError:
        """Return the error for a file whose checksum is not that of the first download."""
        return BadInputError(
            f"{path} has changed: its sha256 is {checksum}, but it was {first} when the file was "
            "downloaded. Move the file away to download it again."
        )

    def _download(self, name: str, path: Path) -> None:
        """Download a file from the first address that sends a good one, and record its checksum."""
        partial = path.with_name(path.name + ".part")
        reasons = []
        for base in self.bases:
            try:
                stated = self._try_download(base + name, partial)
                self._check_new(name, partial, stated)
            except (BadInputError, urllib.error.HTTPError) as error:  # wrong or refused
                partial.unlink(missing_ok=True)
                is_ours = isinstance(error, BadInputError)
                reason = str(error) if is_ours else failure_text(error)
                reasons.append(f"{base}: {reason.rstrip('.')}")
            except OSError as error:
                reasons.append(f"{base}: {failure_text(error).rstrip('.')}")
                if partial.is_file():  # broken off: the next run resumes with the same server
                    break
            else:
                partial.replace(path)
                self._pin(name, sha256(path))
                return
        raise BadInputError(f"{name} could not be fetched ({'; '.join(reasons)}).")

    def _try_download(self, url: str, partial: Path) -> str | None:
        """Download `url` in up to three attempts; return the sha256 that the server states.

        Each attempt resumes the previous one. An answer such as 404 ends the attempts. The result
        is None if the server states no sha256.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                stated = download(url, partial)
                self.unanswered = 0
                return stated
            except urllib.error.HTTPError as error:
                self.unanswered = 0
                if error.code not in TEMPORARY or attempt == ATTEMPTS:
                    raise
            except OSError as error:
                if attempt == ATTEMPTS:
                    self.unanswered += 1
                    if self.unanswered >= UNANSWERED_FILES * len(self.bases):
                        raise NoServerError(
                            f"no server answers any more (last request: {url})"
                        ) from error
                    raise
            time.sleep(WAIT_SECONDS * attempt)
        raise AssertionError("unreachable")

    def _check_new(self, name: str, partial: Path, stated: str | None) -> None:
        """Raise BadInputError if a download has the wrong checksum or does not fit its metadata.

        `stated` is the sha256 that the server stated, or None.
        """
        checksum = sha256(partial)
        if stated is not None and checksum != stated:
            raise BadInputError(
                f"the download has sha256 {checksum}, but the publisher states {stated}"
            )
        if self.sums.get(name, checksum) != checksum:
            raise BadInputError(
                f"the download has sha256 {checksum}, but the first download had "
                f"{self.sums[name]}; to accept the new file, delete its line in {SUMS}"
            )
        self.check(name, partial)

    def check(self, name: str, path: Path) -> None:
        """Raise BadInputError if a file does not fit the metadata of its data set and fold.

        `name` is the path of the file below the root, and `path` the place where its content lies.
        """
        if name == "configs.parquet":
            tabrepo_files.read_problem_types(path)
            return
        kind = Path(name).name
        about = (self.root / name).parent / "metadata.json"
        metadata = None if kind == "metadata.json" else tabrepo_files.read_metadata(about)
        tabrepo_files.check_file(path, kind, metadata)

    def _pin(self, name: str, checksum: str) -> None:
        """Record the checksum of a file in SHA256SUMS."""
        self.sums[name] = checksum
        lines = (f"{digest}  {file}\n" for file, digest in sorted(self.sums.items()))
        with whole_file(self.root / SUMS) as temporary:
            temporary.write_text("".join(lines))


def verify(repository: tabrepo.Repository) -> tuple[int, int, list[str]]:
    """Check all files of a repository against their checksums and metadata.

    Returns
    -------
    files : int
        Number of files.
    checksums : int
        Number of files that have a checksum.
    problems : list of str
        One sentence for each file that is missing, has changed, or does not fit its metadata.
    """
    root = repository.root
    checks = Fetch(root, [])
    names = {"configs.parquet", *checks.sums}
    for dataset in repository.datasets():
        for fold in repository.folds(dataset):
            folder = repository.folder(dataset, fold).relative_to(root).as_posix()
            names |= {f"{folder}/{name}" for name in tabrepo_files.FILES}
    problems = []
    for name in sorted(names):
        path = root / name
        try:
            if not path.is_file():
                raise BadInputError(f"{path} is missing.")
            stated = checks.sums.get(name)
            if stated and sha256(path) != stated:
                raise checks.changed_error(path, sha256(path), stated)
            checks.check(name, path)
        except BadInputError as error:
            problems.append(str(error))
    return len(names), len(checks.sums), problems


def read_sums(root: Path) -> dict[str, str]:
    """Return the content of SHA256SUMS as {path below the root: sha256}; {} if it is absent."""
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
