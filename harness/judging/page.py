"""A judgement as one HTML file without scripts and without links to other files."""

from __future__ import annotations

from pathlib import Path

from harness.common.reading import open_file
from harness.common.version import VERSION
from harness.common.wording import shorten_middle
from harness.errors import BadInputError
from harness.judging import pictures, verdict
from harness.judging.answers import QUESTIONS, Answers
from harness.judging.glossary import glossary
from harness.judging.labels import LabelsJudgement
from harness.judging.measured import KINDS
from harness.pages.templating import environment

MARK = '<meta name="generator" content="calharness judge">'


def html(judgement: Answers) -> str:
    """Return the page of a judgement.

    The same judgement gives the same bytes: the page names no date, machine or folder.
    """
    template = environment().get_template("judge.html.j2")
    models = [judgement, *judgement.others]
    page: str = template.render(
        title=f"Judgement of {shorten_middle(judgement.data.name, 60)}",
        j=judgement,
        data=judgement.data,
        mark=MARK,
        version=VERSION,
        comparison=verdict.compare_models(judgement),
        models=[
            (model, *verdict.choose_verdict(model), verdict.key_numbers(model)) for model in models
        ],
        advice=verdict.advise(judgement),
        glossary=glossary(judgement.data.notions),
        diagrams=[pictures.draw_overall(model, f"model{i}") for i, model in enumerate(models)],
        questions=QUESTIONS,
        measured_kinds=KINDS,
        drawn=pictures.draw(judgement),
    )
    return page


def labels_html(judgement: LabelsJudgement) -> str:
    """Return the page of a judgement of several labels."""
    template = environment().get_template("labels.html.j2")
    text: str = template.render(
        title=f"Judgement of {shorten_middle(judgement.name, 60)}",
        j=judgement,
        mark=MARK,
        version=VERSION,
        drawn=pictures.draw_classes(judgement.where),
    )
    return text


def refuse_other_files(path: str | Path, mark: str = MARK, kind: str = "page") -> None:
    """Raise BadInputError if `path` is no file, or a file that `judge` did not write.

    A file of the given kind contains `mark` near its beginning.
    """
    path = Path(path)
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; pass the path of a file.")
    if not path.exists():
        return
    with open_file(path) as file:
        beginning = file.read(2000).decode("utf-8", "replace")
    if mark not in beginning:
        raise BadInputError(
            f"{path} exists and is not the {kind} of an earlier judgement, so it is not "
            "overwritten; choose another file name."
        )
