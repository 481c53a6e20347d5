"""A judgement as one HTML file without scripts and without links to other files."""

from __future__ import annotations

from pathlib import Path

from harness.common.version import VERSION
from harness.common.wording import shorten_middle
from harness.errors import BadInputError
from harness.judging import pictures
from harness.judging.answers import QUESTIONS, Answers
from harness.judging.findings import ClassFinding, GroupFinding
from harness.pages.templating import environment

MARK = '<meta name="generator" content="calharness judge">'


def html(judgement: Answers) -> str:
    """Return the page of a judgement.

    The same judgement gives the same bytes: the page names no date, machine or folder.
    """
    headline, tone = choose_headline(judgement)
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


def choose_headline(judgement: Answers) -> tuple[str, str]:
    """Return the headline of the page and its tone: bad, good or open.

    The headline answers the first question in a few words. If the tests find
    nothing, it still mentions that a class or a group stands out, or that recalibration improves
    the scores. "No miscalibration
    was found" does not contradict the intervals on the page: `howfar.errors` extends them to 0 if
    the test does not reject.
    """
    answer, where, gains = judgement.calibrated, judgement.where, judgement.gains
    if answer is None or answer.rejected is None:
        return "It cannot be tested whether the predictions are calibrated", "open"
    if answer.rejected:
        return "Not calibrated", "bad"
    findings: list[ClassFinding | GroupFinding] = []
    if where is not None:
        findings = [*where.classes, *where.groups]
    if any(finding.stands_out for finding in findings):
        return "The tests found no miscalibration, but a class or a group stands out", "open"
    if gains is not None and gains.best is not None:
        return "The tests found no miscalibration, but recalibration improves the scores", "open"
    return "No miscalibration was found", "good"


def refuse_other_files(path: str | Path, mark: str = MARK, kind: str = "page") -> None:
    """Raise BadInputError if `path` is a folder, or a file that `judge` did not write.

    A file of the given kind contains `mark` near its beginning.
    """
    path = Path(path)
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; pass the path of a file.")
    if path.exists() and mark not in path.read_bytes()[:2000].decode("utf-8", "replace"):
        raise BadInputError(
            f"{path} exists and is not the {kind} of an earlier judgement, so it is not "
            "overwritten; choose another file name."
        )
