"""doctor, status and repair of a results folder."""

import os

import pytest
from record_parts import row, write

import harness
from harness.records import parts
from harness.workflow.experiment import Experiment
from harness.workflow.health import examine
from harness.workflow.status import status_text

RUN = [
    "problem=[beta_wavy]",
    "estimator=[binned15,debiased15]",
    "n=[50,100]",
    "reps=3",
    "jobs=1",
    "name=store",
]
FOUR_REPS = [text.replace("reps=3", "reps=4") for text in RUN]


@pytest.mark.slow
def test_doctor_finds_what_is_wrong(out):
    harness.run(RUN)
    assert examine(out)[1] == 0 and examine(out, RUN)[1] == 0
    text, problems = examine(out, FOUR_REPS)
    assert problems == 1 and "4 missing" in text
    text, problems = examine(out, compact=True)
    assert problems == 0 and "joined" in text and len(parts.part_files(out)) == 1
    left = out / "records" / ".part-x.parquet.tmp"
    left.write_bytes(b"half")
    assert left.name not in examine(out, repair=True)[0]  # a run may be writing it
    os.utime(left, (0, 0))
    text, problems = examine(out)
    assert problems == 0 and left.name in text
    examine(out, repair=True)
    assert not left.exists()
    for value in (0.1, 0.2):
        write(out, row("z", "ok", value, "l1", run_id="lost"))
    text, problems = examine(out)
    assert problems == 2 and "records that differ" in text and "run lost" in text
    next((out / "truths").glob("*.json")).write_text("{")
    assert "is not valid JSON" in examine(out)[0]


def test_status_counts_cells(out):
    Experiment.of(["experiment=smoke", "n=50", "reps=2", "jobs=1"]).compute(quiet=True)
    text = status_text(out)
    line = next(line for line in text.splitlines() if line.startswith("binned15 "))
    # two binary problems, the canonical one is skipped
    assert line.split()[1:] == ["0", "4", "0", "2", "0", "0"]
    line = next(line for line in text.splitlines() if line.startswith("beta_calibrated "))
    assert line.split()[1:] == ["0", "16", "0", "0", "0", "0"]
    assert "smoke" in text and "finished" in text
    assert "elsewhere: no records yet" in status_text(out / "elsewhere")


def test_repair_moves_a_file_whose_name_is_not_in_utf_8(out):
    part = os.path.join(os.fsencode(out), b"records", b"part-\xff.parquet")
    os.makedirs(os.path.dirname(part))
    with open(part, "wb") as file:
        file.write(b"no parquet")
    assert "moved" in examine(out, repair=True)[0] and not os.path.exists(part)
    assert "\\udcff" in (out / "broken" / "NOTES.txt").read_text(encoding="utf-8")
