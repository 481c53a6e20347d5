"""Prediction files: accepted forms, their meaning, and refused forms with a remedy."""

import dataclasses
import inspect
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harness
from harness import BadInputError
from harness.common.data_files import find, sha256
from harness.estimators.application import apply
from harness.math.class_names import PROBABILITY_NAMES
from harness.problems import Predictions
from harness.problems.base import ProblemSpec
from harness.sources import files, packs
from harness.sources.forms import softmax, terms

LOGITS = np.array([[2.0, 0.0, -1.0], [0.0, 1.0, 0.0], [-3.0, 0.5, 0.5], [1.0, 1.0, 1.0]])
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
Y = np.array([0, 1, 2, 0])
P1, Y1 = np.array([0.1, 0.6, 0.9, 0.0]), np.array([0, 1, 1, 0])


def read_predictions(path, **options):
    return files.read(path, **options)[:2]


def write(path, **arrays):
    """Write arrays to npz, or to csv or parquet with matrices as numbered columns."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    columns = {}
    for name, values in arrays.items():
        values = np.asarray(values)
        if values.ndim == 1:
            columns[name] = values
        else:
            columns |= {f"{name}_{j}": values[:, j] for j in range(values.shape[1])}
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.fixture(params=[".npz", ".csv", ".parquet"])
def path(request, tmp_path):
    return tmp_path / f"predictions{request.param}"


# Accepted in every format


def test_vectors_scalars_and_logits_come_back(path):
    p, y = read_predictions(write(path, probs=P, labels=Y))
    np.testing.assert_allclose(p, P, rtol=1e-15)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(read_predictions(write(path, p=P1, y=Y1)), [P1, Y1])
    p = read_predictions(write(path, logits=LOGITS, labels=Y))[0]
    np.testing.assert_allclose(p, P, rtol=1e-14)
    logit = np.log(P1 + 0.05) - np.log(0.95 - P1)
    p = read_predictions(write(path, logit=logit, labels=Y1))[0]
    np.testing.assert_allclose(p, P1 + 0.05, rtol=1e-12)


def test_a_name_chooses_among_several(path):
    turned = P[:, [1, 0, 2]]
    write(path, probs=P, raw=turned, logits=LOGITS, labels=Y, other=Y[::-1].copy())
    for options, expected in (
        ({"probabilities": "raw"}, turned),
        ({"probabilities": "probs"}, P),
        ({"logits": "logits"}, P),
    ):
        np.testing.assert_allclose(read_predictions(path, **options)[0], expected, rtol=1e-14)
    y = read_predictions(path, probabilities="probs", labels="other")[1]
    np.testing.assert_array_equal(y, Y[::-1])


@pytest.mark.parametrize(
    "name", ["p", "p_", "prob_", "probs_", "proba_", "probabilities_", "logit", "logits_"]
)
def test_numbered_columns(tmp_path, name):
    values = LOGITS if name.startswith("logit") else P
    columns = {f"{name}{j}": values[:, j] for j in (2, 0, 1)}  # in any order
    pd.DataFrame({"id": range(4), **columns, "y": Y}).to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_allclose(read_predictions(tmp_path / "a.csv")[0], P, rtol=1e-14)


def test_eleven_numbered_columns_are_sorted_as_numbers(tmp_path):
    p = np.random.default_rng(0).dirichlet(np.ones(11), 5)
    path = write(tmp_path / "a.parquet", probs=p, y=np.arange(5))
    np.testing.assert_array_equal(read_predictions(path)[0], p)


def test_an_axis_of_length_one_is_dropped(tmp_path):
    p, y = read_predictions(write(tmp_path / "a.npz", p=P1[:, None], y=Y1[:, None]))
    assert p.shape == y.shape == (4,)
    p, y = read_predictions(write(tmp_path / "b.npz", logits=np.zeros((4, 1)), y=Y1))
    assert p.shape == y.shape == (4,)


def test_softmax_neither_overflows_nor_shifts():
    p = softmax(np.array([[1000.0, 1000.0], [-1000.0, 0.0]]))
    np.testing.assert_allclose(p, [[0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(softmax(np.array([0.0, np.log(3.0)])), [0.5, 0.75])


def test_a_file_is_found_here_or_in_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    file = write(tmp_path / "data" / "a.npz", p=P1, y=Y1).resolve()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    assert find("data/a.npz") == file
    with pytest.raises(BadInputError, match="CALHARNESS_DATA"):
        find("a.npz")
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / "data"))
    assert find("a.npz") == file
    with pytest.raises(BadInputError, match="b.npz"):
        find("b.npz")


# The problem


def test_a_rep_is_an_order_of_the_rows_and_n_its_beginning(path):
    problem = Predictions(str(write(path, probs=P, labels=Y)))
    assert problem.n_max == 4 and problem.classes == 3 and problem.truth("l1") is None
    for seed in range(5):
        p, y = problem.sample(4, np.random.default_rng(seed))
        rows = [np.flatnonzero((abs(P - row) < 1e-12).all(axis=1))[0] for row in p]
        assert sorted(rows) == [0, 1, 2, 3]
        np.testing.assert_array_equal(y, Y[rows])  # labels move with their rows
        for n in (1, 3):
            np.testing.assert_array_equal(problem.sample(n, np.random.default_rng(seed))[0], p[:n])
    with pytest.raises(BadInputError, match="n is 5"):
        problem.sample(5, np.random.default_rng(0))


def test_notions_follow_the_shape(tmp_path):
    def notions(p, y, **options):
        return Predictions(str(write(tmp_path / "a.npz", p=p, y=y)), **options).notions

    vectors = ("top_label", "classwise", "canonical")
    assert notions(P, Y) == vectors
    assert notions(np.column_stack([1 - P1, P1]), Y1) == ("binary", *vectors)
    assert notions(P1, Y1) == ("binary", "canonical", "classwise")
    assert notions(P1, Y1, top_label=True) == ("top_label",)


def test_the_content_identifies_a_file_and_not_its_path(tmp_path):
    original, copy = write(tmp_path / "a.npz", p=P1, y=Y1), tmp_path / "b.npz"
    copy.write_bytes(original.read_bytes())
    before = Predictions(str(original)).fingerprint
    assert before == Predictions(str(copy)).fingerprint
    assert before != Predictions(str(original), top_label=True).fingerprint
    write(original, p=P1, y=1 - Y1)
    assert Predictions(str(original)).fingerprint["sha256"] == sha256(original) != before["sha256"]
    y = Predictions(str(original)).sample(4, np.random.default_rng(0))[1]
    np.testing.assert_array_equal(np.sort(y), np.sort(1 - Y1))


# Refused


def refusal(path, **options):
    with pytest.raises(BadInputError) as caught:
        Predictions(str(path), **options).sample(1, np.random.default_rng(0))
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message, message
    return message


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_an_empty_file_and_a_file_without_rows(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"")
    assert "is an empty file" in refusal(path)
    write(path, p=np.zeros(0), y=np.zeros(0, dtype=int))
    assert "at least one sample" in refusal(path)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_damaged_file(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"this is no archive, whatever its name says")
    assert f"cannot be read as {suffix}" in refusal(path)
    write(path, p=P1, y=Y1)
    path.write_bytes(path.read_bytes()[:-100])
    assert f"cannot be read as {suffix}" in refusal(path)


def test_pickled_objects_are_not_opened(tmp_path):
    np.savez(tmp_path / "a.npz", p=np.array([{"evil": 1}], dtype=object), y=np.array([0]))
    message = refusal(tmp_path / "a.npz")
    assert ".npz" in message and "allow_pickle" in message


@pytest.mark.parametrize("name", ["a.txt", "a.npy", "a"])
def test_other_formats(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    assert "allowed are .npz, .csv, .tsv, .parquet and .jsonl" in refusal(tmp_path / name)


def test_no_path_and_no_file():
    assert "problem.predictions.path" in refusal("")
    assert "/nowhere/a.npz" in refusal("/nowhere/a.npz")


# Options and names. test_writers.py has the layouts that programs write.

PC = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.5, 0.3, 0.2]])
NAMES = ("cat", "dog", "cow")
ANIMALS = np.array(NAMES)[Y]
BINARY = np.column_stack([1 - P1, P1])
YES = np.array(["no", "yes"])[Y1]
GRADES = ["grade 1", "grade 1", "grade 2", "grade 2"]
TENS = np.array([1, 2, 10])[Y]
HALF = np.array([[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]], dtype=np.float16)


def table(head, *columns, mark=",", comma=False):
    """Return the text of a csv; `comma`: with decimal commas."""
    rows = [[str(v) for v in row] for row in zip(*columns)]
    rows = [[v.replace(".", ",") for v in row] for row in rows] if comma else rows
    return "\n".join([head, *(mark.join(row) for row in rows)]) + "\n"


def numbered(first, labels=Y, prefix="p"):
    return table(",".join([*(f"{prefix}{j}" for j in range(first, first + 3)), "y"]), *PC.T, labels)


SCALARS, VECTORS = (P1, Y1), (PC, Y)


def form(content, *expected, **options):
    """Return a case: content of a csv (text, bytes) or npz (arrays), options, what is expected."""
    return content, options, *expected


# Each form with the (p, y) that are read, and words of the line that describes the file
ACCEPTED = {
    "positive of three": form(
        table("p,y", [0.7, 0.1, 0.2, 0.5], ANIMALS),
        ([0.7, 0.1, 0.2, 0.5], [1, 0, 0, 1]),
        "1 = cat, 0 = cow, dog",
        positive="cat",
    ),
    "grades with half steps": form(
        table("p,y", P1, 1.5 + Y1), SCALARS, "1 = 2.5, 0 = 1.5", positive=2.5
    ),
    "npz: codes of diseases as text": form(
        dict(p=np.full(30, 0.5), y=[f"{250 + j}.1" for j in range(30)]),
        (np.full(30, 0.5), np.arange(30) == 1),
        "1 = 251.1",
        positive="251.1",
    ),
    "two names for one column": form(
        table("p,y", P1, np.array(["x", "a"])[Y1]), SCALARS, "1 = a", class_names=["x", "a"]
    ),
    "one column of a class": form(
        table("proba_spam,y", P1, np.array(["ham", "spam"])[Y1]),
        SCALARS,
        "1 = spam, 0 = ham",
        probabilities="proba_spam",
        positive="spam",
    ),
    "bare classes": form(
        table("id,cat,dog,cow,y", range(4), *PC.T, ANIMALS),
        VECTORS,
        "columns cat, dog, cow",
        probabilities=["cat", "dog", "cow"],
    ),
    "numbers after two prefixes": form(
        table("prob_class_2,prob_class_10,prob_class_1,y", *PC.T[[1, 2, 0]], TENS),
        VECTORS,
        "classes: 1, 2, 10",
    ),
    "truth values and words": form(
        table("p_True,p_False,y", *BINARY.T[::-1], YES), (BINARY, Y1), "False, True"
    ),
    "listed columns with numbers": form(
        table("p_2,p_0,p_1,y", *PC.T[[2, 0, 1]], Y),
        VECTORS,
        "p_0, p_1, p_2",
        probabilities=["p_2", "p_0", "p_1"],
    ),
    "names as values of a configuration": form(
        table("true,null,1.50,no,2024", *PC.T, range(4), ANIMALS),
        VECTORS,
        "not used: no",
        probabilities=[True, None, 1.5],
        labels=2024,
        class_names=["cat", "dog", "cow"],
    ),
    "rounding errors": form(
        table("p,y", [1.0000001, -1e-7, 0.5], [1, 0, 1]),
        ([1.0, 0.0, 0.5], [1, 0, 1]),
        "2 values outside [0, 1] by at most 1e-07 set to 0 or 1",
    ),
    "class_names for columns from 1": form(
        numbered(1, Y + 1), VECTORS, "classes: 1, 2, 3", class_names=[1, 2, 3]
    ),
    "class_names for columns from 1, labels from 0": form(
        numbered(1), VECTORS, "classes: 0, 1, 2", class_names=[0, 1, 2]
    ),
    "class_names of numbers": form(
        table("p_cat,p_dog,p_cow,y", *PC.T, 2 - Y),
        VECTORS,
        "classes: cat, dog, cow",
        class_names=["cow", "dog", "cat"],
    ),
    "numbers of bare classes": form(
        table("cat,dog,cow,label", *PC.T, 2 - Y),
        VECTORS,
        "classes: cat, dog, cow",
        class_names=["cow", "dog", "cat"],
    ),
    "a list of columns": form(
        table("a,b,c,y", *PC.T, Y), VECTORS, "label 0 = column a", probabilities=["a", "b", "c"]
    ),
    "a prefix": form(
        table("m_cat,m_dog,m_cow,y", *PC.T, ANIMALS),
        VECTORS,
        "m_cat, m_dog, m_cow",
        probabilities="m_",
    ),
    "class_names": form(
        numbered(0, ANIMALS), VECTORS, "classes: cat, dog, cow", class_names=list(NAMES)
    ),
    "white space": form(
        table(" p , y ", P1, [f" {v} " for v in YES]), SCALARS, "1 = yes", positive="yes"
    ),
    "npz: one column, and names": form(
        dict(p=P1, y=Y1, class_names=["ill", "well"]), SCALARS, "classes: ill, well"
    ),
    "npz: right or not, whatever is named": form(
        dict(confidence=P1, pred_label=YES, true_label=["no"] * 4, class_names=["a", "b"]),
        (P1, 1 - Y1),
        "confidences of predicted labels",
        top_label=True,
    ),
    "npz: logits within [0, 1] that are named": form(
        dict(z=P1, y=Y1), (1 / (1 + np.exp(-P1)), Y1), "logistic", logits="z"
    ),
    "npz: probabilities called logits": form(
        dict(logits=PC, y=Y), VECTORS, "3 classes", probabilities="logits"
    ),
}


def stored(tmp_path, content):
    """A file of what the table says: arrays as npz, text and bytes as csv."""
    path = tmp_path / ("preds.npz" if isinstance(content, dict) else "preds.csv")
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("case", ACCEPTED)
def test_a_form_that_can_be_read_in_one_way_is_read(tmp_path, case):
    content, options, (p, y), words = ACCEPTED[case]
    problem = Predictions(str(stored(tmp_path, content)), order="file", **options)
    rows_read = problem.sample(problem.n_max, np.random.default_rng(0))
    np.testing.assert_allclose(rows_read[0], p, rtol=1e-15)
    np.testing.assert_array_equal(rows_read[1], y)
    assert problem.described.startswith("preds.") and "\n" not in problem.described
    assert words in problem.described


LOOSE = np.array([[0.33, 0.33, 0.33], [0.5, 0.25, 0.25]])
MIXED = np.array([[1.2, -0.3, 0.1], [0.5, 2.0, -1.0], [0.1, 0.2, 0.3], [0.0, 0.0, 0.1]])

# Each form with a word, option or value that the message names
REFUSED = {
    "labels in a row": form(dict(p=P1, y=Y1[None, :]), "one label per row is needed"),
    "bytes": form(dict(p=P1, y=YES.astype("S")), "labels.astype(str)"),
    "bare classes, one without a label": form(
        table("grade 2,grade 3,grade 1,y", *PC.T[[1, 2, 0]], GRADES), "probabilities=[...]"
    ),
    "numbers of bare classes": form(
        table("cat,dog,cow,label", *PC.T, Y), "class_names=[cat,dog,cow] (in a run, problem."
    ),
    "numbered columns of another name": form(table("x0,x1,x2,label", *PC.T, Y), "neither prob"),
    "no labels": form(dict(probs=P), "labels=NAME"),
    "no probabilities": form(dict(labels=Y, x=P[:, 0]), "neither probabilities nor logits"),
    "both kinds": form(dict(probs=P, logits=LOGITS, y=Y), "probabilities=probs or logits=logits"),
    "two kinds of labels": form(dict(p=P1, y=Y1, labels=Y1), "labels="),
    "two kinds of p": form(dict(p=P1, confidence=P1, y=Y1), "holds p and confidence"),
    "NaN in logits": form(dict(logits=np.where(LOGITS == 2, np.nan, LOGITS), y=Y), "finite"),
    "other lengths": form(dict(p=P1, y=Y1[:2]), "p has 4 rows, but y has 2 labels"),
    "numbers with a gap": form("p0,p2,y\n0.5,0.5,0\n", "p0, p2 are not numbered from 0"),
    "two columns of one class": form("p0,p1,p_1,y\n0.5,0.5,0.5,0\n", "holds both p1 and p_1"),
    "percent": form(table("p,y", 100 * P1, Y1), "divide percent by 100"),
    "percent signs": form(
        table("p,y", [f"{v:.1%}" for v in P1], Y1), "holds '10.0%' at row 0; remove the % signs"
    ),
    "logits called probabilities": form(dict(probs=MIXED, y=Y), "logits=probs"),
    "probabilities called logits": form(dict(logits=PC, y=Y), "probabilities=logits"),
    "probabilities in a column called logit": form(table("logit,y", P1, Y1), "probabilities=logit"),
    "rounded to 2 digits": form(dict(probs=LOOSE, y=[0, 1]), "renormalise=true"),
    "far from 1": form(
        dict(probs=LOOSE * 0.9, y=[0, 1]),
        "renormalise=true only divides rows that sum to 1 within 0.015",
        renormalise=True,
    ),
    "far from 1 without the option": form(dict(probs=LOOSE * 0.9, y=[0, 1]), "within 0.0001: a cl"),
    "NaN": form(table("p,y", [0.5, ""], [0, 1]), "p holds NaN at row 1"),
    "text": form(table("p_0,p_1,y", [0.5, 0.5], [0.5, "low"], [0, 1]), "p_1 holds 'low' at row 1"),
    "commas without": form("p,y\n0,25,1\n0,75,0\n", "semicolons"),
    "a label that is missing": form(
        table("p,y", P1, [0, 1, "", 1]), "remove the rows without a label (1 in all)"
    ),
    "1/2 for one column": form(table("p,y", P1, Y1 + 1), "positive="),
    "another positive": form(table("p,y", P1, YES), "positive=yse", positive="yse"),
    "positive for many": form(dict(probs=PC, y=Y), "positive=1", positive=1),
    "names for numbers": form(numbered(0, ANIMALS), "class_names=[cat,cow,dog] if p0, p1, p2"),
    "1..k for columns without numbers": form(dict(probs=PC, y=Y + 1), "class_names=[1,2,3] if"),
    "yes/no": form(table("p,y", P1, YES), "positive=yes"),
    "other names and other numbers": form(
        dict(probs=PC, y=Y, class_names=["1", "2", "3"]), "class_names has 1, 2, 3"
    ),
    "numbers for names": form(table("p_cat,p_dog,p_cow,y", *PC.T, Y), "class_names=[cat,dog,cow]"),
    "too few class_names": form(numbered(0, ANIMALS), "3 are needed", class_names=["cat", "dog"]),
    "one-hot": form(dict(probs=PC, y=np.eye(3)[Y]), "argmax(axis=1)"),
    "a label nearby": form(dict(probs=PC, labels=Y), "did you mean 'labels'?", labels="label"),
    "an array nearby": form(
        dict(probs=PC, labels=Y), "did you mean 'probs'?", probabilities="prob"
    ),
    "a column nearby": form(
        table("a,bb,y", *BINARY.T, Y1), "did you mean 'bb'?", probabilities=["a", "b"]
    ),
    "both options": form(
        dict(probs=PC, z=P, y=Y),
        "exclude each other; give only one",
        probabilities="probs",
        logits="z",
    ),
    "two columns of one name": form("p,p,y\n0.1,0.2,1\n", "names two columns 'p'"),
    "no header": form("0.1,1\n0.6,0\n", "first line must name the columns"),
    "one column": form("p y\n0.1 1\n", "commas, semicolons or tabs"),
    "UTF-16": form(table("p,y", P1, Y1).encode("utf-16"), "save it as UTF-8"),
    "names as objects": form(dict(p=P1, y=YES.astype(object)), "labels.astype(str)"),
    "top_label for many": form(dict(probs=PC, y=Y), "notion=[top_label]", top_label=True),
    "class_names as one word": form(dict(probs=PC, y=Y), "a list is needed", class_names="cat"),
    "a number for a name": form(
        dict(probs=PC, y=Y), "no array '3' for probabilities", probabilities=3
    ),
    "both unknown": form(
        table("chance,outcome", P1, Y1), "name both by labels=NAME and probabilities=NAME"
    ),
    "ignored rows": form(table("p,y", P1, [0, -100, 1, -100]), "label -100 in 2 rows"),
    "ignored rows of ten classes": form(
        dict(probs=np.eye(11)[:4], y=[0, -100, 1, 10]), "label -100 in 1 row"
    ),
    "truth values in the wrong order": form(
        table("p_True,p_False,y", *BINARY.T[::-1], Y1),
        "give class_names=[False,True]",
        class_names=["True", "False"],
    ),
    "beyond rounding": form(table("p,y", [1.001, 0.5], [1, 0]), "p holds 1.001 at row 0"),
    "a list for a name": form(dict(probs=PC, y=Y), "the name of an array is needed", labels=["y"]),
    "renormalise in words": form(dict(probs=PC, y=Y), "allowed are true, false", renormalise="yes"),
    "above 1": form(dict(p=[0.5, 1.5], y=[0, 1]), "p holds 1.5 at row 1"),
    "rows that sum to 1.1": form(dict(probs=[[0.5, 0.6]], y=[0]), "row 0 of probs sums to 1.1"),
    "a label beyond the classes": form(dict(p=[0.5, 0.5], y=[0, 2]), "y holds 0, 2"),
    "swapped columns": form(table("p,y", Y1, P1), "p holds only 0 and 1, as labels do"),
    "swapped columns in spite of positive": form(
        table("p,y", Y1, P1), "give labels=p probabilities=y.", positive=0.1
    ),
    "swapped columns and names": form(table("p,y", YES, P1), "p holds only no and yes"),
    "swapped confidences": form(
        table("confidence,correct", Y1, P1), "give labels=confidence", top_label=True
    ),
    "measurements as labels": form(
        dict(p=np.full(40, 0.5), y=np.arange(40) + 0.25),
        "40 different numbers that are not whole, such as 0.25 at row 0",
        positive=0.25,
    ),
    "labels between": form(dict(p=[0.5, 0.5], y=[0, 0.5]), "y holds 0, 0.5"),
    "no sample": form(dict(p=[], y=[]), "p is empty"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_form_that_could_be_misread_is_refused_with_the_remedy(tmp_path, case):
    content, options, named = REFUSED[case]
    assert named in refusal(stored(tmp_path, content), **options)


# The same data, the same numbers


def test_the_same_data_give_the_same_numbers_in_every_format_id_and_folder(tmp_path, monkeypatch):
    """An estimator with random folds gives values that are equal to the last bit."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    p = rng.random(120)
    y = (rng.random(120) < p**1.3).astype(np.int64)
    (tmp_path / "elsewhere").mkdir()
    np.savez("a.npz", p=p, y=y)
    frame = pd.DataFrame({"id": range(120), "y_true": np.array(["no", "yes"])[y], "y_prob": p})
    frame.to_csv("a.csv", index=False)
    frame.to_csv("elsewhere/b.csv", index=False, sep=";", decimal=",")
    frame.to_parquet("elsewhere/a.parquet")
    paths = {"one": "a.npz", "two": "a.csv", "three": "elsewhere/b.csv"}
    nodes = []
    for name, path in paths.items():
        positive = "" if name == "one" else "positive:'yes',"
        node = f"{{_target_:harness.problems.Predictions,{positive}path:{path}}}"
        nodes.append(f"+problem.{name}={node}")
    records = harness.run(
        [
            "problem=predictions",
            "problem.predictions.path=elsewhere/a.parquet",
            "problem.predictions.positive='yes'",
            *nodes,
            *["estimator=[variational_isotonic]", "n=[50,120]", "reps=2", "jobs=1", "seed=3"],
            f"out={tmp_path / 'out'}",
        ]
    )
    assert set(records["problem"]) == {"predictions", *paths} and (records["status"] == "ok").all()
    values = records.pivot_table(index=["estimand", "n", "rep"], columns="problem", values="value")
    assert len(values) >= 4 and (values.nunique(axis=1) == 1).all()
    assert values["one"].groupby(["estimand", "n"]).nunique().max() == 2  # reps differ


def test_content_is_what_was_read(tmp_path):
    """The content depends on rows, their order and labels, not on names, formats and unused
    columns.
    """
    base = Predictions(str(write(tmp_path / "a.npz", p=P1, y=Y1)))
    other = Predictions(
        str(write(tmp_path / "b.csv", y_prob=P1, y_true=YES, id=np.arange(4))), positive="yes"
    )
    both = Predictions(str(write(tmp_path / "f.npz", p=BINARY, y=Y1)))  # 1 - p and p
    assert len(base.content) == 16 and base.content == other.content == both.content
    changed = [
        write(tmp_path / "c.npz", p=P1[::-1], y=Y1[::-1]),
        write(tmp_path / "d.npz", p=P1, y=1 - Y1),
        write(tmp_path / "e.npz", p=np.nextafter(P1, 1), y=Y1),
    ]
    contents = [Predictions(str(path)).content for path in changed]
    assert len({base.content, Predictions(base.path, top_label=True).content, *contents}) == 5
    assert base.version == 2
    assert harness.common.seeds.identity(ProblemSpec.of(base), "ab") == base.content
    assert harness.common.seeds.identity(ProblemSpec.of(object()), "ab") == "ab"


def test_a_published_file_keeps_its_streams(tmp_path, monkeypatch):
    """Version 1, seeded by its key, in every folder: its records stay valid."""
    path = write(tmp_path / "a.npz", p=P1, y=Y1)
    assert Predictions(str(path)).content
    monkeypatch.setattr(packs, "checksums", lambda: frozenset([sha256(path)]))
    assert Predictions(str(path)).content is None and Predictions(str(path)).version == 1


def test_what_is_said_of_a_file_is_documented():
    """The docstring of Predictions names every recognised name and every option."""
    text = inspect.getdoc(Predictions)
    names = {*PROBABILITY_NAMES, *terms.LOGIT_NAMES, *terms.LABEL_NAMES, *terms.CLASS_NAMES}
    names |= {field.name for field in dataclasses.fields(Predictions)}
    assert not [name for name in names if name not in text]


# Real data


def real(name):
    folder = os.environ.get("CALHARNESS_DATA")
    if not folder:
        pytest.skip("CALHARNESS_DATA is not set; it names the folder of downloaded data")
    if not (Path(folder) / "cifar_logits" / name).is_file():
        pytest.skip(f"cifar_logits/{name} is not below CALHARNESS_DATA")


def top_label_error(p, y):
    estimator = harness.load_estimator("binned15")
    p, y = harness.reduce(p, y, "top_label")
    return apply(estimator, p, y, "top_label", np.random.default_rng(0), None)["l1"].value


@pytest.mark.parametrize(
    "name, file, accuracy, published",
    [
        ("cifar10_lenet5", "cifar10_lenet-5_netcal.npz", 0.5308, 0.107887881783165),
        ("cifar10_vgg16", "cifar10_vgg16_keras_kumar2019.npz", 0.9359, 0.03978006945799148),
    ],
)
def test_a_real_network_has_its_published_accuracy_and_error(name, file, accuracy, published):
    """Accuracy and top-label ECE (15 bins of equal width) are those of the data set's index.

    Its bins are open below. This matters only for a confidence that equals an edge: below 1e-6 in
    10,000 samples of float32.
    """
    real(file)
    problem = harness.load_problem(name)
    assert problem.classes == 10 and problem.n_max == 10_000
    assert problem.notions == ("top_label", "classwise", "canonical")
    p, y = problem.sample(problem.n_max, np.random.default_rng(0))
    assert (p.argmax(axis=1) == y).mean() == pytest.approx(accuracy, abs=1e-12)
    assert top_label_error(p, y) == pytest.approx(published, abs=1e-6)


@pytest.mark.slow
def test_a_value_outside_its_interval_is_explained(cli, tmp_path, monkeypatch):
    """The interval of a plug-in error is for the truth, and names its level."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 400)
    write(tmp_path / "a.npz", p=p, y=np.array([rng.choice(3, p=row) for row in p]))
    command = (
        "problem=predictions",
        "problem.predictions.path=a.npz",
        "notion=[classwise]",
        "jobs=1",
        "bootstrap=20",
    )
    code, text, _ = cli(*command, "estimator=[binned15,certified_interval]")
    assert code == 0 and "l1: value [95% interval]" in text
    value, low, high = map(float, re.search(r"(0\.\d+) \[(0\.\d+), (0\.\d+)\]", text).groups())
    assert ("binned15: a value lies outside its interval" in text) == (not low <= value <= high)


def test_columns_class_0_to_class_2_are_read_if_they_can_only_be_probabilities(tmp_path):
    p = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.3, 0.4, 0.3]])
    columns = {f"class_{j}": p[:, j] for j in (2, 0, 1)}
    path = tmp_path / "preds.npz"
    np.savez(path, **columns, y=Y)
    read_p, read_y = read_predictions(path)
    assert np.array_equal(read_p, p) and np.array_equal(read_y, Y)
    for changed in (
        {"class_1": p[:, 1] + 0.01},  # sums are not 1
        {f"class_{j}": np.eye(3)[Y][:, j] for j in range(3)},  # indicators of the labels
        {"class_1": p[:3, 1]},
        {"y": Y + 1},  # a label without a column
    ):
        np.savez(path, **(columns | {"y": Y} | changed))
        with pytest.raises(BadInputError, match="neither probabilities nor logits"):
            read_predictions(path)
