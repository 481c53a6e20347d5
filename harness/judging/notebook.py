"""Views of a judgement for notebooks: the table of its numbers, its diagram, and both as HTML."""

from __future__ import annotations

import html as escaping
from typing import Any

import pandas as pd

from harness.common.wording import DASH, clean, format_number
from harness.figures import reliability_plot
from harness.figures.style import COLOURS, usual_style
from harness.judging import pictures
from harness.judging.answers import Answers
from harness.judging.as_json import numbers
from harness.judging.verdict import choose_verdict

ENDS = ("value", "low", "high")
# Variables of the page's style sheet in the colours of the notebook, which may be light or dark.
COLOUR_VARIABLES = (
    "--ink: currentColor; --soft: currentColor; --line: #8888; "
    f"--first: {COLOURS[0]}; --second: {COLOURS[1]}"
)
HIDDEN = ("class.", "group.")  # beginnings of names that the HTML leaves to the full table


def to_frame(judgement: Answers) -> pd.DataFrame:
    """Return the named numbers of a judgement, one row for each number or interval.

    The names are those of `harness.judging.as_json`, without `.value`, `.low` and `.high`.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, number in numbers(judgement).items():
        head, _, end = name.rpartition(".")
        if end not in ENDS:
            head, end = name, "value"
        row = rows.setdefault(head, dict.fromkeys((*ENDS, "level", "reason")))
        row[end] = number["value"]
        row["level"] = row["level"] if number["level"] is None else number["level"]
        row["reason"] = row["reason"] or number["reason"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=[*ENDS, "level", "reason"])
    floats = {column: "float64" for column in (*ENDS, "level")}
    return frame.astype(floats).rename_axis("number")


def draw(judgement: Answers) -> Any:
    """Draw the reliability diagram of all rows; return its matplotlib Axes."""
    with usual_style():
        return reliability_plot.figure([pictures.first_panel(judgement)]).axes[0]


def html(judgement: Answers) -> str:
    """Return the verdict, the reliability diagram and the main numbers as HTML for a notebook."""
    verdict, _ = choose_verdict(judgement)
    with usual_style():
        picture = pictures.draw_overall(judgement)
    parts = [f"<p><strong>{escaping.escape(verdict)}</strong></p>"]
    parts += [f"<p>{escaping.escape(clean(sentence))}</p>" for sentence in judgement.sentences]
    words = escaping.escape(picture.words, quote=True)
    image = f'role="img" aria-label="{words}" style="fill: currentColor"'
    parts.append(f"<div {image}>{picture.svg}</div>")
    parts.append(main_numbers(judgement).rename(index=clean).rename_axis(None).to_html())
    style = f"max-width: 60em; {COLOUR_VARIABLES}"
    return f'<div class="calharness" style="{style}">{"".join(parts)}</div>'


def main_numbers(judgement: Answers) -> pd.DataFrame:
    """Return the main numbers as texts, without those of single estimators, classes and groups."""
    frame = to_frame(judgement)
    is_known = frame[["value", "low"]].notna().any(axis=1)
    names = [name for name in frame.index[is_known] if name.count(".") <= 1]
    shown = frame.loc[[name for name in names if not name.startswith(HIDDEN)], [*ENDS, "level"]]
    return shown.map(lambda x: DASH if pd.isna(x) else format_number(x))
