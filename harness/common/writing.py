"""Write files so that readers see the old file or the new one, never an incomplete one.

Tables keep only the digits of a number that are the same on every processor.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.reading import refuse_special
from harness.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

# Significant digits in tables. A double has 17, and processors differ in the last few of them.
DIGITS = 10
# Smaller numbers are rounding errors, which differ between processors. They are written as 0.
SMALLEST = 1e-12

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets compute texts that begin with these


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path for the block to write to, then move that file to `path`.

    If the block raises an error, `path` stays as it was. Messages of system errors name `path`,
    not the temporary path. A device, a pipe or a socket is not replaced, but raises BadInputError.
    """
    refuse_special(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        # The error of a full disk has no file name. Other errors have our temporary name.
        if error.errno is not None:
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to a file that the user has named, replacing its content.

    Raises
    ------
    BadInputError
        If the file cannot be written.
    """
    try:
        with whole_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be written ({error.strerror}); give another path."
        ) from None


def append_text(path: str | Path, text: str) -> None:
    """Append `text` to a file that the user has named, after an empty line if the file has content.

    Raises
    ------
    BadInputError
        If the file cannot be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"\n{text}" if file.tell() else text)
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be written ({error.strerror}); give another path."
        ) from None


def write_json(path: Path, content: Any) -> None:
    """Write `content` to a JSON file, replacing it. Objects unknown to JSON become their text."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, default=str))


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, with ten significant digits, and with 0 for numbers below 1e-12."""
    numbers = frame.select_dtypes("float")
    frame = frame.assign(
        **{str(name): numbers[name].mask(numbers[name].abs() < SMALLEST, 0.0) for name in numbers}
    )
    without_formulas(frame).to_csv(path, index=False, float_format=f"%.{DIGITS}g")


def without_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table for a CSV file, in which no text is a formula for a spreadsheet.

    An apostrophe is put before texts that begin with =, +, -, @, a tab or a carriage return, except
    before numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> without_formulas(pd.DataFrame({"a": ["=1+1", "-0.5", "@x", "b"]}))["a"].tolist()
    ["'=1+1", '-0.5', "'@x", 'b']
    """
    texts = frame.select_dtypes(["object", "string", "category"])
    return frame.assign(
        **{str(name): texts[name].map(_without_formula, na_action="ignore") for name in texts}
    )


def _without_formula(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def stated_error(error: float) -> float:
    """Return the numerical error of a true value, rounded to two significant digits.

    For an error below 1e-12, return 0.

    Examples
    --------
    >>> stated_error(1.00277555756e-14), stated_error(1.2345e-9), stated_error(float("nan"))
    (0.0, 1.2e-09, nan)
    """
    return 0.0 if error < SMALLEST else float(f"{error:.2g}")


def difference(a: Any, b: Any) -> Any:
    """Return the difference a - b of two columns, rounded.

    Each entry keeps the decimals down to the twelfth significant digit of the larger of |a| and
    |b|. Further decimals are rounding errors, which differ between processors.

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
