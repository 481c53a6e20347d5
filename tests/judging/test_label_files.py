"""Files whose rows may have several labels: what is read, written, limited and refused."""

import json

import numpy as np
import pandas as pd
import pytest

import harness
from harness import BadInputError
from harness.commands.app import main
from harness.judging.label_files import judge_label_file

NAMES = ("cat", "dog", "sun")


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, (400, 3))
    y = (rng.random((400, 3)) < p ** [1.0, 2.0, 1.0]).astype(int)
    return p, y


@pytest.fixture
def table(tmp_path, columns):
    p, y = columns
    path = tmp_path / "several.csv"
    frame = {f"p_{name}": p[:, j] for j, name in enumerate(NAMES)}
    frame |= {f"y_{name}": y[:, j] for j, name in enumerate(NAMES)}
    pd.DataFrame(frame).to_csv(path, index=False)
    return path


LABELS = "labels=[y_cat,y_dog,y_sun]"


def test_a_table_equals_its_arrays(table, columns):
    ours = judge_label_file(table, {"labels": ["y_cat", "y_dog", "y_sun"]}, 0.95).to_frame()
    usual = harness.judge(*columns, classes=NAMES).to_frame()
    pd.testing.assert_frame_equal(ours, usual)
    assert usual.index[0] == "dog" and usual.loc["dog", "verdict"] == "not calibrated"


def test_columns_of_probabilities_are_matched_in_the_given_order(table):
    reader = {"labels": ["y_sun", "y_cat"], "probabilities": ["p_sun", "p_cat"]}
    ours = judge_label_file(table, reader, 0.95).to_frame()
    assert set(ours.index) == {"sun", "cat"} and set(ours["verdict"]) == {"nothing found"}


def test_a_matrix_of_labels_is_read(tmp_path, columns):
    path = tmp_path / "several.npz"
    np.savez(path, p=columns[0], y=columns[1])
    ours = judge_label_file(path, {"class_names": NAMES}, 0.95).to_frame()
    pd.testing.assert_frame_equal(ours, harness.judge(*columns, classes=NAMES).to_frame())


def test_one_label_per_row_is_left_to_judge(tmp_path):
    path = tmp_path / "one.npz"
    np.savez(path, p=np.full((4, 2), 0.5), y=np.array([0, 1, 0, 1]))
    assert judge_label_file(path, {}, 0.95) is None
    np.savez(path, p=np.full((4, 2), 0.5), y=np.eye(2, dtype=int)[[0, 1, 0, 1]])
    assert judge_label_file(path, {}, 0.95) is None


def test_a_matrix_of_names_gets_a_sentence(tmp_path, capsys):
    path = tmp_path / "names.npz"
    np.savez(path, p=np.full((2, 2), 0.5), y=np.array([["a", "b"], ["c", "d"]]))
    assert main(["judge", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_writes_numbers_and_page(table, tmp_path, capsys):
    page, values = tmp_path / "page.html", tmp_path / "values.json"
    words = ["judge", str(table), LABELS, "--html", str(page), "--json", str(values)]
    assert main([*words, "--fail-above", "label.cat.l1.high=0.9"]) == 0
    numbers = json.loads(values.read_text())["numbers"]
    assert numbers["label.dog.p_value"]["value"] < 0.05
    assert numbers["label.dog.l1.low"]["value"] > 0.0 == numbers["label.cat.l1.low"]["value"]
    assert "dog" in page.read_text()
    assert main([*words, "--fail-above", "label.dog.l1.low=0.01"]) == 1
    assert "exceeded: label.dog.l1.low" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, message",
    [
        ([LABELS, "--weights", "w"], "judged without weights"),
        ([LABELS, "--save-calibrator", "map.npz"], "judged without save-calibrator"),
        (["labels=[y_cat,y_dgo]"], "no column 'y_dgo' (did you mean 'y_dog'?)"),
        ([LABELS, "probabilities=[p_cat,p_dog]"], "2 columns and labels 3"),
        ([LABELS, "positive=1"], "read without positive="),
        ([LABELS, "--fail-above", "label.dg.p_value=1"], "did you mean 'label.dog.p_value'"),
    ],
)
def test_mistakes_get_a_sentence(table, words, message, capsys):
    assert main(["judge", str(table), *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_label_is_0_or_1(tmp_path):
    path = tmp_path / "several.csv"
    path.write_text("p_a,p_b,y_a,y_b\n0.2,0.4,0,2\n0.3,0.9,1,1\n")
    with pytest.raises(BadInputError, match="a label is 1 or 0"):
        judge_label_file(path, {"labels": ["y_a", "y_b"]}, 0.95)
