"""Rows of two files are matched by a shared column of ids, or the reader is warned."""

import json

import numpy as np
import pandas as pd
import pytest

from harness.errors import BadInputError
from harness.judging.data import from_arrays, from_file
from harness.judging.judge import judge, judge_data
from harness.judging.row_ids import match_rows, read_ids


def read(*paths):
    models = [from_file(path) for path in paths]
    return match_rows(models, [read_ids(path, "test", 500) for path in paths])


def differences(models):
    answer = judge_data(models, questions=["versus"]).versus
    return [row.difference.value for row in answer.differences], answer.sentence


def test_rows_in_another_order_are_matched_by_their_ids(cases, tmp_path):
    frames = [pd.read_csv(cases / f"ids_{name}.csv") for name in "ab"]
    sorted_path = tmp_path / "sorted.csv"
    frames[1].set_index("id").loc[frames[0]["id"]].reset_index().to_csv(sorted_path, index=False)
    values, sentence = differences(read(cases / "ids_a.csv", cases / "ids_b.csv"))
    expected, plain = differences(read(cases / "ids_a.csv", sorted_path))
    assert values == pytest.approx(expected)
    assert "matched" in sentence and "column id" in sentence and "column id" not in plain


def test_the_command_matches_and_says_so(cases, cli):
    status, text, _ = cli("judge", str(cases / "ids_a.csv"), str(cases / "ids_b.csv"), "--json")
    content = json.loads(text)
    assert status == 0 and "column id" in content["others"][0]["data"]["note"]
    assert "column id" in content["versus"]["sentence"] and content["data"]["note"] == ""


def test_other_ids_are_a_warning(cases, tmp_path):
    frame = pd.read_csv(cases / "ids_b.csv")
    path = tmp_path / "other.csv"
    frame.assign(id=frame["id"] + 1000).to_csv(path, index=False)
    models = read(cases / "ids_a.csv", path)
    assert np.array_equal(models[1].p, from_file(path).p)
    assert "rows may not be the same" in differences(models)[1]


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("defect", ["it repeats", "it has no value in 1 row (first in row 3)"])
def test_a_repeated_or_missing_id_is_a_warning(cases, tmp_path, defect, is_first):
    name, other = ("a", "b") if is_first else ("b", "a")
    frame = pd.read_csv(cases / f"ids_{name}.csv", dtype={"id": "Int64"})
    frame.loc[3, "id"] = frame.loc[4, "id"] if defect == "it repeats" else pd.NA
    path = tmp_path / "broken.csv"
    frame.to_csv(path, index=False)
    paths = cases / f"ids_{other}.csv", path
    models = read(*(paths[::-1] if is_first else paths))
    note = models[1].note
    assert "Column id" in note and f"in broken {defect}" in note
    assert note in differences(models)[1]


def test_a_column_that_is_repeated_in_both_files_is_no_id(cases, tmp_path):
    paths = []
    for letter in "ab":
        frame = pd.read_csv(cases / f"ids_{letter}.csv").drop(columns="id")
        frame["hospital"] = [f"hospital {i % 7}" if i else None for i in range(500)]
        paths.append(tmp_path / f"{letter}.csv")
        frame.sample(frac=1.0, random_state=len(paths)).to_csv(paths[-1], index=False)
    assert read(*paths)[1].note == ""


@pytest.mark.parametrize("name", ["key", "count"])
def test_a_column_that_is_equal_in_every_row_settles_it_unless_it_counts(cases, tmp_path, name):
    paths = []
    for letter in "ab":
        frame = pd.read_csv(cases / f"ids_{letter}.csv")
        values = np.arange(500) if name == "count" else [f"row {i}" for i in range(500)]
        paths.append(tmp_path / f"{letter}.csv")
        frame.assign(**{name: values}).to_csv(paths[-1], index=False)
    assert bool(read(*paths)[1].note) == (name == "count")


def test_labels_that_differ_after_the_match_are_refused(cases, tmp_path):
    frame = pd.read_csv(cases / "ids_b.csv")
    path = tmp_path / "b.csv"
    frame.assign(y=np.roll(frame["y"], 1)).to_csv(path, index=False)
    with pytest.raises(BadInputError, match="different labels"):
        differences(read(cases / "ids_a.csv", path))


def test_pandas_objects_are_matched_by_their_index():
    rng = np.random.default_rng(0)
    index = [f"patient {i}" for i in range(300)]
    p = pd.Series(rng.uniform(size=300), index=index)
    y = (rng.uniform(size=300) < p).astype(int)
    second = p**2
    order = rng.permutation(300)
    values = [
        [row.difference.value for row in judgement.versus.differences]
        for judgement in (
            judge(p, labels, second=other, questions=["versus"])
            for labels, other in [(y, second), (y.iloc[order], second), (y, second.iloc[order])]
        )
    ]
    assert values[0] == values[1] == values[2]
    counted = judge(p, y.iloc[order].reset_index(drop=True), questions=["calibrated"])
    assert counted.data.y.tolist() == y.iloc[order].tolist()


def test_a_column_that_only_one_file_has_unique_is_no_id():
    """An answer or a time may happen to differ in every row of one file."""
    first = from_arrays([0.1, 0.2, 0.8], [0, 0, 1], name="a")
    second = from_arrays([0.7, 0.1, 0.3], [1, 0, 0], name="b")
    ids = {"ms": np.array([12, 15, 19])}, {"ms": np.array([14, 14, 13])}
    assert match_rows([first, second], ids)[1].note == ""
