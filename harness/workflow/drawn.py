"""Note which records a result shows, so that it is drawn again only if they have changed.

Each result <stem>.html has a file <stem>.drawn with a digest of what it shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.module_names import paper_folder
from harness.common.seeds import digest
from harness.common.version import VERSION
from harness.common.writing import SMALLEST, whole_file
from harness.workflow.experiment import Experiment

FILES = (".html", ".png", ".csv")  # endings of the files without which a result is incomplete
PAPER = (".py", ".csv", ".parquet")  # endings of a paper's modules and tables
NUMBERS = ("value", "low", "high", "truth", "truth_error")  # columns of numbers that pages show


def is_drawn(experiment: Experiment, frame: pd.DataFrame) -> bool:
    """Return True if figure, table and page exist, and show exactly these records."""
    page = experiment.identity.page
    if not all(page.with_suffix(ending).is_file() for ending in FILES):
        return False
    try:
        return _note(page).read_text(encoding="utf-8").strip() == stamp(experiment, frame)
    except (OSError, UnicodeDecodeError):  # the result is older than this file, or it is damaged
        return False


def note_drawn(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Note that the files of a result, which are all written, show these records."""
    with whole_file(_note(experiment.identity.page)) as temporary:
        temporary.write_text(f"{stamp(experiment, frame)}\n", encoding="utf-8")


def _note(page: Path) -> Path:
    return page.with_suffix(".drawn")


def stamp(experiment: Experiment, frame: pd.DataFrame) -> str:
    """Return a digest of what a result shows: numbers, configuration and version.

    For an item of a paper, it also covers the paper's modules and reported numbers. Numbers of
    records are first rounded to eight significant digits, so that the digest is the same on every
    machine.
    """
    uses_others = len(experiment.records.plans) > 1
    columns = ["key", "estimand", "status", "kind", *(["experiment"] if uses_others else [])]
    rows = _digest_frame(frame, columns, NUMBERS)
    identity = experiment.identity
    content = [rows, identity.configuration(), identity.points, VERSION]
    if experiment.settings.paper:
        content.append(_digest_paper(experiment.settings.paper))
    return digest(json.dumps(content, sort_keys=True, default=str))


def _digest_paper(paper: str) -> dict[str, str]:
    """Return {name: digest} of the modules and tables in the folder of a paper."""
    files = sorted(path for end in PAPER for path in paper_folder(paper).glob(f"*{end}"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _digest_frame(frame: pd.DataFrame, texts: Iterable[str], numbers: Iterable[str]) -> str:
    """Return a digest (16 hexadecimal digits) of some columns of a frame.

    The digest does not depend on the order of the rows. Numbers are first rounded to eight
    significant digits. With twelve digits, a few numbers in a million would differ between
    processors.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    texts, numbers : iterables of str
        Names of the columns of texts and of numbers.
    """
    columns: dict[str, Any] = {}
    for name in texts:
        column = frame[name]
        if not isinstance(column.dtype, pd.CategoricalDtype):
            column = column.fillna("").astype(str)
        elif column.isna().any():
            column = column.cat.add_categories([""]).fillna("")
        columns[name] = column
    for name in numbers:
        columns[name] = _rounded(frame[name].to_numpy(dtype=float))
    hashes = np.sort(
        pd.util.hash_pandas_object(pd.DataFrame(columns, copy=False), index=False).to_numpy()
    )
    return hashlib.blake2b(hashes.tobytes().hex().encode(), digest_size=8).hexdigest()


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values rounded to eight significant digits.

    Values below 1e-12 become 0, and NaN becomes -inf.
    """
    values = np.where(np.abs(values) < SMALLEST, 0.0, values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = 10.0 ** (7 - np.floor(np.log10(np.where(values != 0.0, np.abs(values), 1.0))))
        rounded = np.round(values * scale) / scale
    return np.where(np.isnan(rounded), -np.inf, rounded)
