"""A second run with nothing to do says so from what the first kept, and only while all of that is as it was."""

import os
import re
import subprocess
import sys

import pytest

from harness.common import paths
from harness.runs import records, unchanged

RUN = ("experiment=smoke", "problem=beta_wavy", "estimator=binned15", "n=[50,60]", "reps=2", "jobs=1")


def times_apart(text):
    return re.sub(r"\d+\.\d s", "TIME", text)


@pytest.fixture
def short(monkeypatch):
    """Whether the last run said what was kept: short() -> True or False, and forgets it."""
    found = []
    said = unchanged.Asked.said

    def noted(self):
        lines = said(self)
        found.append(lines is not None)
        return lines

    monkeypatch.setattr(unchanged.Asked, "said", noted)
    return lambda: bool(found and found.pop())


@pytest.fixture
def once(cli, short):
    """A run that computed and drew."""
    code, text, _ = cli(*RUN)
    assert code == 0 and "4 computed" in text and not short()
    return text


def test_a_second_run_says_the_same_as_the_long_way(cli, out, once, short):
    _, quick, _ = cli(*RUN)
    assert short() and "4 done before, 0 computed" in quick and "up to date" in quick and "beta_wavy" in quick
    for kept in (out / "runs" / "unchanged").iterdir():
        kept.unlink()
    _, slow, _ = cli(*RUN)
    assert not short() and times_apart(quick) == times_apart(slow)
    assert times_apart(cli(*RUN)[1]) == times_apart(slow) and short()  # kept by a run that found all done, too


def test_nothing_heavy_is_imported_for_it(out, once):
    code = (
        "import sys; from harness.commands.run import main; assert main(sys.argv[1:]) == 0; "
        "print([name for name in ('numpy', 'pandas', 'pyarrow', 'scipy', 'hydra', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *RUN], capture_output=True, text=True)
    assert done.returncode == 0 and "up to date" in done.stdout and done.stdout.endswith("[]\n"), done.stdout + done.stderr


def test_other_settings_are_another_run(cli, once, short):
    assert "up to date" in cli(*RUN)[1] and short()
    assert "computed" in cli(*RUN[:-2], "reps=3", "jobs=1")[1] and not short()
    assert "up to date" not in cli(*RUN, "title=Other")[1] and not short()


@pytest.mark.parametrize("damage", ["flipped", "gone", "added", "renamed"])
def test_other_records_are_noticed(cli, out, once, short, damage):
    part = records.part_files(out)[0]
    content = part.read_bytes()
    if damage == "flipped":
        state = part.stat()
        part.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
        os.utime(part, ns=(state.st_atime_ns, state.st_mtime_ns))
        records._sound.clear()  # of a process of its own
    elif damage == "gone":
        part.unlink()
    elif damage == "added":
        part.with_name(f"part-{'0' * 16}{part.name[21:]}").write_bytes(content)
    else:
        part.rename(part.with_name(f"part-{'0' * 33}.parquet"))
    code, text, _ = cli(*RUN)
    assert not short()
    assert {"flipped": code == 2, "gone": " 0 computed" not in text, "added": code == 0, "renamed": code == 0}[damage], text


@pytest.mark.parametrize("end", [".html", ".png", ".pdf", ".svg", ".csv", ".tex", ".parquet"])
@pytest.mark.parametrize("edited", [True, False])
def test_an_edited_or_deleted_result_is_drawn_again(cli, result, once, short, end, edited):
    path = result(end)
    content, state = path.read_bytes(), path.stat()
    if edited:
        path.write_bytes(content[:-1] + b"?")
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    else:
        path.unlink()
    code, text, _ = cli(*RUN)
    assert code == 0 and not short() and "0 computed" in text and "up to date" not in text and path.is_file()
    if end not in (".html", ".parquet"):
        assert path.read_bytes() == content
    assert "up to date" in cli(*RUN)[1] and short()


def test_changed_truths_are_noticed(cli, out, once, short):
    (truths,) = (out / "truths").iterdir()
    truths.write_text(truths.read_text().replace("0.", "1.", 1))
    code, _, err = cli(*RUN)
    assert not short() and code == 2 and "was changed after it was written" in err
    truths.unlink()
    assert cli(*RUN)[0] == 0 and not short() and truths.is_file()
    assert cli(*RUN)[0] == 0 and short()


def test_changed_code_configuration_packages_and_surroundings_are_noticed(cli, once, short, tmp_path, monkeypatch):
    assert cli(*RUN)[0] == 0 and short()
    code = tmp_path / "code"
    (code / "inner").mkdir(parents=True)
    for name in ("PACKAGE", "CONF"):
        monkeypatch.setattr(unchanged, name, code)
    before = unchanged.asked([*RUN]).made_of
    (code / "inner" / "new.yaml").write_text("n: 5")
    changed = unchanged.asked([*RUN]).made_of
    (code / "inner" / "new.yaml").write_text("n: 6")
    again = unchanged.asked([*RUN]).made_of
    assert len({before, changed, again}) == 3
    assert cli(*RUN)[0] == 0 and not short()
    monkeypatch.setattr(unchanged, "PACKAGE", paths.PACKAGE)
    monkeypatch.setattr(unchanged, "CONF", paths.CONF)
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    assert cli(*RUN)[0] == 0 and not short()
    monkeypatch.delenv("CALHARNESS_DATA")
    monkeypatch.chdir(tmp_path)
    assert cli(*RUN)[0] == 0 and not short()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"digest": "0"}', b"\xff", b"[" * 10000])
def test_what_was_kept_and_is_damaged_is_not_believed(cli, out, once, short, content):
    (kept,) = (out / "runs" / "unchanged").iterdir()
    kept.write_bytes(content)
    assert "up to date" in cli(*RUN)[1] and not short()
    assert "up to date" in cli(*RUN)[1] and short()
    kept.write_text(kept.read_text().replace("0 computed", "7 computed"))
    assert "7 computed" not in cli(*RUN)[1] and not short()


@pytest.mark.parametrize(
    "other",
    [
        ["refresh=true"], ["shards=2", "shard=0"], ["experiment=smoke", "n=50"],  # which skips cells
        ["+estimator.mine._target_=mine.Mine"], ["problem=predictions", "problem.predictions.path=mine.csv", "n=null", "reps=1"],
    ],
)  # fmt: skip
def test_what_rests_on_more_is_never_kept(cli, out, short, module, tmp_path, other, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module("mine", "class Mine:\n    notions = ('binary',)\n    def __call__(self, p, y, notion):\n        return {'l1': 0.1}\n")
    (tmp_path / "mine.csv").write_text("p,y\n" + "0.3,0\n0.6,1\n" * 60)
    names = {text.partition("=")[0] for text in other}
    command = [*(text for text in RUN if text.partition("=")[0] not in names and "experiment" not in text), *other, "name=own"]
    if "experiment=smoke" in other:
        command = ["experiment=smoke", "n=50", "reps=1", "jobs=1"]
    for _ in range(2):
        code, text, err = cli(*command)
        assert code == 0 and not short(), text + err
    assert not list((out / "runs").glob("unchanged/*"))


def test_a_failing_run_is_never_kept(cli, out, short):
    command = ("problem=beta_wavy", "estimator=[]", "+estimator.bad._target_=undeclared.bad", "n=20", "reps=1", "jobs=1")
    assert cli(*command)[0] and not (out / "runs" / "unchanged").exists()


def test_records_that_come_while_it_draws_are_not_in_what_is_kept(out, once):
    asked = unchanged.asked([*RUN, "seed=0"])
    asked.keep(["part-another"], [], ["nothing to do"])
    assert asked.said() is None and not asked.path.exists()


def test_what_may_mean_another_thing_another_time_is_not_asked(monkeypatch):
    assert unchanged.asked(["experiment=smoke", "out=/tmp/there"]) is not None
    for text in ("n=${oc.env:N}", "~compare", "+n=5", "out='/tmp/a b'", "out=~/a", "out=s3://bucket/folder"):
        assert unchanged.asked(["experiment=smoke", text]) is None
    monkeypatch.setenv("CALHARNESS_OUT", "s3://bucket/folder")
    assert unchanged.asked(["experiment=smoke"]) is None
