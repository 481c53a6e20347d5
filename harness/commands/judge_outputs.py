"""The files that `calharness judge` writes. It overwrites none but its own."""

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
    """The files to be written. json: a path, "-" for the standard output, or None."""

    html: str | None
    json: str | None
    save: str | None

    def refuse(self) -> None:
        """Raise BadInputError, before anything is computed, where a file would be overwritten that judge did not make, or there
        is no folder that it can be written to."""
        outputs = [
            path
            for path in (self.html, self.json, self.save)
            if path is not None and path != STDOUT
        ]
        twice = next((path for path in outputs if outputs.count(path) > 1), None)
        if twice:
            raise BadInputError(f"{twice} is named for two outputs; give each a name of its own.")
        for path in outputs:
            _refuse_folder(Path(path))
        if self.html is not None:
            from harness.judging import page

            page.refuse_other_files(self.html)
        if self.json is not None and self.json != STDOUT:
            from harness.judging.as_json import SCHEMA

            _refuse(Path(self.json), f'"schema": "{SCHEMA}"', "JSON of judge")
        if self.save is not None:
            from harness.judging.saved import FORMAT

            _refuse(Path(self.save), f'"format": "{FORMAT}"', "recalibration map of judge")

    def write(self, found: Judgement) -> Iterator[str]:
        """Write the files. Yields a line on each."""
        if self.html is not None:
            from harness.judging import page

            page.write(found, self.html)
            yield f"  {'page':<6}{self.html}"
        if self.json is not None:
            text = json.dumps(found.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
            if self.json == STDOUT:
                print(text)
            else:
                from harness.common.writing import write_text

                write_text(self.json, text + "\n")
                yield f"  {'JSON':<6}{self.json}"
        if self.save is not None and found.gains is not None and found.gains.fitted is not None:
            from harness.judging.saved import save

            save(found.gains.fitted, self.save)
            yield f"  {'map':<6}{self.save}, which harness.judging.saved.load reads"


def _refuse(path: Path, mark: str, what: str) -> None:
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; name a file.")
    if path.exists() and mark not in path.read_bytes()[:200].decode("utf-8", "replace"):
        raise BadInputError(
            f"{path} is there already and no {what}; it is not overwritten: give another name."
        )


def _refuse_folder(path: Path) -> None:
    folder = next(one for one in path.absolute().parents if one.exists())
    if not folder.is_dir():
        raise BadInputError(f"{path} cannot be written: {folder} is no folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInputError(f"{path} cannot be written: nothing may be written to {folder}.")
