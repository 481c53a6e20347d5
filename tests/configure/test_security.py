"""Code that may run, and files from elsewhere (docs/security.md)."""

import hashlib
import io
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from faults import reading
from http_server import Silent, serving
from omegaconf import OmegaConf

import harness
from harness.configure import options, sweeps, trust
from harness.configure.compose import compose
from harness.errors import BadInputError
from harness.plan.components import build_component
from harness.sources import files, packs

RUN = ("problem=beta_wavy", "n=30", "reps=1", "jobs=1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A foreign configuration folder: the class of estimator/evil.yaml would write a file."""
    (tmp_path / "conf" / "estimator").mkdir(parents=True)
    (tmp_path / "conf" / "estimator" / "evil.yaml").write_text(
        "evil: {_target_: evil_module.Evil}\n"
    )
    (tmp_path / "evil_module.py").write_text(
        f"open({str(tmp_path / 'RAN')!r}, 'w')\ndef Evil(p, y):\n    return 0.5\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["calharness"])  # Hydra's entry sets it
    yield tmp_path
    sys.modules.pop("evil_module", None)


def test_code_named_by_a_file_is_refused_unless_the_command_line_names_it(folder):
    given = [f"hydra.searchpath=['file://{folder / 'conf'}']", "estimator=[evil]", *RUN]
    with pytest.raises(
        BadInputError,
        match=r"estimator.evil._target_ in .* names 'evil_module.Evil'.*trust=\[evil_module\]",
    ):
        compose(given)
    assert (
        compose([*given, "trust=[evil_module]"]).trust == ["evil_module"]
        and not (folder / "RAN").exists()
    )


@pytest.mark.slow
def test_code_named_by_a_file_runs_only_if_the_command_line_names_it(folder, cli):
    """Three ways to a run: the library, Hydra, and a multirun."""
    for given in (
        (f"hydra.searchpath=['file://{folder / 'conf'}']",),
        (f"--config-dir={folder / 'conf'}",),
        ("-m", "seed=0,1"),
    ):
        given = (
            *given,
            *([f"hydra.searchpath=['file://{folder / 'conf'}']"] if given[0] == "-m" else []),
            "estimator=[evil]",
            *RUN,
        )
        (folder / "RAN").unlink(missing_ok=True)
        sys.modules.pop("evil_module", None)
        code, _, err = cli(*given, "trust=[another]")
        assert (
            code == 2
            and len(err.strip().splitlines()) == 1
            and "evil_module.Evil" in err
            and not (folder / "RAN").exists()
        )
        code, _, err = cli(*given, "trust=[evil_module]", "refresh=true")
        assert code == 0 and (folder / "RAN").exists(), err


def test_a_wrong_class_in_a_folder_is_one_sentence_with_flags_of_hydra(folder, cli):
    """Hydra prints a line of its own on an error of a job."""
    path = folder / "conf" / "estimator" / "wrong.yaml"
    path.write_text("wrong: {_target_: harness.estimators.Nothing}\n")
    code, _, err = cli("--run", f"--config-dir={folder / 'conf'}", "estimator=[wrong]", *RUN)
    assert code == 2 and len(err.splitlines()) == 1 and "has no 'Nothing'" in err


# Nodes of a configuration file that would run code, or steer what runs
CONFIGURATIONS = """
{estimator: {a: {_target_: os.system}}}
{estimator: {a: {_target_: harness.estimators.Binned, x: [{_target_: builtins.exec}]}}}
{problem: {a: {_target_: harness.execute.processes.Child, serves: "evil_module:f"}}}
{records_from: [{file: a.csv, reader: evil_module.read}]}
{trust: [os]}
{trust: os}
"""
# The last ones: Python's own logging classes, of which some evaluate texts; other nodes of the
# configuration, where anything may stand; and variables of the environment
OF_HYDRA = """
callbacks: {x: {_target_: subprocess.Popen}}
callbacks: {x: {_target_: hydra.utils.get_object, path: evil_module.f}}
callbacks: {x: {_target_: harness.execute.processes.Child, serves: "evil_module:f"}}
launcher: {_target_: hydra_plugins.hydra_joblib_launcher._core.subprocess.Popen}
sweeper: {custom_search_space: evil_module.f}
job: {env_set: {LD_PRELOAD: evil.so}}
job_logging: {handlers: {x: {class: subprocess.Popen}}}
job_logging: {handlers: {x: {(): os.system}}}
hydra_logging: {handlers: {x: {stream: "ext://evil_module.f"}}}
job_logging: {handlers: {x: {(): logging.os.system, command: id}}}
job_logging: {handlers: {x: {(): logging.config.fileConfig, fname: evil.ini}}}
job_logging: {handlers: {x: {class: logging.handlers.QueueHandler, listener: evil_module.f}}}
job_logging: {handlers: "${reasons}"}
job_logging: {handlers: {x: {stream: "${oc.env:NOTHING,'ext://evil_module.f'}"}}}
"""
HARMLESS = """
launcher:
  _target_: hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher
  queue: long
sweeper:
  _target_: hydra._internal.core_plugins.basic_sweeper.BasicSweeper
  dir: ${hydra.job.name}/${now:%Y}
job_logging: {handlers: {x: {class: logging.StreamHandler, stream: "ext://sys.stdout"}}}
run: {dir: "a/${seed}"}
"""


@pytest.mark.parametrize("text", CONFIGURATIONS.strip().splitlines())
def test_no_corner_of_a_configuration_names_code(text):
    with pytest.raises(BadInputError, match="configuration file|give a list of modules"):
        trust.add_trusted(
            yaml.safe_load(text), ["n=500", "+estimator.mine._target_=my_module.Mine"]
        )


@pytest.mark.parametrize("text", OF_HYDRA.strip().splitlines())
def test_neither_does_hydra_s_own_node(text):
    with pytest.raises(BadInputError, match="in a configuration file"):
        trust.check_hydra(OmegaConf.create(text), ["n=500"])


def test_a_harmless_node_of_hydra_is_allowed():
    trust.check_hydra(OmegaConf.create(HARMLESS), ["hydra.run.dir=a/${seed}"])


@pytest.mark.parametrize("calibrator", [{"_target_": ["os.system"]}, [{"_target_": "os.system"}]])
def test_neither_does_a_sweep(calibrator):
    settings = compose(["estimator=[variational_isotonic]", *RUN])
    swept = {"estimator": {"variational_isotonic": {"calibrator": calibrator}}}
    with pytest.raises(BadInputError, match="_target_ in a configuration file names 'os.system'"):
        sweeps.points(replace(settings, sweep=swept))


def test_neither_do_choices_of_hydra_s_own(folder, cli):
    (folder / "conf" / "hydra" / "job_logging").mkdir(parents=True)
    (folder / "conf" / "hydra" / "job_logging" / "mine.yaml").write_text(
        "version: 1\nhandlers: {x: {'()': evil_module.Evil}}\nroot: {handlers: [x]}\n"
    )
    code, _, err = cli(f"--config-dir={folder / 'conf'}", "hydra/job_logging=mine", *RUN)
    assert (
        code == 2
        and "in a configuration file names 'evil_module.Evil'" in err
        and not (folder / "RAN").exists()
    )


def test_every_option_of_ours_is_trusted():
    """conf/ names only our problems, estimators, calibrators and their parts."""
    for group in ("problem", "estimator"):
        for name in options.ids(group):
            for place, path in trust.targets(options.option(group, name).config, name):
                assert trust.is_allowed(path), (place, path)


@pytest.mark.slow
def test_a_file_in_the_working_folder_takes_no_module_s_place(tmp_path):
    """numpy.py or pickle.py in the working folder are not imported, neither here nor in workers."""
    for name in ("numpy", "pandas", "pickle", "yaml", "random"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'RAN')!r}, 'w')\n")
    main = Path(sys.executable).parent / "calharness"
    run = [
        main,
        "problem=beta_wavy",
        "estimator=[binned15]",
        "n=30",
        "reps=4",
        "jobs=2",
        "out=results",
    ]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "RAN").exists()


INTRUSIVE = """
import numpy as np

def changes_numpy(p, y):
    np.abs = lambda x, *rest, **names: 0 * x + 7.0
    return 0.25
def opens(p, y):
    for array in (p, y):
        while array is not None and not isinstance(array, bytes):
            try:
                array.setflags(write=True)
            except ValueError:
                array = array.base
            else:
                return 1.0
    return 0.0
"""


def test_an_estimator_changes_neither_numpy_nor_the_sample_for_others(tmp_path, module):
    module("intrusive_here", INTRUSIVE)
    estimators = [
        f"+estimator.{name}._target_=intrusive_here.{name}" for name in ("changes_numpy", "opens")
    ]
    asked = [
        "problem=beta_overconfident",
        "notion=all",
        "estimator=[binned15]",
        "n=50",
        "reps=3",
        "engine=serial",
    ]
    alone = harness.run([*asked, f"out={tmp_path / 'alone'}"])
    beside = harness.run([*asked, *estimators, f"out={tmp_path / 'beside'}"]).set_index(
        ["key", "estimand"]
    )
    known = alone[alone["status"].eq("ok")].set_index(["key", "estimand"])["value"]
    assert len(known) > 6 and (beside.loc[known.index, "value"] == known).all()
    opened = beside.loc[beside["estimator"].eq("opens") & beside["status"].eq("ok"), "value"]
    assert len(opened) == 6 and (opened == 0).all()


LOUD = """
import sys, warnings

def steers(p, y):
    print("\\x1b[2J\\x07 out", flush=True)
    print("\\x1b]0;title\\x07 \\u202e err\\r", file=sys.stderr)
    warnings.warn("\\udc80 \\x1b[2J warning")
    return 0.5
def fills(p, y):
    print("x" * 50_000)
    return 0.5
"""


def test_what_an_estimator_prints_is_escaped_and_cut(out, module, capsys):
    module("loud_here", LOUD)
    estimators = [f"+estimator.{name}._target_=loud_here.{name}" for name in ("steers", "fills")]
    frame = harness.run(
        ["problem=beta_wavy", "estimator=[]", *estimators, "n=30", "reps=1", "engine=serial"]
    )
    assert set(frame["status"]) == {"ok"}
    text = "".join(capsys.readouterr())
    for shown in (r"\x1b[2J\x07 out", r"\x1b]0;title\x07 \u202e err\r", r"\udc80 \x1b[2J warning"):
        assert shown in text
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(text)
    assert text.count("x" * 100) == 100 and "[output beyond 10,000 characters is not shown]" in text


def test_a_message_does_not_steer_the_terminal(out, module, cli):
    """Messages of estimators, names on the command line and paths are escaped."""
    module("loud_there", "def steers(p, y):\n    raise ValueError('\\x1b[2J\\r\\x07')\n")
    code, text, err = cli(
        "problem=beta_wavy",
        "estimator=[]",
        "+estimator.a._target_=loud_there.steers",
        "n=30",
        "reps=1",
        "jobs=1",
    )
    assert code == 1 and r"\x1b[2J\r\x07" in err and not {"\x1b", "\x07", "\r"} & set(text + err)
    for asked in (
        ["list", "\x1b[2J\udc80"],
        ["status", "out=\x1b[2J"],
        ["problem=\x1b[2J"],
        ["info", "a\u202eb"],
    ):
        code, text, err = cli(*asked)
        assert code == 2 and not {"\x1b", "\udc80", "\u202e"} & set(text + err)
    with pytest.raises(BadInputError, match=r"the estimator id .a.{1,2}udc80"):
        build_component("estimator", "a\udc80", {"_target_": "harness.estimators.Binned"})


def test_an_archive_writes_nothing_whatever_its_members_are_called(tmp_path):
    """Members with paths, links and objects are read by name or refused."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    link = zipfile.ZipInfo("link.npy")
    link.external_attr = 0o120777 << 16
    np.save(buffer := io.BytesIO(), np.array([0.5, 0.25]))
    np.save(objects := io.BytesIO(), np.array([{}], dtype=object), allow_pickle=True)
    for members in (
        {"../../p.npy": buffer, "../../../etc/y.npy": buffer},
        {"/tmp/p.npy": buffer},
        {link: io.BytesIO(b"/etc")},
        {"p.npy": objects},
    ):
        with zipfile.ZipFile(inner / "preds.npz", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content.getvalue())
        with pytest.raises(BadInputError):
            files.read(inner / "preds.npz")
        assert [path.name for path in tmp_path.rglob("*")] == ["a", "b", "preds.npz"]


CONTENT = bytes(range(256)) * 40


class Liar(Silent):
    """A server whose behaviour is chosen by the path."""

    def do_GET(self):
        how = self.path.strip("/")
        if how in ("file", "loop", "nowhere"):
            self.send_response(302)
            self.send_header(
                "Location",
                {"file": "file:///etc/passwd", "loop": "/loop", "nowhere": "http://\x00/"}[how],
            )
            self.end_headers()
            return
        if how == "steers":
            self.send_response(404, "\x1b[2J\x07\x9b31m gone")
            self.end_headers()
            return
        if how == "garbage":
            self.wfile.write(b"\x00\xff not http at all\r\n\r\n")
            return
        self.send_response(206 if how == "ranged" else 200)
        length = {
            "short": 100,
            "long": 10 * len(CONTENT),
            "negative": -5,
            "word": "many",
            "huge": 10**14,
            "beyond": 10**30,
        }.get(how, len(CONTENT))
        if how not in ("endless", "stops"):
            self.send_header("Content-Length", str(length))
        self.end_headers()
        body = {
            "dies": CONTENT[:5000],
            "stops": CONTENT[:4000],
            "other": CONTENT[::-1],
            "endless": CONTENT * 100,
        }.get(how, CONTENT)
        self.wfile.write(body)


@pytest.fixture(scope="module")
def address():
    with serving(Liar) as place:
        yield f"http://{place}"


LIES = {
    "file": "file:.* is not allowed", "loop": "infinite loop|HTTP Error 302",
    "nowhere": "cannot be understood|no host|HTTP Error",
    "garbage": "cannot be understood", "steers": r"HTTP Error 404: \\x1b\[2J\\x07\\x9b31m gone",
    "short": "sha256 is", "long": "ended after 10,240 of 102,400",
    "dies": "ended after 5,000 of", "stops": "ended after 4,000 of 10,240",
    "other": "sha256 is", "endless": "sends more than the expected", "huge": "ended after",
}  # fmt: skip


@pytest.mark.parametrize("how", LIES)
def test_what_a_server_cannot_be_believed_in_is_no_file(address, tmp_path, how):
    wanted = packs.Pack(
        "one",
        "folder/one.bin",
        hashlib.sha256(CONTENT).hexdigest(),
        len(CONTENT),
        "MIT",
        "nobody",
        (f"{address}/{how}",),
    )
    with pytest.raises(BadInputError, match=LIES[how]) as refused:
        packs.fetch(wanted, tmp_path)
    assert "\n" not in str(refused.value) and "Errno" not in str(refused.value)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = ["one.bin.part"] if how in ("long", "dies", "stops", "huge") else []  # to go on from
    assert [path.name for path in left] == kept and all(
        CONTENT.startswith(path.read_bytes()) for path in left
    )


class Store(Silent):
    """A bucket whose listing is refused with terminal escapes in the message."""

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_GET(self):
        self.send_response(400)
        self.end_headers()
        self.wfile.write(b"<Error><Code>Odd</Code><Message>\x1b[2J gone</Message></Error>")


@pytest.mark.slow
def test_what_a_store_answers_is_escaped(tmp_path, monkeypatch, cli):
    for name, value in (
        ("ACCESS_KEY_ID", "a"),
        ("SECRET_ACCESS_KEY", "b"),
        ("EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with serving(Store) as place:
        out = f"out='s3://bucket/folder?endpoint_override={place}&scheme=http&region=x'"
        code, text, err = cli("plan", "problem=beta_wavy", "estimator=[binned15]", "n=20", out)
    assert code == 2 and r"\x1b[2J gone" in err and "\x1b" not in text + err


def test_a_length_that_is_none_is_not_looked_at(address, tmp_path):
    for how in ("word", "negative", "beyond"):
        wanted = packs.Pack(
            "one",
            f"{how}.bin",
            hashlib.sha256(CONTENT).hexdigest(),
            len(CONTENT),
            "MIT",
            "x",
            (f"{address}/{how}",),
        )
        try:
            assert packs.fetch(wanted, tmp_path).read_bytes() == CONTENT
        except BadInputError as error:
            assert "could not be fetched" in str(error) and not (tmp_path / f"{how}.bin").exists()


@pytest.mark.slow
def test_mutated_files_are_read_or_refused(tmp_path):
    """This test reads 2,500 files. `python -m faults.reading 100000` reads more."""
    counts, findings = reading.search(2500, tmp_path)
    assert not findings, findings[0]
    assert (
        sum(counts.values()) == 2500
        and sum(n for (_, came), n in counts.items() if came == "read") > 100
    )
    assert {kind for kind, _ in counts} >= {*reading.KINDS}


@pytest.mark.slow
def test_a_parquet_file_with_damaged_statistics_does_not_end_the_process(tmp_path):
    """pyarrow ends the process when the metadata of such a file are read."""
    path = tmp_path / "preds.parquet"
    path.write_bytes(reading.VALID[".parquet"][-1])
    done = subprocess.run([sys.executable, "-c", STATISTICS, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


STATISTICS = """
import sys
from pathlib import Path
from harness.errors import BadInputError
from harness.sources import files
path = Path(sys.argv[1])
whole = path.read_bytes()
for at in range(540, 640):  # among them the statistics of how many values a list has
    path.write_bytes(whole[:at] + bytes(1) + whole[at + 1 :])
    try:
        files.read(path)
    except BadInputError:
        pass
"""
