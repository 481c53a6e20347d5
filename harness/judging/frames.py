"""Tables of a judgement: all its named numbers, and the main ones as texts."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness.common.wording import DASH, format_number
from harness.judging.answers import Answers
from harness.judging.as_json import named_values

ENDS = ("value", "low", "high")
HIDDEN = ("class.", "group.")  # beginnings of names that the HTML leaves to the full table


def to_frame(judgement: Answers) -> pd.DataFrame:
    """Return the named numbers of a judgement, one row for each number or interval.

    The names are those of `harness.judging.as_json`, without `.value`, `.low` and `.high`.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, (value, level, reason) in named_values(judgement).items():
        head, _, end = name.rpartition(".")
        if end not in ENDS:
            head, end = name, "value"
        row = rows.setdefault(head, dict.fromkeys((*ENDS, "level", "reason")))
        row[end] = value
        row["level"] = row["level"] if level is None else level
        row["reason"] = row["reason"] or reason
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*ENDS, "level", "reason"])
    floats = {column: "float64" for column in (*ENDS, "level")}
    return frame.astype(floats).rename_axis("number")


def main_numbers(judgement: Answers) -> pd.DataFrame:
    """Return the main numbers as texts, without those of single estimators, classes and groups."""
    frame = to_frame(judgement)
    is_known = frame[["value", "low"]].notna().any(axis=1)
    names = [name for name in frame.index[is_known] if name.count(".") <= 1]
    shown = frame.loc[[name for name in names if not name.startswith(HIDDEN)], [*ENDS, "level"]]
    return shown.map(lambda x: DASH if pd.isna(x) else format_number(x))
