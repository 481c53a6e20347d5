"""Files that are replaced as a whole: a reader sees the old or the new one, never a half."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import BadInputError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if error.errno is not None:  # else the text is all there is, and with a name it would not be shown
            error.filename, error.filename2 = os.fspath(path), None  # of a full disk none is named, and ours is temporary
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_text(path: str | Path, text: str) -> None:
    """Replace a text file that the user named as a whole.

    Raises
    ------
    BadInputError
        If it cannot be written; it names the file and why.
    """
    try:
        with whole_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"{path} cannot be written: {error.strerror}.") from None


def write_json(path: Path, content: Any) -> None:
    """Replace a JSON file as a whole; what JSON does not know is written as text."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, default=str))
