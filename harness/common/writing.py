"""Write files as a whole: a reader sees the old or the new one, never a half.

Numbers in tables are written so that they are the same on every processor.
"""

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

DIGITS = 10  # significant digits in tables: processors differ in the last few of a double's 17
SMALLEST = 1e-12  # smaller numbers are rounding errors, which depend on the processor: written as 0


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path. It replaces `path` if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        # the error of a full disk has no file name, and other errors have our temporary one
        if error.errno is not None:
            error.filename, error.filename2 = os.fspath(path), None
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_text(path: str | Path, text: str) -> None:
    """Replace a text file that the user named.

    Raises
    ------
    BadInputError
        If it cannot be written.
    """
    try:
        with whole_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInputError(f"{path} cannot be written: {error.strerror}.") from None


def write_json(path: Path, content: Any) -> None:
    """Replace a JSON file. Objects that JSON does not know are written as text."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, default=str))


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table of results, with ten significant digits, and 0 for numbers below 1e-12."""
    numbers = frame.select_dtypes("float")
    frame = frame.assign(
        **{str(name): numbers[name].mask(numbers[name].abs() < SMALLEST, 0.0) for name in numbers}
    )
    frame.to_csv(path, index=False, float_format=f"%.{DIGITS}g")


def stated_error(error: float) -> float:
    """Return the error of a truth to two significant digits, and 0 below 1e-12.

    Examples
    --------
    >>> stated_error(1.00277555756e-14), stated_error(1.2345e-9), stated_error(float("nan"))
    (0.0, 1.2e-09, nan)
    """
    return 0.0 if error < SMALLEST else float(f"{error:.2g}")


def difference(a: Any, b: Any) -> Any:
    """Return a - b of two columns, rounded to the twelfth digit of the larger one.

    Further digits are rounding errors, which depend on the processor.

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
