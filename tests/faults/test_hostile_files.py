"""Hostile files: devices and pipes, tables that do not fit into memory, long labels."""

import os
import socket
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_states import cell_states
from faults.common import write_record

import harness
from harness.common import buckets, data_files, memory, reading, writing
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.judging import judge, page, saved
from harness.records import parts, reader, truths
from harness.sources import files
from harness.workflow.health import examine
from harness.workflow.status import status_text

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


def test_a_special_part_is_named_at_once_and_moved_aside(out, special, monkeypatch):
    """The readers once listed the parts for a minute, as if another process had joined them."""
    make, kind = special
    write_record(out, key="b")
    write_record(out)
    part = parts.part_files(out)[0]
    part.unlink()
    make(part)
    listings, list_parts = [], parts.part_files

    def listed(folder):
        listings.append(folder)
        assert len(listings) < 20
        return list_parts(folder)

    monkeypatch.setattr(parts, "part_files", listed)
    for read in (cell_states, reader.load_records, status_text):
        with pytest.raises(BadInputError, match=f"{part.name} is not .*it is {kind}, not a file"):
            read(out)
    assert f"PROBLEM  {part} cannot be read (it is {kind}" in examine(out)[0]
    assert f"moved    {part} to" in examine(out, repair=True)[0]
    assert len(cell_states(out)) == 1


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


# Tables that do not fit into memory, by their headers


def test_a_table_that_does_not_fit_into_memory_is_refused_from_its_header(tmp_path, monkeypatch):
    p, y = np.full((1000, 4), 0.25), np.zeros(1000)
    (tmp_path / "folder").mkdir()
    for name, array in zip(data_files.FOLDER_FILES, (8 * p, y)):
        np.save(tmp_path / "folder" / name, array)
    np.savez_compressed(tmp_path / "a.npz", p=p, y=y)
    frame = pd.DataFrame(p, columns=["p0", "p1", "p2", "p3"]).assign(y=y)
    frame.to_parquet(tmp_path / "a.parquet")
    for name, size in {"folder": 32_000, "a.npz": 40_000, "a.parquet": 40_000}.items():
        monkeypatch.setattr(memory, "default_limit", lambda size=size: size)
        assert files.read(tmp_path / name)[0].shape == (1000, 4)
        monkeypatch.setattr(memory, "default_limit", lambda size=size: size - 1)
        with pytest.raises(BadInputError, match=f"a table of {size:,} bytes, but only"):
            files.read(tmp_path / name)


# Work without end


def test_labels_and_classes_have_limits(tmp_path):
    (tmp_path / "label.csv").write_text("p,y\n0.5,0\n0.5," + "a" * 1001 + "\n")
    with pytest.raises(BadInputError, match="a label of 1,001 characters; at most 1,000"):
        files.read(tmp_path / "label.csv")
    with pytest.raises(BadInputError, match="1,001 classes; at most 1,000"):
        judge.judge(np.full((2, 1001), 1 / 1001), np.zeros(2, dtype=int))


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
