"""The files that `calharness judge` writes. It overwrites no other files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import BadInputError

if TYPE_CHECKING:
    from harness.judging.judgement import Judgement

STDOUT = "-"


@dataclass(frozen=True)
class Outputs:
    """The files to write. `json` is a path, "-" for the standard output, or None."""

    html: str | None
    json: str | None
    save: str | None

    def check(self) -> None:
        """Raise BadInputError if a file cannot be written or judge did not make it.

        This is checked before anything is computed.
        """
        from harness.judging import page, saved
        from harness.judging.as_json import SCHEMA

        paths = [path for path in (self.html, self.json, self.save) if path not in (None, STDOUT)]
        for path in paths:
            if paths.count(path) > 1:
                raise BadInputError(f"{path} is named for two outputs; give each its own name.")
            _check_folder(Path(str(path)))
        if self.html is not None:
            page.refuse_other_files(self.html)
        if self.json not in (None, STDOUT):
            _check_file(Path(str(self.json)), f'"schema": "{SCHEMA}"', "JSON of judge")
        if self.save is not None:
            mark = f'"format": "{saved.FORMAT}"'
            _check_file(Path(self.save), mark, "recalibration map of judge")

    def write(self, judgement: Judgement) -> Iterator[str]:
        """Write the files. Yields a line about each."""
        from harness.common.writing import write_text
        from harness.judging import page, saved

        if self.html is not None:
            page.write(judgement, self.html)
            yield f"  {'page':<6}{self.html}"
        if self.json is not None:
            text = json.dumps(judgement.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
            if self.json == STDOUT:
                print(text)
            else:
                write_text(self.json, text + "\n")
                yield f"  {'JSON':<6}{self.json}"
        if self.save is not None and judgement.gains and judgement.gains.fitted:
            saved.save(judgement.gains.fitted, self.save)
            yield f"  {'map':<6}{self.save}, which harness.judging.saved.load reads"


def _check_file(path: Path, mark: str, kind: str) -> None:
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; name a file.")
    if path.exists() and mark not in path.read_bytes()[:200].decode("utf-8", "replace"):
        raise BadInputError(
            f"{path} exists already and is no {kind}; it is not overwritten: give another name."
        )


def _check_folder(path: Path) -> None:
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise BadInputError(f"{path} cannot be written: {folder} is no folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInputError(f"{path} cannot be written: nothing may be written to {folder}.")
