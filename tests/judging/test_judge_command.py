"""`calharness judge`: options, exit status, what it writes and what it does not overwrite. Most tests give it a judgement made by
hand; the whole way from a file is gone once."""

import json
import sys

import judged
import pytest

from harness.commands import judge as command
from harness.judging import saved
from harness.judging.words import QUESTIONS


@pytest.fixture
def preds(tmp_path):
    """A file of 60 rows of three classes."""
    return _file(tmp_path / "preds.csv")


def _file(path, n=60, k=3):
    data = judged.data(k, n)
    rows = (
        ",".join(f"{v:.17g}" for v in p) + f",{y},{'ab'[i % 2]}"
        for i, (p, y) in enumerate(zip(data.p, data.y))
    )
    path.write_text("\n".join([",".join(f"p_{j}" for j in range(k)) + ",y,site", *rows]) + "\n")
    return str(path)


@pytest.fixture
def answers(monkeypatch):
    """In place of the answers a judgement made by hand; what was asked for is kept in `answers`."""
    from harness.judging import judge

    asked = {}

    def judge_data(datas, *, level, seed, on_answer):
        found = asked.get("found") or judged.judgement(3, 60, drawn=0)
        asked.update(datas=datas, level=level, seed=seed)
        for question in QUESTIONS:
            on_answer(
                question, getattr(found, question) or found.unanswered.get(question), datas[0]
            )
        return found

    monkeypatch.setattr(judge, "judge_data", judge_data)
    return asked


@pytest.mark.slow
def test_from_a_file_to_a_page(cli, tmp_path):
    """The whole way: text in order and within its lines, JSON that is read, a map that is loaded if there is one."""
    path, page, values = (
        _file(tmp_path / "preds.csv", 200, 2),
        tmp_path / "r.html",
        tmp_path / "r.json",
    )
    code, text, err = cli(
        "judge", path, "--html", str(page), "--json", str(values), "--group", "site"
    )
    assert code == 0 and not err
    assert len(text.splitlines()) <= 27 and text.startswith("preds.csv: 200 rows")
    assert [text.index(f"{i}. ") for i in (1, 2, 3, 4)] == sorted(
        text.index(f"{i}. ") for i in (1, 2, 3, 4)
    )
    held = json.loads(values.read_text())
    assert (
        held["data"]["n"] == 200
        and held["data"]["groups"] == ["site"]
        and held["calibrated"]["sentence"] in page.read_text()
    )
    assert str(tmp_path) not in page.read_text() + values.read_text()


def test_text_alone_by_default(cli, preds, answers, tmp_path):
    code, text, err = cli("judge", preds)
    assert (
        code == 0
        and not err
        and "--html report.html" in text.splitlines()[-1]
        and len(text.splitlines()) <= 25
    )
    assert list(tmp_path.iterdir()) == [tmp_path / "preds.csv"] and "\x1b" not in text


@pytest.mark.slow
def test_names_of_classes_in_an_npz_are_what_classes_are_called(cli, tmp_path):
    """Also where labels are numbers: in text, JSON and page, in which a name is never markup."""
    import numpy as np

    data, names = judged.data(3, 60), ["cat", "<b>dog</b>", "fox & hen"]
    np.savez(tmp_path / "named.npz", p=data.p, y=data.y, class_names=names)
    page, values = tmp_path / "r.html", tmp_path / "r.json"
    code, text, err = cli(
        "judge", str(tmp_path / "named.npz"), "--html", str(page), "--json", str(values)
    )
    assert code == 0 and not err and "<b>dog</b>" in text.splitlines()[0]
    held = json.loads(values.read_text())
    assert held["data"]["classes"] == names and "class.fox & hen.l1.value" in held["numbers"]
    assert "<b>dog" not in page.read_text() and "&lt;b&gt;dog&lt;/b&gt;" in page.read_text()


def test_confidences_are_judged_once_it_is_said(cli, answers, tmp_path):
    """The sentence names the argument that the second call has."""
    path = tmp_path / "top.csv"
    path.write_text("confidence,pred_label,true_label\n" + "0.9,cat,cat\n0.6,dog,cat\n" * 30)
    code, text, err = cli("judge", str(path))
    assert code == 2 and "add top_label=true " in err and len(err.splitlines()) == 1
    assert cli("judge", str(path), "top_label=true")[0] == 0 and answers["datas"][0].confidences


def test_lines_come_as_answers_do(preds, answers, monkeypatch):
    """The head before the first answer, and every answer before the next question is asked."""
    seen = []
    monkeypatch.setattr(command._Printer, "_print", lambda self, lines: seen.append(list(lines)))
    answers["found"] = judged.judgement(3, 60, drawn=0)
    command.command([preds])
    assert seen[0][0].startswith("preds.csv") and [lines[0][:2] for lines in seen[1:5]] == [
        "1.",
        "2.",
        "3.",
        "4.",
    ]


def test_options_reach_the_judgement(cli, preds, answers):
    assert (
        cli(
            "judge",
            preds,
            "--level",
            "0.9",
            "--seed=7",
            "--group",
            "site",
            "labels=y",
            "probabilities=[p_0,p_1,p_2]",
        )[0]
        == 0
    )
    assert (
        answers["level"] == 0.9
        and answers["seed"] == 7
        and set(answers["datas"][0].groups) == {"site"}
    )


def test_json_in_place_of_the_text(cli, preds, answers):
    code, text, _ = cli("judge", preds, "--json")
    assert code == 0 and json.loads(text)["schema"] == "calharness.judge"
    assert (
        cli("judge", "--json", preds)[1] == text
    )  # the file of predictions is not taken for the one to be written


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        (["top_label.l1.high=0.06"], 0, ""),
        (
            ["top_label.l1.high=0.05"],
            1,
            "exceeded: top_label.l1.high is 0.0588 (95 % level), above the limit of 0.05.",
        ),
        (
            ["top_label.l1.high=0.05", "brier.value=0.3"],
            1,
            "exceeded: brier.value is 0.31, above the limit of 0.3.",
        ),
        (["top_label.l1.height=0.05"], 2, "did you mean 'top_label.l1.high'"),
        (["canonical.p_value=0.05"], 2, "has no value here: the test needs at least 50 rows."),
    ],
)
def test_thresholds_and_exit_status(cli, preds, answers, limits, code, said):
    found, text, err = cli("judge", preds, "--fail-above", *limits)
    assert (
        found == code and said in err and err.count("exceeded") == (len(limits) if code == 1 else 0)
    )
    assert cli("judge", "--fail-above", *limits, preds)[0] == code  # a file behind them is a file


def test_a_threshold_that_cannot_be_is_told_before_anything_is_computed(cli, preds, answers):
    code, text, err = cli("judge", preds, "--fail-above", "toplabel.l1.high=0.05")
    assert code == 2 and not text and "names begin with" in err and "datas" not in answers


def test_second_file(cli, preds, answers, tmp_path):
    answers["found"] = judged.compared(3, 60, drawn=0)
    code, text, _ = cli("judge", preds, _file(tmp_path / "other.csv"))
    assert (
        code == 0
        and "5. Which model is better?" in text
        and [data.name for data in answers["datas"]] == ["preds", "other"]
    )
    assert (
        cli(
            "judge",
            preds,
            str(tmp_path / "other.csv"),
            "--fail-above",
            "difference.accuracy_error.low=0",
        )[0]
        == 1
    )


def test_other_rows_are_refused_with_the_first_difference(cli, preds, tmp_path):
    other = tmp_path / "other.csv"
    lines = (tmp_path / "preds.csv").read_text().splitlines()
    label = lines[5].split(",")[3]
    lines[5] = lines[5].replace(f",{label},", f",{(int(label) + 1) % 3},")
    other.write_text("\n".join(lines))
    code, _, err = cli("judge", preds, str(other))
    assert code == 2 and "first in row 4" in err and err.strip().count("\n") == 0
    other.write_text("\n".join(lines[:-1]))
    code, _, err = cli("judge", preds, str(other))
    assert code == 2 and "60 and 59 rows" in err


@pytest.mark.parametrize("option", ["--html", "--json", "--save-calibrator"])
def test_nobody_elses_file_is_overwritten(cli, preds, answers, tmp_path, option):
    theirs = tmp_path / "theirs.json"
    theirs.write_text("{}")
    code, text, err = cli("judge", preds, option, str(theirs))
    assert code == 2 and "not overwritten" in err and theirs.read_text() == "{}" and not text
    assert cli("judge", preds, option, str(tmp_path))[0] == 2
    assert cli("judge", preds, "--html", preds)[0] == 2
    code, text, err = cli("judge", preds, option, f"{preds}/r.json")
    assert code == 2 and "is no folder" in err and not text


def test_own_files_are_written_anew(cli, preds, answers, tmp_path):
    fitted = saved.FittedMap("temperature", 3, ("0", "1", "2"), 60, {"beta": judged.np.array(0.5)})
    found = judged.replace(judged.nothing(), gains=judged.replace(judged.gains(), fitted=fitted))
    answers["found"] = found
    out = [str(tmp_path / name) for name in ("r.html", "r.json", "map.json")]
    options = ["--html", out[0], "--json", out[1], "--save-calibrator", out[2]]
    for _ in range(2):
        code, text, _ = cli("judge", preds, *options)
        assert code == 0 and all(path in text for path in out)
    assert saved.load(out[2]).method == "temperature" and not list(tmp_path.glob(".*"))
    code, _, err = cli("judge", preds, "--html", out[0], f"--json={out[0]}")
    assert code == 2 and "two outputs" in err


def test_no_map_to_save(cli, preds, answers, tmp_path):
    code, _, err = cli("judge", preds, "--save-calibrator", str(tmp_path / "map.json"))
    assert code == 1 and "no map is saved" in err and not (tmp_path / "map.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "takes a file of predictions"),
        (["--htlm", "r.html"], "--htlm"),
        (["lables=y"], "did you mean 'labels'"),
        (["--html"], "'--html' requires an argument"),
        (["--fail-above"], "'--fail-above' requires an argument"),
        (["--level", "high"], "'--level'"),
        (["x.csv", "--level", "95"], "--level is 95.0"),
        (["--seed", "1.5"], "'--seed'"),
        (["--seed", "-1"], "'--seed'"),
        (["labels=[a"], "cannot be read"),
    ],
)
def test_bad_command_lines(cli, arguments, said):
    code, text, err = cli("judge", *arguments)
    assert code == 2 and said in err and len(err.splitlines()) == 1 and not text


def test_bad_files_are_one_sentence(cli, preds, tmp_path):
    for arguments in (
        ["absent.csv"],
        [preds, "--level", "1.5"],
        [preds, "--group", "nothing"],
        [preds, "labels=nothing"],
    ):
        code, _, err = cli("judge", *arguments)
        assert code == 2 and err.strip().count("\n") == 0 and "Traceback" not in err


def test_interrupted(cli, preds, answers, monkeypatch):
    from harness.judging import judge

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "judge_data", stop)
    assert cli("judge", preds)[0] == 130


def test_names_of_files_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed=1.csv").write_text("p,y\n0.5,1\n")
    assert command.files_and_reader(["seed=1.csv", "positive=1"]) == (
        ("seed=1.csv",),
        {"positive": 1},
    )


def test_help_names_every_setting_of_the_reader(cli):
    text = cli("judge", "--help")[1]
    assert all(f"{name}=" in text for name in command.READER)


def test_nothing_heavy_is_imported_for_a_bad_option():
    import subprocess

    code = "import sys; from harness.commands.app import main; main(['judge', 'x.csv', '--leve']); "
    code += "print('pandas' in sys.modules, 'matplotlib' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False False\n"
    )
