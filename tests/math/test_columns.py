"""Columns named by class are matched by name: their order never changes a number."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refuses

import harness
from harness.errors import BadInputError
from harness.judging.data import aligned, from_arrays, from_file
from harness.judging.saved import FittedMap

NAMES = ["horse", "dog", "cat"]
RNG = np.random.default_rng(0)
P = RNG.dirichlet([1.0, 0.6, 0.3], 300)
Y = np.array([RNG.choice(3, p=row) for row in P])
FRAME = pd.DataFrame(P, columns=NAMES)
TURNED = FRAME[["cat", "dog", "horse"]]
FRAMES = {
    "in order": FRAME,
    "turned": TURNED,
    "prob_ in front": TURNED.add_prefix("prob_"),
    "Y_Proba. in front": TURNED.add_prefix("Y_Proba."),
    "numbers": pd.DataFrame(P),
    "numbers, turned": pd.DataFrame(P)[[2, 1, 0]],
    "p_ and numbers from 1, turned": pd.DataFrame(P[:, ::-1], columns=["p_3", "p_2", "p_1"]),
    "an array": P,
}  # fmt: skip
LABELS = {
    "numbers": Y,
    "names": np.array(NAMES)[Y],
    "a series of names": pd.Series(np.array(NAMES)[Y]),
    "categories": pd.Series(np.array(NAMES)[Y]).astype("category"),
}
SHARPER = P**2 / (P**2).sum(axis=1, keepdims=True)
ENTRIES = {
    "judge": lambda p, y: harness.judge(p, y, classes=NAMES, questions=["calibrated"]).calibrated,
    "judge, second": lambda p, y: harness.judge(
        SHARPER, y, second=p, classes=NAMES, questions=["versus"]
    ).versus,
    "ece": lambda p, y: harness.ece(p, y, classes=NAMES),
    "estimate": lambda p, y: harness.estimate("binned15", p, y, "classwise", classes=NAMES)["l1"],
    "reduce": lambda p, y: [a.tolist() for a in harness.reduce(p, y, "canonical", classes=NAMES)],
}  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("columns", FRAMES)
def test_the_order_of_named_columns_changes_nothing(entry, columns):
    expected = ENTRIES[entry](P, Y)
    some = ["numbers", "a series of names"] if "judge" in entry else LABELS  # judge takes 0.3 s
    for labels in some:
        assert ENTRIES[entry](FRAMES[columns], LABELS[labels]) == expected


@pytest.mark.parametrize("columns", ["in order", "turned", "prob_ in front"])
def test_names_of_columns_and_labels_suffice_without_classes(columns):
    frame, names = FRAMES[columns], LABELS["names"]
    assert harness.ece(frame, names) == harness.ece(P, Y)
    judged = harness.judge(frame, names, second=TURNED, questions=["versus"])
    assert set(judged.data.classes) == set(NAMES)
    assert all(row.difference.value == 0.0 for row in judged.versus.differences)


REFUSED = {
    "other classes": lambda: harness.ece(TURNED, Y, classes=["horse", "dog", "cow"]),
    "numbers as labels of named columns": lambda: harness.ece(TURNED, Y),
    "numbers as labels of named columns, judge": lambda: harness.judge(TURNED, Y),
    "names of classes, columns without names": lambda: harness.ece(P, LABELS["names"]),
    "numbers that count from 0 or from 1": lambda: harness.ece(
        pd.DataFrame(P, columns=[1, 2, 3]), np.maximum(Y, 1)
    ),
    "a column twice": lambda: harness.ece(
        FRAME.set_axis(["a", "b", "a"], axis=1), Y, classes=["a", "b", "c"]
    ),
    "the first of two classes": lambda: harness.ece(
        FRAME["dog"], Y == 1, "binary", classes=["dog", "rest"]
    ),
    "a label of no class": lambda: harness.ece(TURNED, ["dog"] * 299 + ["cow"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_names_that_do_not_fit_are_refused(case):
    refuses(REFUSED[case], "'cow'" if case == "a label of no class" else "")


def test_classes_that_are_numbers_name_the_labels():
    assert harness.ece(P, Y + 1, classes=[1, 2, 3]) == harness.ece(P, Y)
    assert harness.ece(P[:, ::-1], Y, classes=[2, 1, 0]) == harness.ece(P, Y)
    columns = np.column_stack([1 - P[:, 0], P[:, 0]])
    named = pd.DataFrame(columns[:, ::-1], columns=[True, False])
    assert harness.ece(named, Y == 0) == harness.ece(columns, (Y == 0).astype(int))


TEN = np.random.default_rng(1).dirichlet(np.ones(12), 200)
LABEL = np.random.default_rng(2).integers(0, 12, 200)
BY_TEXT = [f"prob_class_{j}" for j in sorted(range(12), key=str)]
NUMBERED = pd.DataFrame(TEN, columns=[f"prob_class_{j}" for j in range(12)])[BY_TEXT]
TRUE = LABEL > 5
TRUTH = pd.DataFrame({"p_True": TEN[:, 0], "p_False": 1.0 - TEN[:, 0]})


@pytest.mark.parametrize(
    "labels",
    [
        LABEL,
        LABEL.astype(float),
        LABEL.astype(str),
        [f"class_{j}" for j in LABEL],
        [f"{j:03d}" for j in LABEL],
    ],
)
def test_numbers_in_names_are_matched_by_value(labels):
    assert harness.ece(NUMBERED, labels) == harness.ece(TEN, LABEL)
    classes = [name.removeprefix("prob_") for name in BY_TEXT]
    assert harness.ece(NUMBERED, labels, classes=classes) == harness.ece(TEN, LABEL)


@pytest.mark.parametrize(
    "columns", [("True", "False"), ("yes", "no"), (True, False), ("p_1", "p_0")]
)
def test_truth_values_in_names_are_matched_by_value(columns):
    expected = harness.ece(TEN[:, 0], TRUE, "binary")
    frame = TRUTH.set_axis(columns, axis=1)
    for labels in (TRUE, TRUE * 1, TRUE * 1.0, np.where(TRUE, "yes", "no"), TRUE.astype(str)):
        assert harness.ece(frame, labels, "binary") == expected
    if columns != ("p_1", "p_0"):
        refuses(lambda: harness.ece(frame, TRUE * 1, classes=columns), repr(str(columns[1])))


def test_a_label_of_ambiguous_counting_is_refused_with_a_remedy_that_works():
    """Columns 1 to 12 in the order of text, labels 1 to 8: from 0 or from 1?"""
    frame = NUMBERED.set_axis([f"p_{int(name.split('_')[-1]) + 1}" for name in BY_TEXT], axis=1)
    labels = np.clip(LABEL, 1, 8)
    refuses(lambda: harness.ece(frame, labels), "classes=range(1, 13)", "y + 1")
    assert harness.ece(frame, labels, classes=range(1, 13)) == harness.ece(TEN, labels - 1)
    assert harness.ece(frame, labels + 1, classes=range(1, 13)) == harness.ece(TEN, labels)


def test_a_series_of_the_first_class_is_refused():
    refuses(lambda: harness.ece(TRUTH["p_False"], TRUE, "binary"), "1 - p")
    assert harness.ece(TRUTH["p_True"], TRUE, "binary") == harness.ece(TEN[:, 0], TRUE, "binary")
    assert harness.ece(pd.DataFrame(TEN[:, :1])[0], TRUE, "binary") > 0.0  # an unnamed column


def test_a_map_takes_and_gives_columns_by_name():
    fitted = FittedMap(
        "vector",
        3,
        tuple(NAMES),
        100,
        {"w": np.array([1.0, 1.2, 0.8]), "b": np.array([1.0, 0.0, 0.0])},
    )
    expected = fitted(P)
    for frame in (FRAME, TURNED, TURNED.add_prefix("p_"), FRAMES["numbers"]):
        frame = frame.set_axis(np.arange(300)[::-1])
        q = fitted(frame)
        assert list(q.columns) == list(frame.columns) and q.index.equals(frame.index)
        unnamed = frame is FRAMES["numbers"] or 0 in frame.columns
        in_order = q if unnamed else q.set_axis(q.columns.str.removeprefix("p_"), axis=1)[NAMES]
        np.testing.assert_array_equal(in_order.to_numpy(), expected)
    with pytest.raises(BadInputError, match="horse, dog, cat"):
        fitted(FRAME.set_axis(list("abc"), axis=1))
    binary = FittedMap("platt", 2, ("no", "yes"), 100, {"a": np.array(0.3), "b": np.array(2.0)})
    frame_of_two = pd.DataFrame({"yes": P[:, 0], "no": 1.0 - P[:, 0]})
    np.testing.assert_array_equal(binary(frame_of_two)["yes"], binary(P[:, 0]))
    with pytest.raises(BadInputError, match="second class, 'yes'"):
        binary(frame_of_two["no"])


# Files


def data_of(folder: Path, frame: pd.DataFrame, y, name="preds", **options):
    path = folder / f"{name}.csv"
    frame.assign(y=y).to_csv(path, index=False)
    return from_file(path, **options)


def p_by_name(data):
    return {name: data.p[:, j].tolist() for j, name in enumerate(data.classes)}


@pytest.mark.parametrize("class_names", [None, NAMES, NAMES[::-1]])
@pytest.mark.parametrize("listed", [False, True])
def test_class_names_of_a_file_are_matched_by_name(tmp_path, class_names, listed):
    for frame in (FRAME.add_prefix("p_"), TURNED.add_prefix("p_"), *([TURNED] if listed else [])):
        options = {} if class_names is None else {"class_names": class_names}
        options |= {"probabilities": list(frame.columns)} if listed else {}
        data = data_of(tmp_path, frame, LABELS["names"], **options)
        assert p_by_name(data) == {name: P[:, j].tolist() for j, name in enumerate(NAMES)}
        assert [data.classes[label] for label in data.y] == LABELS["names"].tolist()


def test_class_names_without_a_column_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="cow"):
        data_of(
            tmp_path,
            TURNED.add_prefix("p_"),
            np.where(Y == 2, "dog", "horse"),
            class_names=["horse", "dog", "cow"],
        )
    scores = pd.DataFrame({"p_dog": P[:, 1]})
    labels = np.where(Y == 1, "dog", "rest")
    right = data_of(tmp_path, scores, labels, probabilities="p_dog", class_names=["rest", "dog"])
    assert right.classes[1] == "dog" and np.array_equal(right.p[:, 1], P[:, 1])
    with pytest.raises(BadInputError, match=r"class_names=\[rest,dog\]"):
        data_of(tmp_path, scores, labels, probabilities="p_dog", class_names=["dog", "rest"])


def test_names_of_numbers_and_of_numbered_columns(tmp_path):
    """class_names name the numbers in turn, and numbered columns in the order of their numbers."""
    data = data_of(tmp_path, TURNED.add_prefix("p_"), Y, class_names=NAMES)
    assert p_by_name(data) == {name: P[:, j].tolist() for j, name in enumerate(NAMES)}
    assert [data.classes[label] for label in data.y] == LABELS["names"].tolist()
    numbered = data_of(
        tmp_path,
        pd.DataFrame(P[:, ::-1], columns=["p_2", "p_1", "p_0"]),
        LABELS["names"],
        class_names=NAMES,
    )
    np.testing.assert_array_equal(numbered.p, P)


def test_a_second_file_with_turned_columns_is_the_same_model(tmp_path):
    first = data_of(tmp_path, FRAME.add_prefix("p_"), LABELS["names"], "first")
    second = data_of(tmp_path, TURNED, LABELS["names"], "second", probabilities=list(TURNED))
    same = replace(aligned(first, second), name="first")
    assert same.classes == first.classes
    np.testing.assert_array_equal(same.p, first.p)
    np.testing.assert_array_equal(same.y, first.y)


def test_groups_may_be_columns_of_a_frame():
    groups = pd.DataFrame({"site": np.where(Y > 0, "a", "b"), "even": Y % 2})
    data = from_arrays(TURNED, Y, classes=NAMES, groups=groups)
    assert data.groups["site"].tolist() == groups["site"].tolist()
    assert set(data.groups) == {
        "site",
        "even",
    }
