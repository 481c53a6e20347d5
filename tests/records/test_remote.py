"""Records in a store of objects. Two hosts without a common disk are two cache folders here."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest
from http_server import Silent, serving
from joblib.externals.loky import get_reusable_executor
from pyarrow import fs
from refusals import refuses

import harness
from harness.common import buckets
from harness.configure.compose import out_folder
from harness.errors import BadInputError
from harness.records import compaction, parts
from harness.workflow.experiment import Experiment
from harness.workflow.health import examine

SMALL = ["problem=[beta_overconfident]", "estimator=[binned15]", "n=[50,100]", "engine=serial"]


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Act as a host with its own cache and copies: host("a")."""

    def be(name):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        monkeypatch.setattr(buckets, "_copies", {})
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
def test_two_hosts_share_records_truths_and_runs(host, store, tmp_path):
    host("a")
    first = harness.run([*SMALL, "reps=3", f"out={store}"])
    assert in_store(store) and (first["status"] == "ok").all() and first["truth"].notna().any()
    host("b")
    experiment = Experiment.of([*SMALL, "reps=4", f"out={store}"])
    assert experiment.records.out.is_relative_to(tmp_path / "b") and experiment.records.out.is_dir()
    counts = experiment.compute(quiet=True)
    assert (counts["done"], counts["todo"]) == (6, 2)
    assert len(buckets.names(experiment.records.out, "runs")) == 2
    host("a")
    again = Experiment.of([*SMALL, "reps=4", f"out={store}"])
    assert again.compute(quiet=True)["todo"] == 0
    plain = harness.run([*SMALL, "reps=4", f"out={tmp_path / 'plain'}"])
    same(plain, again.records.read())
    same(plain, harness.load_records(store).merge(plain[["key"]].drop_duplicates()))


def test_nothing_of_a_bucket_is_kept_on_the_host(host, store):
    cache = host("a")
    harness.run([*SMALL, "reps=2", f"out={store}"])
    assert [path.name for path in cache.rglob("*") if path.is_file()] == [".store"]
    there = Path(store.removeprefix("file://"))
    assert {path.name for path in there.iterdir()} == {"records", "truths", "runs"}
    assert not list(there.rglob(".*"))


def test_what_cannot_be_sent_is_one_sentence_and_the_next_run_does_it(host, store, monkeypatch):
    host("a")
    experiment = Experiment.of([*SMALL, "reps=2", f"out={store}"])
    opened = buckets._file_system

    class Full:
        """A file system with room for one part."""

        type_name = "s3"

        def __getattr__(self, name):
            return getattr(opened(store)[0], name)

        def open_output_stream(self, path):
            if "/records/" in path and in_store(store):
                raise OSError(28, "No space left on device")
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            return opened(store)[0].open_output_stream(path)

    with monkeypatch.context() as patch:
        patch.setattr(buckets, "_file_system", lambda address: (Full(), opened(address)[1]))
        with pytest.raises(
            BadInputError,
            match="records/part-.* could not be written .*no space left.* run the same command",
        ) as refused:
            experiment.compute(quiet=True)
    assert "\n" not in str(refused.value) and len(in_store(store)) == 1
    assert experiment.compute(quiet=True)["todo"] == 3


def test_a_part_that_is_damaged_in_a_bucket_is_named_and_moved_aside(host, store):
    host("a")
    harness.run([*SMALL, "reps=2", f"out={store}"])
    part, *others = in_store(store)
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    host("b")
    experiment = Experiment.of([*SMALL, "reps=2", f"out={store}"])
    with pytest.raises(
        BadInputError, match=f"{store}/records/{part.name} is not a readable record part"
    ):
        experiment.compute(quiet=True)
    assert (
        f"moved    {store}/records/{part.name}" in examine(experiment.records.out, repair=True)[0]
    )
    assert in_store(store) == others and len(others) == 3
    assert experiment.compute(quiet=True)["todo"] == 1


def test_parts_that_one_host_joins_are_joined_for_the_other(host, store):
    host("a")
    frame = harness.run([*SMALL, "reps=2", f"out={store}"])
    host("b")
    there = buckets.resolve_bucket(store)
    assert len(in_store(store)) == len(parts.part_files(there)) == 4
    host("a")
    assert compaction.compact(buckets.resolve_bucket(store))[0] == 4
    assert len(in_store(store)) == 1
    host("b")
    assert [path.name for path in parts.part_files(there)] == [
        path.name for path in in_store(store)
    ]
    same(frame, harness.load_records(store))


@pytest.mark.parametrize("status", [403, pytest.param(503, marks=pytest.mark.slow), 200])
def test_a_server_that_answers_errors_is_one_sentence(host, status, monkeypatch, tmp_path):
    """The server refuses, is overloaded (it is asked again for six seconds), or answers
    nonsense.
    """

    class Answers(Silent):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"no XML" if self.command != "HEAD" else b"")

        do_PUT = do_HEAD = do_POST = do_DELETE = do_GET

    host("a")
    address = f"s3://errors{status}/mine"
    out = buckets.local_folder(address)
    with serving(Answers) as place:
        credentials(monkeypatch, place)
        for call in (
            lambda: parts.part_files(out),
            lambda: buckets.write_json(out, "runs/a.json", {}),
            lambda: Experiment.of([*SMALL, "reps=2", f"out={address}"]).compute(quiet=True),
        ):
            refuses(call, address)


@pytest.mark.parametrize(
    "address,said",
    [
        ("nosuch://bucket/folder", "that neither pyarrow nor fsspec can open"),
        ("s3://key:secret@bucket/folder", "out= contains a password"),
        ("s3://", "out is 's3://', which names no folder"),
        ("s3://a b", "out is 's3://a b', an address that neither pyarrow nor fsspec can open"),
    ],
)
def test_an_address_that_is_none_is_one_sentence(host, address, said):
    host("a")
    with pytest.raises(BadInputError, match=said) as refused:
        buckets.resolve_bucket(address)
    assert "secret" not in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("given", ["s3:/bucket/folder", "gs:bucket/folder"])
def test_an_address_with_too_few_slashes_makes_no_folder(given):
    with pytest.raises(BadInputError, match=f"out is {given!r}, an address without two slashes"):
        out_folder(given)


def credentials(monkeypatch, place):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{place}",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def bucket(monkeypatch, tmp_path):
    """Address of a bucket of moto's S3 server, if it is installed."""
    server = os.environ.get("CALHARNESS_MOTO_SERVER") or shutil.which("moto_server")
    if not server:
        pytest.skip(
            "moto_server is not on the path: "
            "pip install 'moto[server]', in an environment of its own"
        )
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    process = subprocess.Popen(
        [server, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # workers of an earlier test would not see these variables
    get_reusable_executor().shutdown()
    credentials(monkeypatch, f"127.0.0.1:{port}")
    end = time.monotonic() + 60
    with socket.socket() as s:
        while s.connect_ex(("127.0.0.1", port)):
            assert process.poll() is None and time.monotonic() < end, "no server"
            time.sleep(0.1)
    files = fs.FileSystem.from_uri("s3://records?allow_bucket_creation=true")[0]
    files.create_dir("records")
    yield "s3://records/of/mine"
    get_reusable_executor().shutdown()
    process.terminate()
    process.wait(10)


@pytest.mark.slow
def test_records_in_a_bucket(host, bucket, tmp_path):
    """Two workers write records that another host reads. They equal those of a folder."""
    host("a")
    counts = Experiment.of(
        [*SMALL[:-1], "reps=20", "engine=loky", "jobs=2", f"out={bucket}"]
    ).compute(quiet=True)
    assert counts["todo"] == 40 and counts["failed"] == 0
    host("b")
    there = Experiment.of([*SMALL, "reps=20", f"out={bucket}"])
    assert there.compute(quiet=True)["todo"] == 0
    same(harness.run([*SMALL, "reps=20", f"out={tmp_path / 'plain'}"]), there.records.read())
    with pytest.raises(BadInputError, match="s3://absent/x"):
        buckets.resolve_bucket("s3://absent/x")
