"""A run that finds everything done says so at once: what it would say is kept beside what it was true of.

<out>/runs/unchanged/<digest of what was asked>.json holds the lines, and all that they rest on: the size and time of every file
of the package, the papers' experiments and the configuration; the names of the record parts, which end in a digest of their
bytes; and digests of the truths and of figure, tables and page. Where anything of that is another one, every byte of it read, the
run goes the long way. What is made of files of data, of code named on the command line, or of a store is never kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.paths import CONF, EXPERIMENTS, KEYS, PACKAGE, PACKS
from harness.common.writing import write_json

PLAIN = re.compile(r"[\w.]+=[^$]*")  # overrides that stand for the same whenever and wherever they are read
WHERE = re.compile(r"[\w./-]+")  # of out=, whose text is then its value
SECONDS = "<seconds>"  # in the place of what a run took


@dataclass(frozen=True)
class Asked:
    """A command, `overrides` in a working folder and an environment, for a folder of results; `made_of` identifies the code and
    the configuration as they were when it came."""

    overrides: tuple[str, ...]
    out: Path
    made_of: str

    @property
    def path(self) -> Path:
        """Where it is kept what this command would say."""
        names = sorted(name for name in os.environ if name.startswith("CALHARNESS_"))
        content = [self.overrides, os.getcwd(), os.environ.get("HOME"), [(name, os.environ[name]) for name in names]]
        return self.out / "runs" / "unchanged" / f"{_digest(json.dumps(content).encode())}.json"

    def said(self) -> list[str] | None:
        """The lines of a run with nothing to do; None where something it rests on is not as it was."""
        held = self._held()
        if not held or held["made_of"] != self.made_of or held["parts"] != part_names(self.out):
            return None
        with contextlib.suppress(OSError):
            parts = all(_digest_of(self.out / "records" / name) == _digest_in(name) for name in held["parts"])
            if parts and held["files"] == digests(map(Path, held["files"])):
                return list(held["lines"])
        return None

    def is_edited(self, folder: Path, stem: str) -> bool:
        """Whether of the results that this command left in a folder one is gone, or one of its own, called `stem`, another one
        than it was. (Others may have written to what it shares with them.)"""
        left = (self._held() or {"files": {}})["files"]
        there = digests(path for path in map(Path, left) if path.parent == folder)
        return any(left[path] and (now is None or now != left[path] and Path(path).stem == stem) for path, now in there.items())

    def keep(self, parts: list[str], files: Iterable[Path], lines: list[str]) -> None:
        """Keep the lines, where they rest on these record parts and files. Where nothing can be written nothing is kept."""
        if part_names(self.out) != parts or not all(map(_digest_in, parts)):
            return
        content = {"made_of": self.made_of, "parts": parts, "files": digests(files), "lines": lines}
        if content != self._held():
            with contextlib.suppress(OSError):
                write_json(self.path, {**content, "digest": _digest_of_content(content)})

    def _held(self) -> dict[str, Any] | None:
        try:
            held = json.loads(self.path.read_bytes())
            return held if held.pop("digest") == _digest_of_content(held) else None
        except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None


def asked(overrides: list[str]) -> Asked | None:
    """The command of these overrides; None of one that is not kept, as its overrides may mean another thing another time."""
    from harness.runs import remote
    from harness.runs.config import out_folder

    given = [text.partition("=")[2] for text in overrides if text.startswith("out=")]
    plain = all(PLAIN.fullmatch(text) for text in overrides) and all(WHERE.fullmatch(out) for out in given)
    if not plain or len(given) > 1 or not given and remote.is_address(os.environ.get("CALHARNESS_OUT")):
        return None
    out = out_folder(given[0] if given else None)
    return Asked(tuple(overrides), out, _made_of()) if remote.store_of(out) is None else None


def part_names(out: Path) -> list[str]:
    """The names of the record parts of a folder of results."""
    try:
        return sorted(name for name in os.listdir(out / "records") if name.startswith("part-") and name.endswith(".parquet"))
    except OSError:
        return []


def digests(files: Iterable[Path]) -> dict[str, str | None]:
    """{path: digest of its bytes, None where it is not there}"""
    found: dict[str, str | None] = {}
    for path in files:
        found[str(path)] = None
        with contextlib.suppress(FileNotFoundError):
            found[str(path)] = _digest_of(path)
    return found


def _made_of() -> str:
    """Identifies code and configuration: the path, size and time of every file, and of the folder of installed packages, which
    changes with each that comes or goes."""
    found = [sys.version]
    for top in dict.fromkeys((PACKAGE, EXPERIMENTS, CONF)):
        for folder, inner, names in os.walk(top):
            inner[:] = sorted(name for name in inner if name != "__pycache__")
            found += [_state(os.path.join(folder, name)) for name in sorted(names)]
    found += [_state(path) for path in (PACKS, KEYS, sysconfig.get_paths()["purelib"])]
    return _digest("\n".join(found).encode())


def _state(path: str | Path) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return f"{path} is not there"
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _digest_in(name: str) -> str | None:
    """The digest in the name of a record part; those of earlier versions have none."""
    told = re.fullmatch(r"part-[0-9a-f]{16}-([0-9a-f]{16})\.parquet", name)
    return told[1] if told else None


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=8)).hexdigest()


def _digest_of_content(content: dict[str, Any]) -> str:
    return _digest(json.dumps(content, sort_keys=True).encode())


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
