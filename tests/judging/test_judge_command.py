"""`calharness judge`: options, exit status, the files that it writes and those that it refuses.

Most tests give it a judgement made by hand. Two go the whole way from a file.
"""

import json
import subprocess
import sys

import judged
import numpy as np
import pytest

from harness.commands import judge as command
from harness.judging import as_json, judge, prediction_files, saved, thresholds
from harness.judging.answers import QUESTIONS
from harness.judging.data import from_file


@pytest.fixture
def preds(tmp_path):
    """Return a file of 60 rows of three classes."""
    return write_predictions(tmp_path / "preds.csv")


def write_predictions(path, n=60, k=3):
    data = judged.data(k, n)
    lines = [",".join([*(f"p_{j}" for j in range(k)), "y", "site"])]
    for i, (p, y) in enumerate(zip(data.p, data.y)):
        lines.append(",".join([*(f"{v:.17g}" for v in p), str(y), "ab"[i % 2]]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def calls(monkeypatch):
    """Replace the answers by a judgement made by hand, `calls["answer"]`; keep the arguments."""
    calls = {"answer": judged.judgement(3, 60, drawn=0)}

    def judge_data(judged, *, level, seed, on_answer):
        answer = calls["answer"]
        calls.update(judged=judged, level=level, seed=seed)
        for question in QUESTIONS:
            given = answer.answers.get(question, answer.unanswered.get(question))
            on_answer(question, given, judged[0])
        return answer

    monkeypatch.setattr(prediction_files, "judge_data", judge_data)
    return calls


@pytest.mark.slow
def test_from_a_file_to_text_page_and_json(cli, tmp_path):
    path = write_predictions(tmp_path / "preds.csv", 200, 2)
    page, values = tmp_path / "r.html", tmp_path / "r.json"
    code, text, err = cli("judge", path, f"--html={page}", "--json", str(values), "--group=site")
    assert code == 0 and not err
    assert text.startswith("preds.csv: 200 rows")
    places = [text.index(f"{i}. ") for i in (1, 2, 3, 4)]
    assert places == sorted(places)
    content = json.loads(values.read_text())
    assert content["data"]["n"] == 200 and content["data"]["groups"] == ["site"]
    assert content["calibrated"]["sentence"] in page.read_text()
    assert str(tmp_path) not in page.read_text() + values.read_text()


@pytest.mark.slow
def test_names_of_classes_in_an_npz_are_used_and_are_never_markup(cli, tmp_path):
    data, names = judged.data(3, 60), ["cat", "<b>dog</b>", "fox & hen"]
    np.savez(tmp_path / "named.npz", p=data.p, y=data.y, class_names=names)
    page, values = tmp_path / "r.html", tmp_path / "r.json"
    path = str(tmp_path / "named.npz")
    code, text, err = cli("judge", path, "--html", str(page), "--json", str(values))
    assert code == 0 and not err and "<b>dog</b>" in text.splitlines()[0]
    content = json.loads(values.read_text())
    assert content["data"]["classes"] == names and "class.fox & hen.l1.value" in content["numbers"]
    assert "<b>dog" not in page.read_text() and "&lt;b&gt;dog&lt;/b&gt;" in page.read_text()


def test_text_alone_by_default(cli, preds, calls, tmp_path):
    code, text, err = cli("judge", preds)
    assert code == 0 and not err and "\x1b" not in text
    assert "--html report.html" in text.splitlines()[-1]
    assert list(tmp_path.iterdir()) == [tmp_path / "preds.csv"]


def test_confidences_need_an_option_that_the_message_names(cli, calls, tmp_path):
    path = tmp_path / "top.csv"
    path.write_text("confidence,pred_label,true_label\n" + "0.9,cat,cat\n0.6,dog,cat\n" * 30)
    code, _, err = cli("judge", str(path))
    assert code == 2 and "top_label=true" in err and len(err.splitlines()) == 1
    assert cli("judge", str(path), "top_label=true")[0] == 0 and calls["judged"][0].confidences


def test_lines_are_printed_as_answers_arrive(preds, calls, monkeypatch, capsys):
    answer, printed = calls["answer"], []

    def judge_data(judged, *, on_answer, **_):
        for question in ("calibrated", "how_far"):
            printed.append(capsys.readouterr().out)
            on_answer(question, answer.answers[question], judged[0])
        return answer

    monkeypatch.setattr(prediction_files, "judge_data", judge_data)
    command.command([preds])
    assert printed[0].startswith("preds.csv") and printed[1].startswith("1. ")
    assert capsys.readouterr().out.startswith("2. ")


def test_a_long_judgement_shows_its_steps_and_the_time(preds, calls, monkeypatch, capsys):
    """On a terminal, a bar is shown between the answers."""
    monkeypatch.setattr(prediction_files, "SMALL", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    command.command([preds], json="-")
    assert "1 of 6 steps" in capsys.readouterr().err
    command.command([preds])
    shown = capsys.readouterr()
    for done in range(1, 6):
        assert f"{done} of 6 steps, " in shown.err
    assert " elapsed" in shown.err and " steps" not in shown.out


@pytest.mark.parametrize("option", ["--markdown", "--html", "--json", "--save-calibrator"])
def test_nothing_is_written_to_a_prediction_file(cli, preds, calls, tmp_path, option):
    (tmp_path / "link.json").symlink_to(preds)
    content = open(preds).read()
    code, _, err = cli("judge", preds, option, str(tmp_path / "link.json"))
    assert code == 2 and "link.json is a prediction file" in err and len(err.splitlines()) == 1
    assert open(preds).read() == content


def test_two_outputs_with_the_same_file_by_different_paths(cli, preds, calls, tmp_path):
    other = tmp_path / "folder" / ".." / "r.json"
    code, _, err = cli("judge", preds, f"--json={tmp_path / 'r.json'}", "--html", str(other))
    assert code == 2 and "is given for two outputs" in err and not (tmp_path / "r.json").exists()


def test_options_reach_the_judgement(cli, preds, calls):
    options = ["--level", "0.9", "--seed=7", "--group", "site"]
    assert cli("judge", preds, *options, "labels=y", "probabilities=[p_0,p_1,p_2]")[0] == 0
    assert calls["level"] == 0.9 and calls["seed"] == 7
    assert set(calls["judged"][0].groups) == {"site"} and calls["judged"][0].row_groups is None
    assert cli("judge", preds, "--group-rows", "site")[0] == 0
    assert calls["judged"][0].row_groups.tolist() == [0, 1] * 30


def test_json_in_place_of_the_text(cli, preds, calls):
    code, text, _ = cli("judge", preds, "--json")
    assert code == 0 and json.loads(text)["schema"] == "calharness.judge"
    # The file of predictions is not taken for the file to be written.
    assert cli("judge", "--json", preds)[1] == text


@pytest.mark.parametrize(
    "limits, code, message",
    [
        (["top_label.l1.high=0.06"], 0, ""),
        (
            ["top_label.l1.high=0.05"],
            1,
            "exceeded: top_label.l1.high is 0.0588 (95 % level), above the limit of 0.05.",
        ),
        (["top_label.l1.high=0.05", "brier.value=0.3"], 1, "exceeded: brier.value"),
        (["top_label.l1.height=0.05"], 2, "did you mean 'top_label.l1.high'"),
        (["canonical.p_value=0.05"], 2, "the test needs at least 50 rows."),
    ],
)
def test_thresholds_and_exit_status(cli, preds, calls, limits, code, message):
    status, _, err = cli("judge", preds, "--fail-above", *limits)
    assert status == code and message in err
    assert err.count("exceeded") == (len(limits) if code == 1 else 0)
    assert cli("judge", "--fail-above", *limits, preds)[0] == code  # a file behind them is a file


@pytest.mark.parametrize(
    "name",
    [
        "toplabel.l1.high",
        "binary.l1.high",
        "top_label.l3.high",
        "class.9.l1.high",
        "group.site.c.gap.high",
        "difference.brier.low",
        "other:top_label.l1.high",
    ],
)
def test_a_wrong_threshold_is_refused_before_anything_is_computed(cli, preds, calls, name):
    options = ["--group=site", "--fail-above", f"{name}=0.05"]
    code, text, err = cli("judge", preds, *options)
    assert code == 2 and not text and f"{name!r}" in err and "judged" not in calls


@pytest.mark.parametrize("k, files", [(2, 3), (3, 1)])
def test_thresholds_can_name_all_numbers_of_a_judgement(tmp_path, k, files):
    paths = [write_predictions(tmp_path / f"{name}.csv", 60, k) for name in "abc"[:files]]
    models = judge.align([from_file(path, group="site") for path in paths])
    names = as_json.numbers(judge.judge_data(models))
    thresholds.check([thresholds.Threshold(name, 1.0) for name in names], models)


def test_a_second_file(cli, preds, calls, tmp_path):
    calls["answer"] = judged.compared(3, 60, drawn=0)
    other = write_predictions(tmp_path / "other.csv")
    code, text, _ = cli("judge", preds, other)
    assert code == 0 and "5. Which model is better?" in text
    assert [data.name for data in calls["judged"]] == ["preds", "other"]
    limit = ["--fail-above", "difference.error_rate.low=0"]
    assert cli("judge", preds, other, *limit)[0] == 1


def test_a_second_file_of_other_rows_is_refused(cli, preds, tmp_path):
    other = tmp_path / "other.csv"
    lines = (tmp_path / "preds.csv").read_text().splitlines()
    label = lines[5].split(",")[3]
    lines[5] = lines[5].replace(f",{label},", f",{(int(label) + 1) % 3},")
    for content, message in ((lines, "first in row 4"), (lines[:-1], "60 and 59 rows")):
        other.write_text("\n".join(content))
        code, text, err = cli("judge", preds, str(other))
        assert code == 2 and message in err and err.strip().count("\n") == 0 and not text


def test_a_second_file_of_other_classes_is_refused(cli, preds, calls, tmp_path):
    other = write_predictions(tmp_path / "other.csv", 60, 4)
    code, text, err = cli("judge", preds, other)
    assert code == 2 and "3 and 4 classes" in err and not text and "judged" not in calls


def test_an_absent_second_file_is_refused_before_the_first_is_read(cli, tmp_path):
    unreadable = tmp_path / "first.csv"
    unreadable.write_text("no predictions")
    code, text, err = cli("judge", str(unreadable), "absent.csv")
    assert code == 2 and "absent.csv" in err and not text


@pytest.mark.parametrize("option", ["--html", "--json", "--save-calibrator"])
def test_other_files_are_never_overwritten(cli, preds, calls, tmp_path, option):
    other = tmp_path / "other.json"
    other.write_text("{}")
    code, text, err = cli("judge", preds, option, str(other))
    assert code == 2 and "not overwritten" in err and other.read_text() == "{}" and not text
    assert cli("judge", preds, option, str(tmp_path))[0] == 2
    assert cli("judge", preds, "--html", preds)[0] == 2
    code, text, _ = cli("judge", preds, option, f"{preds}/r.json")
    assert code == 2 and not text


def test_files_of_judge_are_written_again(cli, preds, calls, tmp_path):
    fitted = saved.FittedMap("temperature", 3, ("0", "1", "2"), 60, {"beta": np.array(0.5)})
    gains = judged.replace(judged.gains(), fitted=fitted)
    calls["answer"] = judged.replace(judged.nothing(), gains=gains)
    paths = [str(tmp_path / name) for name in ("r.html", "r.json", "map.json")]
    options = ["--html", paths[0], "--json", paths[1], "--save-calibrator", paths[2]]
    for _ in range(2):
        code, text, _ = cli("judge", preds, *options)
        assert code == 0 and all(path in text for path in paths)
    assert saved.load(paths[2]).method == "temperature" and not list(tmp_path.glob(".*"))
    code, _, err = cli("judge", preds, "--html", paths[0], f"--json={paths[0]}")
    assert code == 2 and "two outputs" in err


def test_a_summary_is_appended_also_to_a_file_of_others(cli, preds, calls, tmp_path):
    file = tmp_path / "summary.md"
    file.write_text("# Earlier step\n")
    limits = ["--fail-above", "top_label.l1.high=0.01", "brier.value=1"]
    for _ in range(2):
        code, text, _ = cli("judge", preds, "--markdown", str(file), *limits)
        assert code == 1 and str(file) in text
    content = file.read_text()
    assert content.startswith("# Earlier step\n\n## Calibration of preds\n")
    assert content.count("\n## Calibration of preds\n") == 2
    assert content.count("| top\\_label.l1.high | 0.0588 | 0.01 | above the limit ❌ |") == 2
    assert "| brier.value | 0.31 | 1 | ✅ |" in content
    assert cli("judge", preds, "--markdown", str(tmp_path))[0] == 2
    code, text, err = cli("judge", preds, "--markdown", f"{preds}/summary.md")
    assert code == 2 and not text


def test_no_map_to_save(cli, preds, calls, tmp_path):
    code, _, err = cli("judge", preds, "--save-calibrator", str(tmp_path / "map.json"))
    assert code == 1 and "no map is saved" in err and not (tmp_path / "map.json").exists()


@pytest.mark.parametrize(
    "arguments, name",
    [
        ([], "no prediction file"),
        (["--htlm", "r.html"], "--htlm"),
        (["lables=y"], "did you mean 'labels'"),
        (["--html"], "'--html'"),
        (["--fail-above"], "'--fail-above'"),
        (["--level", "high"], "'--level'"),
        (["x.csv", "--level", "95"], "--level is 95.0"),
        (["--seed", "1.5"], "'--seed'"),
        (["--seed", "-1"], "'--seed'"),
        (["labels=[a"], "labels=[a"),
        (["absent.csv"], "absent.csv"),
    ],
)
def test_bad_command_lines_are_refused_in_one_line(cli, arguments, name):
    code, text, err = cli("judge", *arguments)
    assert code == 2 and name in err and len(err.splitlines()) == 1 and not text


@pytest.mark.parametrize("option", ["--group=nothing", "labels=nothing"])
def test_names_that_a_file_does_not_have(cli, preds, option):
    code, _, err = cli("judge", preds, option)
    assert code == 2 and "nothing" in err and len(err.splitlines()) == 1


def test_names_of_files_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed=1.csv").write_text("p,y\n0.5,1\n")
    words = command.files_and_reader(["seed=1.csv", "positive=1"])
    assert words == (("seed=1.csv",), {"positive": "1"})


def test_help_names_every_option_of_the_reader(cli):
    text = cli("judge", "--help")[1]
    assert all(f"{name}=" in text for name in command.READER)


def test_a_bad_option_imports_nothing_heavy():
    code = (
        "import sys; from harness.commands.app import main; main(['judge', 'x.csv', '--leve']); "
        "print('pandas' in sys.modules, 'matplotlib' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False False\n"


def test_all_columns_that_are_not_used_are_named(cli, cases):
    """Sample weights are ignored, so the reader has to learn of it."""
    code, output, _ = cli("judge", str(cases / "weights.csv"))
    assert code == 0 and "not used: id, sample_weight, y_pred" in " ".join(output.split())
    code, output, _ = cli("judge", str(cases / "weights.csv"), "--group", "y_pred")
    assert code == 0 and "not used: id, sample_weight\n" in output
    options = ["--group", "y_pred", "--group=sample_weight", "--group-rows", "id"]
    code, output, err = cli("judge", str(cases / "weights.csv"), *options)
    assert code == 0 and "not used" not in output, err


@pytest.mark.parametrize("option", ["--html", "--markdown", "--save-calibrator"])
def test_only_json_is_written_to_standard_output(cli, preds, calls, option):
    code, _, err = cli("judge", preds, option, "-")
    assert (
        code == 2 and f"{option} is '-'; give the name of a file." in err and "level" not in calls
    )
