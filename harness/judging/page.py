"""A judgement as one HTML file that needs nothing else: no request, no script."""

from __future__ import annotations

from pathlib import Path

from harness.common.version import VERSION
from harness.common.wording import shorten_middle
from harness.errors import BadInputError
from harness.judging import pictures
from harness.judging.findings import QUESTIONS, Answers, ClassFinding, GroupFinding
from harness.pages.templating import environment

MARK = '<meta name="generator" content="calharness judge">'


def html(judgement: Answers) -> str:
    """Return the page. The same judgement gives the same bytes: no date, machine or folder."""
    headline, tone = _headline(judgement)
    template = environment().get_template("judge.html.j2")
    page: str = template.render(
        title=f"Judgement of {shorten_middle(judgement.data.name, 60)}",
        j=judgement,
        data=judgement.data,
        mark=MARK,
        version=VERSION,
        headline=headline,
        tone=tone,
        questions=QUESTIONS,
        drawn=pictures.draw(judgement),
    )
    return page


def _headline(judgement: Answers) -> tuple[str, str]:
    """Return a few words on the first question, and their tone: bad, good or open.

    "No miscalibration was found" never stands above an interval that excludes 0: intervals of the
    error are extended to 0 if the test does not reject (`howfar.errors`). A class, a group or a
    gain that stands out changes these words.
    """
    answer, where, gains = judgement.calibrated, judgement.where, judgement.gains
    if answer is None or answer.rejected is None:
        return "No answer to whether it is calibrated", "open"
    if answer.rejected:
        return "Not calibrated", "bad"
    findings: list[ClassFinding | GroupFinding] = []
    if where is not None:
        findings = [*where.classes, *where.groups]
    if any(finding.stands_out for finding in findings):
        return "Nothing was found over all rows, but a class or a group stands out", "open"
    if gains is not None and gains.best is not None:
        return "The tests found nothing, but recalibration gains something", "open"
    return "No miscalibration was found", "good"


def refuse_other_files(path: str | Path, mark: str = MARK, kind: str = "page") -> None:
    """Raise BadInputError if `path` is a folder, or a file without the mark of this kind."""
    path = Path(path)
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; name a file.")
    if path.exists() and mark not in path.read_bytes()[:2000].decode("utf-8", "replace"):
        raise BadInputError(
            f"{path} exists and is no {kind} of judge; it is not overwritten: give another name."
        )
