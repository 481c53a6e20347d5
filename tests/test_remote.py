"""Records whose home is a store of objects: two hosts that share no disk are two folders of caches here."""

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

import harness
from harness.commands.experiment import Experiment
from harness.common import buckets
from harness.configure.compose import out_folder
from harness.errors import BadInputError
from harness.records import compaction, parts, truths

SMALL = ["problem=[beta_overconfident]", "estimator=[binned15]", "n=[50,100]", "engine=serial"]


@pytest.fixture
def host(tmp_path, monkeypatch):
    """host("a"): from now on this is host a, with a cache of its own and without memory of another."""

    def be(name):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        monkeypatch.setattr(buckets, "_compared", {})
        monkeypatch.setattr(buckets, "FRESH_SECONDS", 0.0)
        return tmp_path / name

    monkeypatch.delenv("CALHARNESS_OUT", raising=False)
    return be


@pytest.fixture
def store(tmp_path):
    return (tmp_path / "store").as_uri()


def in_store(store):
    return sorted(Path(store.removeprefix("file://")).glob("records/part-*.parquet"))


def same(a, b):
    columns = ["key", "estimand", "value", "status", "truth"]
    a, b = (f[columns].astype(object).reset_index(drop=True) for f in (a, b))
    pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.mark.slow
def test_two_hosts_share_records_truths_and_runs(host, store, tmp_path, capsys):
    host("a")
    first = harness.run([*SMALL, "reps=3", f"out={store}"])
    assert in_store(store) and (first["status"] == "ok").all() and first["truth"].notna().any()
    host("b")
    experiment = Experiment.of([*SMALL, "reps=4", f"out={store}"])
    assert experiment.out.is_relative_to(tmp_path / "b") and experiment.out.is_dir()
    counts = experiment.compute(quiet=True)
    assert (counts["done"], counts["todo"]) == (6, 2)
    assert len(list(experiment.out.glob("runs/*.json"))) == 2
    host("a")
    again = Experiment.of([*SMALL, "reps=4", f"out={store}"])
    assert again.compute(quiet=True)["todo"] == 0
    plain = harness.run([*SMALL, "reps=4", f"out={tmp_path / 'plain'}"])
    same(plain, again.records())
    same(plain, harness.load_records(store).merge(plain[["key"]].drop_duplicates()))
    assert capsys.readouterr().err.count("not as it was written") == 0


def test_what_could_not_be_sent_is_sent_by_the_next_run(host, store, monkeypatch):
    host("a")
    mirror = buckets.mirror(store)
    write, attempts = buckets._write, []

    def refuses(*given):
        attempts.append(given)
        raise OSError("the store does not answer")

    monkeypatch.setattr(buckets, "_write", refuses)
    monkeypatch.setattr(buckets.time, "sleep", lambda seconds: None)
    part = parts.Part(mirror)
    part.add({"key": "k", "run_id": "r"}, [{"status": "ok", "value": 1.0}])
    with pytest.raises(BadInputError, match=r"could not be sent .*the store does not answer.* the next run sends it"):
        part.write()
    assert len(attempts) == buckets.TRIES and len(parts.part_files(mirror)) == 1 and not in_store(store)
    monkeypatch.setattr(buckets, "_write", write)
    buckets.fetch(mirror)
    assert [p.name for p in in_store(store)] == [p.name for p in parts.part_files(mirror)]


@pytest.mark.parametrize("group", ["truths", "runs"])
def test_what_was_changed_and_could_not_be_sent_is_sent_by_the_next_run(host, store, monkeypatch, group):
    """The store has an earlier state of the same file, which looks as the mirror knows it."""
    host("a")
    mirror, there = buckets.mirror(store), Path(store.removeprefix("file://")) / group / "one.json"

    def write(value):
        if group == "truths":
            truths.write_truths(mirror, "one", {"binary|l1": [value, 0.0, "exact"]})
        else:
            (mirror / "runs").mkdir(exist_ok=True)
            (mirror / "runs" / "one.json").write_text(json.dumps({"state": value}))
            buckets.send(mirror / "runs" / "one.json")

    write(0.25)
    buckets.fetch(mirror)
    before = there.read_bytes()
    with monkeypatch.context() as broken:

        def refuses(*given):
            raise OSError("the store does not answer")

        broken.setattr(buckets, "_write", refuses)
        broken.setattr(buckets.time, "sleep", lambda seconds: None)
        with pytest.raises(BadInputError, match="the next run sends it"):
            write(0.5)
    assert there.read_bytes() == before
    buckets.fetch(mirror)
    assert there.read_bytes() == (mirror / group / "one.json").read_bytes() != before
    stamp = there.stat().st_mtime_ns
    buckets.fetch(mirror)
    assert there.stat().st_mtime_ns == stamp


@pytest.mark.slow
def test_a_part_that_is_damaged_in_the_store_is_told_and_its_cells_are_computed_again(host, store, capsys):
    host("a")
    harness.run([*SMALL, "reps=2", f"out={store}"])
    part, *others = in_store(store)
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    host("b")
    experiment = Experiment.of([*SMALL, "reps=2", f"out={store}"])
    assert f"{part.name} of {store} is not as it was written, and left out" in capsys.readouterr().err
    assert experiment.compute(quiet=True)["todo"] == 1 and len(others) == 3


def test_parts_that_one_host_joins_are_joined_for_the_other(host, store):
    host("a")
    harness.run([*SMALL, "reps=2", f"out={store}"])
    host("b")
    there = buckets.mirror(store)
    assert len(in_store(store)) == len(parts.part_files(there)) == 4
    host("a")
    mirror = buckets.mirror(store)
    assert compaction.compact(mirror)[0] == 4
    assert [p.name for p in in_store(store)] == [p.name for p in parts.part_files(mirror)] and len(in_store(store)) == 1
    host("b")
    buckets.fetch(there)
    assert [p.name for p in parts.part_files(there)] == [p.name for p in in_store(store)]
    assert len(list((there / "removed").iterdir())) == 4


@pytest.mark.parametrize(
    "address,said",
    [
        ("nosuch://bucket/folder", "where no file system is known"),
        ("s3://key:secret@bucket/folder", "has a password in its address"),
        ("s3://", "out is 's3://', which names no folder"),
        ("s3://a b", "out is 's3://a b', where no file system is known"),
    ],
)
def test_an_address_that_is_none_is_one_sentence(host, address, said):
    host("a")
    with pytest.raises(BadInputError, match=said) as refused:
        buckets.mirror(address)
    assert "secret" not in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("given", ["s3:/bucket/folder", "gs:bucket/folder"])
def test_an_address_with_too_few_slashes_makes_no_folder(given):
    with pytest.raises(BadInputError, match=f"the address of a store has two slashes, {given[:2]}://bucket/folder"):
        out_folder(given)


def test_what_another_process_of_this_host_has_moved_meanwhile_is_no_error(host, store, monkeypatch):
    host("a")
    mirror = buckets.mirror(store)
    part = mirror / "records" / "part-0.parquet"
    part.parent.mkdir()
    part.write_bytes(b"")
    buckets._note(mirror, ("records/part-0.parquet", "0 0"), b"")

    def moved_before(source, target):
        Path(source).unlink()
        raise FileNotFoundError(2, "No such file or directory", str(source))

    monkeypatch.setattr(buckets.os, "replace", moved_before)
    buckets.fetch(mirror)
    assert not part.exists()


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    """The address of a bucket of a server that speaks S3, moto's, where it is installed."""
    server = os.environ.get("CALHARNESS_MOTO_SERVER") or shutil.which("moto_server")
    if not server:
        pytest.skip("moto_server is not on the path: pip install 'moto[server]', in an environment of its own")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    process = subprocess.Popen(
        [server, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    get_reusable_executor().shutdown()  # workers of an earlier test, which would not see these variables
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_EC2_METADATA_DISABLED": "true",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    end = time.monotonic() + 60
    with socket.socket() as s:
        while s.connect_ex(("127.0.0.1", port)):
            assert process.poll() is None and time.monotonic() < end, "no server"
            time.sleep(0.1)
    from pyarrow import fs

    files = fs.FileSystem.from_uri("s3://records?allow_bucket_creation=true")[0]
    files.create_dir("records")
    yield "s3://records/of/mine"
    get_reusable_executor().shutdown()
    process.terminate()
    process.wait(10)


@pytest.mark.slow
def test_records_in_a_bucket(host, bucket, tmp_path):
    """Written by the guarded processes of two workers, read on another host, equal to those of a folder."""
    host("a")
    counts = Experiment.of([*SMALL[:-1], "reps=20", "engine=loky", "jobs=2", f"out={bucket}"]).compute(quiet=True)
    assert counts["todo"] == 40 and counts["failed"] == 0
    host("b")
    there = Experiment.of([*SMALL, "reps=20", f"out={bucket}"])
    assert there.compute(quiet=True)["todo"] == 0
    same(harness.run([*SMALL, "reps=20", f"out={tmp_path / 'plain'}"]), there.records())
    with pytest.raises(BadInputError, match="s3://absent/x.*where there is no absent"):
        buckets.mirror("s3://absent/x")
