"""Files that people have: names of columns that need an interpretation. tests/cases/README.md."""

from pathlib import Path

import numpy as np
import pytest

import harness
from harness import BadInputError
from harness.commands.judge_arguments import files_and_reader
from harness.judging.data import from_file

CASES = Path(__file__).resolve().parent.parent / "cases"
TWO_OPTIONS = {"probabilities": "Wahrscheinlichkeit", "labels": "Ausfall"}


def error(path, **options):
    """The binned error of a file, by the notion that judges all of it."""
    data = from_file(path, **options)
    p = data.p[:, 1] if data.k == 2 else data.p
    return harness.ece(p, data.y, "binary" if data.k == 2 else "top_label")


@pytest.mark.parametrize(
    "file, options, right",
    [
        ("class_columns_ten.csv", {}, 0.1559),
        ("class_columns_true_false.csv", {}, 0.106),
        ("columns_named_by_number.csv", {}, 0.1276),
        ("columns_named_by_number.csv", {"probabilities": [1, 2, 0]}, 0.1276),
        ("labels_equal_columns.csv", {}, 0.1276),
        ("columns_0_1.parquet", {}, 0.1391),
        ("columns_0_1.parquet", {"probabilities": [0, 1]}, 0.1391),
    ],
)
def test_columns_are_matched_with_labels_by_their_names(file, options, right):
    assert error(CASES / file, **options) == pytest.approx(right, abs=6e-5)


def test_all_missing_options_are_named_at_once():
    with pytest.raises(BadInputError) as caught:
        from_file(CASES / "excel.csv")
    assert "labels=NAME" in str(caught.value) and "probabilities=NAME" in str(caught.value)
    data = from_file(CASES / "excel.csv", **TWO_OPTIONS)
    text = (CASES / "excel.csv").read_text("utf-8-sig").replace(",", ".").splitlines()[1:]
    columns = np.array([line.split(";")[:2] for line in text], dtype=float)
    assert np.array_equal(data.p[:, 1], columns[:, 0]) and np.array_equal(data.y, columns[:, 1])


NAMES = ["0", "1", "true", "null", "1.5", "2024", "no", "yes"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_looks_like_a_value_is_a_name_on_the_command_line(tmp_path, name):
    """As labels=, in probabilities=[...] and in class_names=[...], for judge and for a run."""
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    path = tmp_path / "preds.csv"

    def write(*header, labels=y):
        rows = [",".join(header), *(f"{1 - a},{a},{b}" for a, b in zip(p, labels))]
        path.write_text("\n".join(rows) + "\n")

    def judge(*options):
        _, reader = files_and_reader([str(path), *options])
        data = from_file(path, **reader)
        assert np.array_equal(data.p[:, 1], p) and np.array_equal(data.y, y)

    def run(*options):
        options = [f"problem.predictions.{option}" for option in options]
        command = ["problem=predictions", f"problem.predictions.path={path}", *options]
        command += ["estimator=binned15", "notion=binary", "bootstrap=0", "jobs=1"]
        records = harness.run([*command, f"out={tmp_path / 'out'}"])
        row = records[records["estimand"] == "l1"]
        assert row["value"].item() == pytest.approx(harness.ece(p, y, "binary"))

    write("rest", "p", name)
    judge("probabilities=p", f"labels={name}")
    run("probabilities=p", f"labels={name}" if name != "null" else "labels='null'")
    write("rest", name, "y")
    judge(f"probabilities=[rest,{name}]")
    run(f"probabilities=[rest,{name}]")
    write("p_rest", f"p_{name}", "y", labels=np.array(["rest", name])[y])
    judge(f"class_names=[rest,{name}]")
    run(f"class_names=[rest,{name}]")
