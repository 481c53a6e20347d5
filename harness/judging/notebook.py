"""Views of a judgement for notebooks: its diagram, and the main numbers with it as HTML."""

from __future__ import annotations

import html as escaping
from typing import Any

from harness.common.wording import clean
from harness.figures import reliability_plot
from harness.figures.style import COLOURS, usual_style
from harness.judging import pictures
from harness.judging.answers import Answers
from harness.judging.frames import main_numbers
from harness.judging.verdict import choose_verdict

# Variables of the page's style sheet in the colours of the notebook, which may be light or dark.
COLOUR_VARIABLES = (
    "--ink: currentColor; --soft: currentColor; --line: #8888; "
    f"--first: {COLOURS[0]}; --second: {COLOURS[1]}"
)


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
