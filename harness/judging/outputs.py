"""Write the files of `calharness judge`. Files that it has not written itself stay unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from harness.common.writing import append_text, write_text
from harness.errors import BadInputError
from harness.judging import markdown, page, saved
from harness.judging.as_json import SCHEMA
from harness.judging.judgement import Judgement
from harness.judging.labels import LabelsJudgement
from harness.judging.thresholds import Outcome

# {kind of file: text near its beginning, by which judge recognises its own files}
# A summary is appended to any file, and so its mark is "".
MARKS = {
    "summary": "",
    "page": page.MARK,
    "JSON": f'"schema": "{SCHEMA}"',
    "map": f'"format": "{saved.FORMAT}"',
}


def check(paths: Mapping[str, str], inputs: Sequence[str] = ()) -> None:
    """Raise BadInputError if a file cannot be written, or is not one that judge has written.

    `paths` is {kind: path}. `inputs` are the prediction files, which stay unchanged.
    """
    files = [os.path.realpath(path) for path in paths.values()]
    predictions = [os.path.realpath(path) for path in inputs]
    for kind, path in paths.items():
        file = os.path.realpath(path)
        if files.count(file) > 1:
            raise BadInputError(f"{path} is given for two outputs; give each its own file.")
        if file in predictions:
            raise BadInputError(
                f"{path} is a prediction file, to which no {kind} is written; give another path."
            )
        folder = next(parent for parent in Path(path).absolute().parents if parent.exists())
        try:
            TemporaryFile(dir=folder).close()
        except OSError:
            raise BadInputError(
                f"{path} cannot be written, because {folder} is not a writable folder; give "
                "another path."
            ) from None
        page.refuse_other_files(path, MARKS[kind], kind)


def write(
    judgement: Judgement | LabelsJudgement,
    paths: Mapping[str, str],
    outcomes: Sequence[Outcome] = (),
) -> list[str]:
    """Write the files {kind: path} of a judgement. Return one line about each.

    `outcomes` are numbers with limits, for the summary.
    """
    lines = []
    for kind, path in paths.items():
        line = f"  {kind:<8}{path}"
        if kind == "page":
            judgement.to_html(path)
        elif kind == "JSON":
            write_text(path, json_text(judgement) + "\n")
        elif isinstance(judgement, LabelsJudgement):
            raise BadInputError(f"of several labels per row no {kind} is written; leave it out.")
        elif kind == "summary":
            append_text(path, markdown.text(judgement, outcomes))
        elif judgement.gains is None or judgement.gains.fitted is None:
            continue
        else:
            saved.save(judgement.gains.fitted, path)
            line += ", which harness.judging.saved.load reads"
        lines.append(line)
    return lines


def json_text(judgement: Judgement | LabelsJudgement) -> str:
    """Return the judgement as JSON."""
    return json.dumps(judgement.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
