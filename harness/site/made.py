"""What an earlier build of a site made, and of what: parts that would be the same again are not made again."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from harness.common.paths import CONF, EXPERIMENTS, PACKAGE, PACKS
from harness.common.writing import write_json
from harness.errors import BadInputError
from harness.runs import baseline, provenance

NAME = ".made.json"
SOURCES = (".py", ".j2", ".js", ".csv", ".json", ".yaml")
LIBRARIES = ("itables", "vl-convert-python", "altair", "matplotlib", "numpy", "pandas", "jinja2")


@dataclass(frozen=True)
class Made:
    """`stamp` of `code_and_baseline`, and the paths of every part of the site."""

    stamp: str = ""
    parts: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, out: Path) -> Made:
        """What the last build into this folder left; nothing where it is not known."""
        try:
            return cls(**json.loads((out / NAME).read_text()))
        except (OSError, ValueError, TypeError):
            return cls()

    def files(self, part: str, stamp: str, out: Path) -> list[str] | None:
        """The paths of a part that is there and was made of the same; None if it has to be made."""
        paths = self.parts.get(part)
        there = self.stamp == stamp and paths is not None and all((out / path).is_file() for path in paths)
        return paths if there else None

    def save(self, out: Path) -> None:
        write_json(out / NAME, {"stamp": self.stamp, "parts": self.parts})


def code_and_baseline() -> str:
    """A digest of all that the pages of arena, estimators and problems are made of: code, configuration and papers by content,
    the arena's stored records by size and time of change, versions of libraries, and where data lie."""
    found = hashlib.sha256()
    for folder in (PACKAGE, CONF, EXPERIMENTS):
        for path in sorted(folder.rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                found.update(f"{path.relative_to(folder)}".encode() + hashlib.sha256(path.read_bytes()).digest())
    found.update(PACKS.read_bytes() if PACKS.is_file() else b"")
    try:
        stored = sorted(baseline.folder_of().glob("*"))
    except BadInputError:
        stored = []
    told = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in stored]
    versions = [provenance.version(name) for name in LIBRARIES]
    found.update(json.dumps([told, versions, os.environ.get("CALHARNESS_DATA")]).encode())
    return found.hexdigest()
