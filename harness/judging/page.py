"""A judgement as one HTML file that needs nothing else: no request, no script. Words first, numbers after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.common.version import VERSION
from harness.common.wording import fitted, format_percent, notion_name
from harness.common.writing import write_text
from harness.errors import BadInputError
from harness.judging import glossary, meaning, pictures
from harness.judging.findings import Findings
from harness.judging.words import QUESTIONS
from harness.pages.templating import environment

MARK = '<meta name="generator" content="calharness judge">'


def html(judgement: Findings) -> str:
    """The page as a string. The same judgement gives the same bytes: it holds no date, machine or folder."""
    j = judgement
    drawn: dict[str, pictures.Picture | None] = {
        "overall": pictures.overall(j.where) if j.where else None,
        "classes": pictures.classes(j.where) if j.where else None,
        "groups": pictures.groups(j.where) if j.where else None,
        "errors": pictures.errors(j.how_far) if j.how_far else None,
        "gains": pictures.gains(j.gains) if j.gains else None,
        "versus": pictures.differences(j.versus) if j.versus else None,
    }
    told = {
        question: getattr(meaning, question)(getattr(j, question))
        for question in QUESTIONS
        if getattr(j, question) is not None
    }
    verdict, tone = meaning.verdict(j)
    page: str = environment().get_template("judge.html.j2").render(
        title=f"Judgement of {fitted(j.data.name, 60)}", j=j, data=j.data, mark=MARK, version=VERSION, verdict=verdict,
        tone=tone, questions=QUESTIONS, means=told, drawn=drawn,
        glossary=glossary.terms(j), sizes=_sizes(j), band=meaning.band(j.where),
    )  # fmt: skip
    return page


def write(judgement: Findings, path: Any) -> str:
    """The page, also as a file.

    Raises
    ------
    BadInputError
        If there is a file of that name which is no such page, or it cannot be written.
    """
    allowed(path)
    page = html(judgement)
    write_text(path, page)
    return page


def allowed(path: Any) -> None:
    """Raise BadInputError if `path` is a folder, or a file that `write` did not make: it is not overwritten."""
    path = Path(path)
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; name a file, such as report.html.")
    if path.exists() and MARK not in path.read_bytes()[:2000].decode("utf-8", "replace"):
        raise BadInputError(
            f"{path} is there already and no page of judge; it is not overwritten: give another name."
        )


def _sizes(j: Findings) -> list[str]:
    """What was measured beforehand, and where: a sentence each."""
    said = []
    for test in j.calibrated.tests if j.calibrated else ():
        if test.size is not None and test.size.value is not None:
            n, k = test.size_at or (0, 0)
            said.append(
                f"{notion_name(test.notion).capitalize()}: the test gave a false alarm in {format_percent(test.size.value)} "
                f"({format_percent(test.size.level)} interval {format_percent(test.size.low)} to "
                f"{format_percent(test.size.high)}) of "
                f"{test.size_trials:,} calibrated samples with n = {n:,} and k = {k}, where at most "
                f"{format_percent(1 - test.level)} was "
                "asked for."
            )
    at = sorted(
        {one.measured_at for one in (j.how_far.errors if j.how_far else ()) if one.measured_at}
    )
    if at:
        listed = "; ".join(f"n = {n:,} and k = {k}" for n, k in at)
        said.append(
            f"Coverage of the intervals, and how far an estimate is off, were measured at the nearest sizes of the arena: "
            f"{listed}."
        )
    return said
