"""A judgement: the answers about predictions, with methods that give text, page and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.writing import write_text
from harness.judging import as_json, frames, markdown, terminal
from harness.judging.answers import Answers
from harness.judging.verdict import choose_verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Judgement(Answers):
    """All answers about one file, or about several files with the same rows (see `Answers`)."""

    def __repr__(self) -> str:
        """Return the verdict on the first model."""
        return choose_verdict(self)[0]

    def __str__(self) -> str:
        """Return the text for a terminal."""
        return terminal.text(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the judgement as an HTML page, and write it to `path` if that is given.

        Raises
        ------
        BadInputError
            If `path` is a file that `judge` did not write, or if it cannot be written.
        """
        from harness.judging import page  # needs jinja2 and matplotlib, which take a second

        if path is not None:
            page.refuse_other_files(path)
        text = page.html(self)
        if path is not None:
            write_text(path, text)
        return text

    def to_json(self) -> dict[str, Any]:
        """Return all answers, without curves and maps, as values that json can write."""
        return as_json.as_json(self)

    def to_markdown(self) -> str:
        """Return a summary in Markdown: the verdict, the answers and the main numbers."""
        return markdown.text(self)

    def to_frame(self) -> pd.DataFrame:
        """Return the named numbers of the judgement as a table.

        The index holds the names of `--fail-above`, without `.value`, `.low` and `.high`. These
        ends are columns. `level` is the level of the interval, and `reason` explains missing
        numbers.

        Examples
        --------
        >>> import harness
        >>> judgement = harness.judge([0.1, 0.4, 0.9], [0, 1, 1], questions=["calibrated"])
        >>> float(judgement.to_frame().loc["binary.rejected", "value"])
        0.0
        """
        return frames.to_frame(self)

    def plot(self) -> Axes:
        """Draw the reliability diagram of all rows; return its matplotlib Axes.

        `.figure` of the axes is the figure, which also has the histogram of the scores.
        """
        from harness.judging import notebook

        axes: Axes = notebook.draw(self)
        return axes

    def _repr_html_(self) -> str:
        """Return the verdict, the reliability diagram and the main numbers for a notebook."""
        from harness.judging import notebook

        return notebook.html(self)
