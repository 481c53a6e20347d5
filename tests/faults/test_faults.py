"""Faults from outside: answers that are no numbers, damaged stores, full disks, wrong folders."""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_states import cell_states
from faults.common import environment, wait_for, write_record

from harness import Estimate
from harness.commands import app as command_line
from harness.common.writing import whole_file
from harness.configure.compose import out_folder
from harness.errors import BadInputError, system_sentence
from harness.estimators.application import WrongAnswerError, apply
from harness.execute import stops
from harness.records import parts, reader
from harness.workflow.health import examine
from harness.workflow.status import status_text

P, Y = np.array([0.2, 0.8]), np.array([0, 1])
NO_NUMBERS = {
    "complex": 1 + 0j, "numpy's complex": np.complex128(1 + 2j),
    "an array of one": np.array(1 + 2j), "text": "0.5",
    "numpy's text": np.str_("0.5"), "text in an array": np.array("0.5"),
    "text as an object": np.array("0.5", dtype=object),
    "bytes": b"0.5", "a truth value": True, "one in an array": np.array(True),
    "raw bytes": np.void(b"123"),
    "a time": np.timedelta64(5, "s"), "too large": 10**400, "a list": [0.5], "nothing": None,
    "a table": {"l1": {"l1": 0.5}},
}  # fmt: skip


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_number_is_a_failure_of_the_estimator(name):
    """The value stands in for a value, a bound and a diagnostic. Nothing is converted."""
    value = NO_NUMBERS[name]
    answers = [{"l1": value}, Estimate(value)] + (
        [] if value is None else [Estimate(0.5, low=value, kind="lower")]
    )
    for answer in [
        *answers,
        *(
            []
            if isinstance(value, (bool, np.ndarray))
            else [Estimate(0.5, diagnostics={"a": value})]
        ),
    ]:
        with pytest.raises(WrongAnswerError, match="must be numbers"):
            apply(lambda p, y, answer=answer: answer, P, Y, "binary", None)


def test_other_kinds_of_numbers_are_numbers():
    for value in (
        0.5,
        np.float16(0.5),
        np.array(0.5),
        Fraction(1, 2),
        np.array(0.5, dtype=object),
        np.longdouble(0.5),
    ):
        assert apply(lambda p, y, value=value: value, P, Y, "binary", None)["l1"].value == 0.5


FOREIGN = {
    "status": ("odd", "the status 'odd' is unknown"), "key": (None, "1 rows have no key"),
    "n": ("many", "of other types"),
    "value": ("half", "of other types"), "rep": (None, "1 rows have no rep"),
    "problem_key": ("../x", "problem_key '../x'"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_a_part_with_foreign_content_is_refused(out, name):
    """A part without a digest, with a wrong column, is named by all readers and moved aside."""
    write_record(out, key="b")
    write_record(out)
    ours, theirs = sorted(
        parts.part_files(out), key=lambda path: pq.read_table(path)["key"][0].as_py() == "a"
    )
    table = pq.read_table(theirs)
    value, reason = FOREIGN[name]
    theirs.unlink()
    theirs = theirs.with_name("part-ffff.parquet")
    pq.write_table(
        table.set_column(table.column_names.index(name), name, pa.array([value])), theirs
    )
    for read in (cell_states, reader.load_records, reader.status_counts):
        with pytest.raises(
            BadInputError,
            match=f"{theirs.name} is not a readable record part .*{re.escape(reason)}.*--repair",
        ):
            read(out)
    assert f"PROBLEM  {theirs} cannot be read" in examine(out)[0]
    before = ours.read_bytes()
    assert f"moved    {theirs}" in examine(out, repair=True)[0]
    assert cell_states(out) == {"b": "ok"} and ours.read_bytes() == before


@pytest.mark.parametrize("content", ["[]", '{"config": []}', "[" * 100_000])
def test_a_run_s_file_that_is_none_stops_nobody(out, content):
    write_record(out)
    (out / "runs").mkdir()
    (out / "runs" / "r'; drop view r; --.json").write_text(content)
    assert "unreadable" in status_text(out) and "1 readable parts" in examine(out)[0]


def test_a_full_disk_is_one_sentence_and_leaves_no_half_file(out, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as stop:
        write_record(out)
    message = system_sentence(stop.value)
    assert re.fullmatch(rf"[^;]* {out}/records/part-\S+\.parquet; [^;]*out=DIR[^;]*\.", message)
    assert not list((out / "records").iterdir())


def test_an_error_of_the_system_is_one_sentence():
    for number in errno.errorcode:
        message = system_sentence(OSError(number, os.strerror(number), "some/file"))
        assert (
            "some/file" in message
            and "Errno" not in message
            and message.endswith(".")
            and "\n" not in message
            and "; " in message
        )


def test_what_a_library_says_of_a_file_is_kept(tmp_path):
    """Pillow and pyarrow raise OSErrors with a text and without a number."""
    with pytest.raises(OSError) as stop, whole_file(tmp_path / "a.png"):
        raise OSError("encoder error -2 when writing image file")
    assert system_sentence(stop.value) == "encoder error -2 when writing image file"


def test_a_rename_that_is_done_and_said_to_have_failed_is_done(out, monkeypatch):
    """NFS reports such a failure if the server gets the same request twice."""
    rename = os.replace

    def twice(source, target):
        rename(source, target)
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(source))

    monkeypatch.setattr(os, "replace", twice)
    write_record(out)
    assert cell_states(out) == {"a": "ok"}


def test_a_refresh_counts_though_the_clock_was_set_back(out, monkeypatch):
    write_record(out, run_id="first")
    monkeypatch.setattr(time, "time", lambda: 1.0)
    write_record(out, reader.latest(out), run_id="refreshed")
    assert reader.load_records(out)["run_id"].tolist() == ["refreshed"]


def test_a_loop_of_links_a_device_and_nobody_s_home_are_no_folders(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for given in (
        tmp_path / "loop",
        "/dev/null",
        "~no_such_user_here/x",
        "a\0b",
        tmp_path / "loop" / "below",
    ):
        with pytest.raises(BadInputError, match="out is .*(folder)"):
            out_folder(str(given))


@pytest.mark.parametrize("kind, status", [(stops.TerminatedError, 143), (KeyboardInterrupt, 130)])
def test_an_interruption_is_one_sentence_and_a_status(monkeypatch, capsys, kind, status):
    def interrupted(arguments):
        raise kind

    monkeypatch.setattr(command_line, "dispatch", interrupted)
    assert command_line.main(["status"]) == status
    assert capsys.readouterr().err == "calharness: interrupted\n"


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interruption_that_python_turns_into_another_error_is_one(
    monkeypatch, capsys, number, status
):
    """Python 3.11 turns all errors of `__set_name__` into a RuntimeError."""

    def interrupted(arguments):
        try:
            stops.handle(number, None)
        except KeyboardInterrupt:
            raise RuntimeError("Error calling __set_name__") from None

    monkeypatch.setattr(command_line, "dispatch", interrupted)
    assert command_line.main(["status"]) == status
    assert capsys.readouterr().err == "calharness: interrupted\n"


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_during_the_first_imports_is_one_sentence_and_a_status(tmp_path, number, status):
    """The command handles signals before it imports numpy, which here never ends to be imported."""
    importing = tmp_path / "importing"
    text = f"import time\nopen({str(importing)!r}, 'w').close()\ntime.sleep(1000)\n"
    (tmp_path / "numpy.py").write_text(text)
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "harness", "status"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONPATH=path),
        # SIGINT is ignored where the tests run in the background
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(process, importing.exists)
    process.send_signal(number)
    assert process.communicate()[1] == "calharness: interrupted\n"
    assert process.returncode == status
