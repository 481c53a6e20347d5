"""A judgement as one HTML file that needs nothing else: no request, no script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.common.version import VERSION
from harness.common.wording import fitted, format_percent, notion_name
from harness.common.writing import write_text
from harness.errors import BadInputError
from harness.judging import glossary, meaning, pictures
from harness.judging.words import QUESTIONS
from harness.pages.templating import environment

if TYPE_CHECKING:
    from harness.judging.judgement import Judgement

MARK = '<meta name="generator" content="calharness judge">'


def html(judgement: Judgement) -> str:
    """Return the page. The same judgement gives the same bytes: no date, machine or folder."""
    headline, tone = meaning.headline(judgement)
    explanations = {
        question: meaning.EXPLAIN[question](answer, judgement.level)
        for question, answer in judgement.answers.items()
    }
    template = environment().get_template("judge.html.j2")
    page: str = template.render(
        title=f"Judgement of {fitted(judgement.data.name, 60)}",
        j=judgement,
        data=judgement.data,
        mark=MARK,
        version=VERSION,
        headline=headline,
        tone=tone,
        questions=QUESTIONS,
        explanations=explanations,
        drawn=pictures.draw(judgement),
        glossary=glossary.terms(judgement),
        measured=_measured(judgement),
    )
    return page


def write(judgement: Judgement, path: str | Path) -> str:
    """Write the page, and return it.

    Raises
    ------
    BadInputError
        If there is another file of this name, or it cannot be written.
    """
    refuse_other_files(path)
    page = html(judgement)
    write_text(path, page)
    return page


def refuse_other_files(path: str | Path) -> None:
    """Raise BadInputError if `path` is a folder, or a file that `write` did not make."""
    path = Path(path)
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; name a file, such as report.html.")
    if path.exists() and MARK not in path.read_bytes()[:2000].decode("utf-8", "replace"):
        raise BadInputError(
            f"{path} exists and is no page of judge; it is not overwritten: give another name."
        )


def _measured(judgement: Judgement) -> list[str]:
    """Return a sentence each on what was measured beforehand, and at which sizes."""
    texts = []
    for test in judgement.calibrated.tests if judgement.calibrated else ():
        if test.size is not None and test.size_at is not None:
            n, k = test.size_at
            texts.append(
                f"{notion_name(test.notion).capitalize()}: the test gave a false alarm in "
                f"{format_percent(test.size.value)} ({format_percent(test.size.level)} interval "
                f"{format_percent(test.size.low)} to {format_percent(test.size.high)}) of "
                f"{test.size_trials:,} calibrated samples with n = {n:,} and k = {k}. At most "
                f"{format_percent(1 - test.level)} is allowed."
            )
    errors = judgement.how_far.errors if judgement.how_far else ()
    sizes = sorted({error.measured_at for error in errors if error.measured_at})
    if sizes:
        names = "; ".join(f"n = {n:,} and k = {k}" for n, k in sizes)
        texts.append(f"The coverage of intervals was measured at the nearest sizes: {names}.")
    return texts
