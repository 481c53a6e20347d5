"""Files that are replaced as a whole: a reader sees the old or the new one, never a half."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

DIGITS = (
    10  # of the numbers in tables: processors differ in the last few of the 17 that a double has
)
SMALLEST = 1e-12  # a smaller number in a table is rounding, whose size depends on the processor: it is written as 0


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, which takes the place of `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if (
            error.errno is not None
        ):  # else the text is all there is, and with a name it would not be shown
            error.filename, error.filename2 = (
                os.fspath(path),
                None,
            )  # of a full disk none is named, and ours is temporary
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


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of results with the same bytes on every processor, whose numbers are the same but for rounding: ten
    significant digits, and 0 below 1e-12."""
    numbers = frame.select_dtypes("float")
    frame = frame.assign(
        **{str(name): numbers[name].mask(numbers[name].abs() < SMALLEST, 0.0) for name in numbers}
    )
    frame.to_csv(path, index=False, float_format=f"%.{DIGITS}g")


def stated_error(error: float) -> float:
    """The error of a truth as records and results state it: two significant digits, and 0 below 1e-12, where it is rounding
    that depends on the processor.

    Examples
    --------
    >>> stated_error(1.00277555756e-14), stated_error(1.2345e-9), stated_error(float("nan"))
    (0.0, 1.2e-09, nan)
    """
    return 0.0 if error < SMALLEST else float(f"{error:.2g}")


def difference(a: Any, b: Any) -> Any:
    """a - b of two columns, rounded to the twelfth digit of the larger: what is left of nearly equal numbers is rounding.

    Examples
    --------
    >>> import pandas as pd
    >>> difference(pd.Series([0.3, 12.5, 0.0]), pd.Series([0.1 + 0.2, 12.0, float("nan")])).tolist()
    [0.0, 0.5, nan]
    """
    import numpy as np

    larger = np.maximum(np.abs(a), np.abs(b))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (11.0 - np.floor(np.log10(larger)))
        rounded = np.round((a - b) * scale) / scale + 0.0  # never -0
    return rounded.where((larger > 0.0) & np.isfinite(larger), a - b)
