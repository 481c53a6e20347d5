"""Hostile files: devices and pipes, files that unpack to far more than their size, long lines."""

import gzip
import os
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults.common import write_record

import harness
from harness.commands.health import examine, status_text
from harness.common import buckets, data_files, parquet, reading, writing
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.judging import judge, page, saved
from harness.records import parts, reader, truths
from harness.sources import files

# Special files


def _link_to(device):
    return lambda path: path.symlink_to(device)


def _make_socket(path):
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket may have 107 characters
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
    os.chdir(here)


KINDS = {
    "a device": _link_to("/dev/zero"),
    "a full device": _link_to("/dev/full"),
    "a pipe": os.mkfifo,
    "a socket": _make_socket,
}


@pytest.fixture(params=KINDS)
def special(request):
    """Return (make, kind): the function that makes a special file, and its name in messages."""
    return KINDS[request.param], request.param.replace("full ", "")


def test_no_special_file_is_read(tmp_path, special):
    make, kind = special
    for ending in (".csv", ".csv.gz", ".npz", ".parquet", ".pkl", ".safetensors", ".json"):
        make(tmp_path / f"x{ending}")
    for read, endings in (
        (files.read, (".csv", ".csv.gz", ".npz", ".parquet", ".pkl", ".safetensors")),
        (data_files.find, (".csv",)),
        (data_files.sha256, (".csv",)),
        (saved.load, (".json",)),
        (reader.load_records, (".parquet",)),
        (reading.read_text, (".json",)),
    ):
        for ending in endings:
            with pytest.raises(BadInputError, match=f"{ending} is {kind}, not a file"):
                read(tmp_path / f"x{ending}")


def test_no_special_file_in_a_folder_of_logits_is_read(tmp_path, special):
    make, kind = special
    for name in data_files.FOLDER_FILES:
        make(tmp_path / name)
    with pytest.raises(BadInputError, match=f"is {kind}, not a file"):
        files.read(tmp_path)


def test_no_special_file_is_a_target(tmp_path, special, cli):
    make, kind = special
    path = tmp_path / "target.html"
    make(path)
    before = os.lstat(path)
    (tmp_path / "p.csv").write_text("p,y\n0.2,0\n0.7,1\n")
    for write in (page.refuse_other_files, lambda path: writing.write_text(path, "text")):
        with pytest.raises(BadInputError, match=f"target.html is {kind}, not a file"):
            write(path)
    code, _, err = cli("judge", str(tmp_path / "p.csv"), "--html", str(path))
    assert code == 2 and f"is {kind}, not a file" in err and len(err.splitlines()) == 1
    assert os.lstat(path) == before


def test_a_special_part_is_named_at_once_and_moved_aside(out, special):
    """The readers once waited for a minute, as if another process had joined the part."""
    make, kind = special
    write_record(out, key="b")
    write_record(out)
    part = parts.part_files(out)[0]
    part.unlink()
    make(part)
    started = time.monotonic()
    for read in (reader.cell_states, reader.load_records, status_text):
        with pytest.raises(BadInputError, match=f"{part.name} is not .*it is {kind}, not a file"):
            read(out)
    assert f"PROBLEM  {part} cannot be read (it is {kind}" in examine(out)[0]
    assert f"moved    {part} to" in examine(out, repair=True)[0]
    assert len(reader.cell_states(out)) == 1 and time.monotonic() - started < parts.RACE_SECONDS


def test_special_truths_runs_and_addresses_are_not_opened(out, special):
    make, kind = special
    write_record(out)
    truths.write_truths(out, "00", {"binary|l1": [0.5, 0.0, "known"]})
    path = out / "truths" / "00.json"
    path.unlink()
    make(path)
    with pytest.raises(BadInputError, match=f"00.json is {kind}, not a file"):
        reader.load_records(out)
    assert f"moved    {path} to" in examine(out, repair=True)[0]
    (out / "runs").mkdir()
    make(out / "runs" / "r.json")
    assert "run r: unreadable" in status_text(out) and "no readable runs/r" in examine(out)[0]
    make(out / ".store")
    with pytest.raises(BadInputError, match=f"is {kind}, not a file"):
        buckets.location(out)


def test_a_special_file_in_a_folder_of_configuration_is_not_opened(tmp_path, special):
    make, kind = special
    (tmp_path / "estimator").mkdir()
    make(tmp_path / "estimator" / "mine.yaml")
    for asked in (f"config_dir='{tmp_path}'", f"hydra.searchpath=['file://{tmp_path}']"):
        with pytest.raises(BadInputError, match=f"mine.yaml is {kind}, not a file"):
            compose([asked, "problem=beta_wavy", "estimator=[mine]"])


# Files that unpack to far more than their size


def _dense(batches):
    return sum(batch.num_rows for batch in batches)


def _lists(values):
    """Return a table of one row whose list has many zeros."""
    zeros = pa.array(np.zeros(values))
    return pa.table({"p": pa.ListArray.from_arrays(pa.array([0, values]), zeros), "y": [0]})


def _texts(rows, characters):
    """Return a table whose rows have the same text, which the file stores once."""
    index = pa.array(np.zeros(rows, dtype=np.int32))
    text = pa.DictionaryArray.from_arrays(index, pa.array(["x" * characters]))
    return pa.table({"p": np.full(rows, 0.5), "text": text, "y": np.zeros(rows)})


BOMBS = {
    "lists": (lambda: _lists(2**18), {}),
    "texts": (lambda: _texts(2**10, 2**12), {}),
    "texts without their schema": (lambda: _texts(2**10, 2**12), {"store_schema": False}),
    "rows": (lambda: pa.table({"p": np.full(2**20, 0.5), "y": np.zeros(2**20)}), {}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_parquet_is_measured_before_and_while_it_is_read(tmp_path, monkeypatch, name):
    make, options = BOMBS[name]
    path = tmp_path / "a.parquet"
    pq.write_table(make(), path, compression="zstd", **options)
    rows = _dense(parquet.read_batches(path))
    assert rows == pq.read_metadata(path).num_rows
    monkeypatch.setattr(parquet, "SAFE_BYTES", 2**20)
    monkeypatch.setattr(parquet, "RATIO", 1)
    for read in (files.read, lambda path: _dense(parquet.read_batches(path))):
        with pytest.raises(BadInputError, match="a.parquet would unpack to more than .* times its"):
            read(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has this limit")
def test_one_page_that_is_too_large_meets_a_limit_on_memory():
    with pytest.raises(MemoryError), parquet.limited_memory(2**28):
        bytearray(2**29)
    assert len(bytearray(2**29)) == 2**29


@pytest.mark.parametrize("has_digest", [True, False])
def test_a_part_that_unpacks_to_far_more_than_its_size_is_refused(out, monkeypatch, has_digest):
    write_record(out, key="b")
    whole = pq.read_table(parts.part_files(out)[0])
    rows = pa.concat_tables([whole] * 1000)
    name = rows.column_names.index("diagnostics")
    texts = pa.array(["x" * 3000] * 1000)
    rows = rows.set_column(name, "diagnostics", texts).append_column("more", texts)
    if has_digest:
        parts.write_table(out, rows)
    else:
        pq.write_table(rows, out / "records" / "part-ffff.parquet")
    assert reader.cell_states(out) == {"b": "ok"}
    monkeypatch.setattr(parquet, "SAFE_BYTES", 2**20)
    monkeypatch.setattr(parquet, "RATIO", 1)
    for part in parts.part_files(out):
        os.utime(part, ns=(0, 0))  # the check of an unchanged part is not repeated
    with pytest.raises(BadInputError, match="it would unpack to more than .*doctor --repair"):
        reader.load_records(out)
    assert "moved" in examine(out, repair=True)[0]
    assert reader.cell_states(out) == {"b": "ok"}


_BOMB = """
import resource, sys
from harness.errors import BadInputError
from harness.sources import files
try:
    files.read(sys.argv[1])
except BadInputError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_honest", [True, False])
def test_a_bomb_of_lists_takes_less_than_2_gb(tmp_path, is_honest):
    """1 kB unpacks to 400 MB. The footer of the second file says that its list has one value."""
    path, values = tmp_path / "a.parquet", 50_000_000
    pq.write_table(_lists(values), path, compression="zstd")
    content = path.read_bytes()
    assert len(content) < 5000
    if not is_honest:
        count, digits = 2 * values, []
        while count > 127:
            digits.append(count & 127 | 128)
            count >>= 7
        number = bytes([*digits, count])
        one = bytes([0x82] + [0x80] * (len(number) - 2) + [0])
        footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
        assert number in content[footer:]
        path.write_bytes(content[:footer] + content[footer:].replace(number, one))
        assert pq.read_metadata(path).row_group(0).column(0).num_values == 1
    done = subprocess.run(
        [sys.executable, "-c", _BOMB, str(path)], capture_output=True, text=True, timeout=120
    )
    message, megabytes = done.stdout.splitlines()
    assert "would unpack to more than 268,435,456 bytes" in message and int(megabytes) < 2000


# Work without end


def test_lines_columns_labels_and_classes_have_limits(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_COLUMNS", 100)
    line = b"p,y\n0.5,1\n" + b"0" * (files.LINE_BYTES + 1) + b",1\n"
    header = ",".join(f"p{column}" for column in range(files.MOST_COLUMNS)).encode()
    label = b"p,y\n0.5,0\n0.5," + b"a" * 1001 + b"\n"
    (tmp_path / "line.csv").write_bytes(line)
    (tmp_path / "line.csv.gz").write_bytes(gzip.compress(line, 1))
    (tmp_path / "columns.csv").write_bytes(header + b",y\n")
    (tmp_path / "label.csv").write_bytes(label)
    names = [f"p{column}" for column in range(files.MOST_COLUMNS + 1)]
    pq.write_table(pa.table({name: [0.5] for name in names}), tmp_path / "columns.parquet")
    for name, message in (
        ("line.csv", "line of more than 16,777,216 bytes"),
        ("line.csv.gz", "line of more than 16,777,216 bytes"),
        ("columns.csv", "101 columns; at most 100"),
        ("columns.parquet", "101 columns; at most 100"),
        ("label.csv", "a label of 1,001 characters; at most 1,000"),
    ):
        with pytest.raises(BadInputError, match=message):
            files.read(tmp_path / name)
    with pytest.raises(BadInputError, match="1,001 classes; at most 1,000"):
        judge.judge(np.full((2, 1001), 1 / 1001), np.zeros(2, dtype=int))


def test_a_line_of_16_mib_is_read(tmp_path):
    path = tmp_path / "a.csv"
    text = "a" * (files.LINE_BYTES - 8)
    path.write_text(f"p,y,text\n0.5,1,{text}\n0.5,0,b\n")
    assert files.arrays(path)["text"][0] == text


def test_many_labels_take_linear_time(tmp_path):
    path = tmp_path / "a.parquet"
    names = [f"name {number}" for number in range(100_000)]
    pd.DataFrame({"p": 0.5, "y": names}).to_parquet(path)
    started = time.process_time()
    with pytest.raises(BadInputError, match="100,000 in all"):
        files.read(path)
    assert time.process_time() - started < 20


# Files that could be read in two ways, or not at all


def test_two_columns_of_one_name_are_refused_in_every_format(tmp_path):
    column = pa.array([0.2, 0.7])
    table = pa.table([column, column, pa.array([0, 1])], names=["p", "p", "y"])
    pq.write_table(table, tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("p,p,y\n0.2,0.2,0\n0.7,0.7,1\n")
    for name in ("x.parquet", "x.csv"):
        with pytest.raises(BadInputError, match="names two columns 'p'"):
            files.read(tmp_path / name)


def test_utf_16_a_folder_and_lines_in_labels_end_in_one_line(tmp_path, cli):
    rows = "p,y\n" + "0.2,no\n0.7,yes\n" * 3
    (tmp_path / "le.csv").write_text(rows, encoding="utf-16-le")
    (tmp_path / "bom.csv").write_text(rows, encoding="utf-16")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "lines.csv").write_text('p,y\n0.2,"a\nb"\n0.7,"c\nd"\n')
    for name, message in {
        "le": "save it as UTF-8",
        "bom": "save it as UTF-8",
        "folder": "is a folder and no file",
        "lines": "y holds a\\nb, c\\nd, and p is",
    }.items():
        code, _, err = cli("judge", str(tmp_path / f"{name}.csv"))
        assert code == 2 and message in err and len(err.splitlines()) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("smallest", [5e-324, 1e-320, 1e-300])
def test_probabilities_near_0_give_finite_tests_without_warnings(smallest):
    y = np.arange(60) % 2
    for p in (np.full(60, smallest), np.where(y == 1, smallest, 1 - 1e-16)):
        answer = judge.judge(p, y, questions=["calibrated", "how_far"])
        assert answer.calibrated.rejected and answer.calibrated.tests[0].p_value < 0.001
        assert np.isfinite(answer.calibrated.tests[0].statistic)
    thirds = (np.ones((60, 3)) / 3).astype(np.float32)
    judge.judge(thirds, y, questions=["calibrated"])


def test_a_folder_does_not_hide_a_data_file_of_its_name(tmp_path, monkeypatch):
    data = tmp_path / "data"
    for folder in (data, tmp_path / "x.csv"):
        folder.mkdir()
    (data / "x.csv").write_text("p,y\n0.2,0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALHARNESS_DATA", str(data))
    assert data_files.find("x.csv") == data / "x.csv"


@pytest.mark.filterwarnings("error")
def test_an_event_with_probability_near_0_gives_the_hosmer_lemeshow_test_p_0():
    p, y = np.full(20, 1e-320), np.arange(20) % 2
    estimates = harness.estimate("hosmer_lemeshow", p, y, notion="binary")
    assert estimates["p_value"].value == 0.0
