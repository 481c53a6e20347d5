"""A judgement as one HTML file that needs nothing else: no request, no script. Words first, numbers after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.common.version import VERSION
from harness.common.writing import write_text
from harness.errors import BadInputError
from harness.judging import glossary, meaning, pictures, words
from harness.judging.findings import Judgement

MARK = '<meta name="generator" content="calharness judge">'
MOST_LETTERS = 60  # of a name in a table; the whole of it is the title of the cell


def html(judgement: Judgement) -> str:
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
        for question in words.QUESTIONS
        if getattr(j, question) is not None
    }
    verdict, tone = meaning.verdict(j)
    page: str = _environment().get_template("judge.html.j2").render(
        j=j, data=j.data, mark=MARK, version=VERSION, verdict=verdict, tone=tone, questions=words.QUESTIONS, means=told,
        drawn=drawn, glossary=glossary.terms(j), sizes=_sizes(j), band=meaning.band(j.where),
    )  # fmt: skip
    return page


def write(judgement: Judgement, path: Any) -> str:
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
        raise BadInputError(f"{path} is there already and no page of judge; it is not overwritten: give another name.")


def _sizes(j: Judgement) -> list[str]:
    """What was measured beforehand, and where: a sentence each."""
    said = []
    for test in j.calibrated.tests if j.calibrated else ():
        if test.size is not None and test.size.value is not None:
            n, k = test.size_at or (0, 0)
            said.append(
                f"{words.notion(test.notion).capitalize()}: the test gave a false alarm in {words.percent(test.size.value)} "
                f"({words.percent(test.size.level)} interval {words.percent(test.size.low)} to "
                f"{words.percent(test.size.high)}) of "
                f"{test.size_trials:,} calibrated samples with n = {n:,} and k = {k}, where at most "
                f"{words.percent(1 - test.level)} was "
                "asked for."
            )
    at = sorted({one.measured_at for one in (j.how_far.errors if j.how_far else ()) if one.measured_at})
    if at:
        listed = "; ".join(f"n = {n:,} and k = {k}" for n, k in at)
        said.append(
            f"Coverage of the intervals, and how far an estimate is off, were measured at the nearest sizes of the arena: "
            f"{listed}."
        )
    return said


def _environment() -> Any:
    from jinja2 import FileSystemLoader

    from harness.common.paths import PACKAGE
    from harness.pages.page import environment

    made = environment()
    made.loader = FileSystemLoader([PACKAGE / "judging" / "templates", PACKAGE / "pages" / "templates"])
    made.filters.update(
        number=words.number, percent=words.percent, ends=lambda one: words.ends(one, words.DASH), estimand=words.estimand,
        notion=words.notion, clean=words.clean, 
        fitted=lambda text: words.fitted(text, MOST_LETTERS), p=words.p_value, bare=lambda text: text.removeprefix("= "),
        nowrap=lambda text: text.replace(" ", "\N{NO-BREAK SPACE}"),
        score=lambda name: words.SCORES.get(name, name),
    )  # fmt: skip
    return made
