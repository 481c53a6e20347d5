"""Prediction files: what is read, what it means, and one sentence for every file that cannot be used."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harness
from harness import BadInput
from harness.estimators.base import apply
from harness.problems import Predictions
from harness.sources.files import find, read_predictions, sha256, softmax

LOGITS = np.array([[2.0, 0.0, -1.0], [0.0, 1.0, 0.0], [-3.0, 0.5, 0.5], [1.0, 1.0, 1.0]])
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
Y = np.array([0, 1, 2, 0])
P1, Y1 = np.array([0.1, 0.6, 0.9, 0.0]), np.array([0, 1, 1, 0])


def estimate(estimator, p, y, notion, rng, problem=None):
    return apply(estimator, *harness.reduce(p, y, notion), notion, rng, problem)


def write(path, **arrays):
    """Arrays to npz, or to csv or parquet with matrices as numbered columns."""
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    columns = {}
    for name, values in arrays.items():
        values = np.asarray(values)
        columns |= {name: values} if values.ndim == 1 else {f"{name}_{j}": values[:, j] for j in range(values.shape[1])}
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.fixture(params=[".npz", ".csv", ".parquet"])
def path(request, tmp_path):
    return tmp_path / f"predictions{request.param}"


# What is read


def test_vectors_come_back(path):
    p, y = read_predictions(write(path, probs=P, labels=Y))
    np.testing.assert_allclose(p, P, rtol=1e-15)
    np.testing.assert_array_equal(y, Y)


def test_scalars_come_back(path):
    p, y = read_predictions(write(path, p=P1, y=Y1))
    np.testing.assert_array_equal(p, P1)
    np.testing.assert_array_equal(y, Y1)


def test_logits_become_probabilities(path):
    np.testing.assert_allclose(read_predictions(write(path, logits=LOGITS, labels=Y))[0], P, rtol=1e-14)
    one = read_predictions(write(path, logit=np.log(P1 + 0.05) - np.log(0.95 - P1), labels=Y1))[0]
    np.testing.assert_allclose(one, P1 + 0.05, rtol=1e-12)


def test_a_name_chooses_among_several(path):
    write(path, probs=P, raw=P[:, [1, 0, 2]], logits=LOGITS, labels=Y, other=Y[::-1].copy())
    np.testing.assert_allclose(read_predictions(path, probabilities="raw")[0], P[:, [1, 0, 2]], rtol=1e-15)
    np.testing.assert_allclose(read_predictions(path, probabilities="probs")[0], P, rtol=1e-15)
    np.testing.assert_allclose(read_predictions(path, logits="logits")[0], P, rtol=1e-14)
    np.testing.assert_array_equal(read_predictions(path, probabilities="probs", labels="other")[1], Y[::-1])


@pytest.mark.parametrize("name", ["p", "p_", "prob", "prob_", "probs_", "proba_", "probabilities_", "logit_", "logits_", "logit"])
def test_numbered_columns(tmp_path, name):
    values = LOGITS if name.startswith("logit") else P
    columns = {f"{name}{j}": values[:, j] for j in (2, 0, 1)}  # in any order
    pd.DataFrame({"id": range(4), **columns, "y": Y}).to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_allclose(read_predictions(tmp_path / "a.csv")[0], P, rtol=1e-14)


def test_eleven_numbered_columns_are_sorted_as_numbers(tmp_path):
    p = np.random.default_rng(0).dirichlet(np.ones(11), 5)
    path = write(tmp_path / "a.parquet", probs=p, y=np.arange(5))
    np.testing.assert_array_equal(read_predictions(path)[0], p)


def test_shapes_with_an_idle_axis_are_understood(tmp_path):
    path = write(tmp_path / "a.npz", p=P1[:, None], y=Y1[:, None])
    p, y = read_predictions(path)
    assert p.shape == y.shape == (4,)
    path = write(tmp_path / "b.npz", logits=np.zeros((4, 1)), y=Y1[None, :])
    assert read_predictions(path)[0].shape == read_predictions(path)[1].shape == (4,)


def test_softmax_neither_overflows_nor_shifts():
    np.testing.assert_allclose(softmax(np.array([[1000.0, 1000.0], [-1000.0, 0.0]])), [[0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(softmax(np.array([0.0, np.log(3.0)])), [0.5, 0.75])


def test_a_file_is_found_here_or_in_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "a.npz", p=P1, y=Y1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    assert find("data/a.npz") == (tmp_path / "data" / "a.npz").resolve()
    with pytest.raises(BadInput, match="no file a.npz here; CALHARNESS_DATA, .* is not set"):
        find("a.npz")
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / "data"))
    assert find("a.npz") == (tmp_path / "data" / "a.npz").resolve()
    with pytest.raises(BadInput, match="no file b.npz here or below the folder that CALHARNESS_DATA names"):
        find("b.npz")


# The problem


def test_a_rep_is_an_order_of_the_rows_and_n_its_beginning(path):
    problem = Predictions(str(write(path, probs=P, labels=Y)))
    assert problem.n_max == 4 and problem.classes == 3
    for seed in range(5):
        p, y = problem.sample(4, np.random.default_rng(seed))
        rows = [np.flatnonzero((abs(P - row) < 1e-12).all(axis=1))[0] for row in p]
        assert sorted(rows) == [0, 1, 2, 3]
        np.testing.assert_array_equal(y, Y[rows])  # labels move with their rows
        for n in (1, 3):
            np.testing.assert_array_equal(problem.sample(n, np.random.default_rng(seed))[0], p[:n])
    with pytest.raises(BadInput, match="n is 5, but .* holds 4 rows"):
        problem.sample(5, np.random.default_rng(0))
    assert problem.truth("l1") is None


def test_notions_follow_the_shape(tmp_path):
    def notions(p, y, **options):
        return Predictions(str(write(tmp_path / "a.npz", p=p, y=y)), **options).notions

    assert notions(P, Y) == ("top_label", "classwise", "canonical")
    assert notions(np.column_stack([1 - P1, P1]), Y1) == ("binary", "top_label", "classwise", "canonical")
    assert notions(P1, Y1) == ("binary", "canonical", "classwise")
    assert notions(P1, Y1, top_label=True) == ("top_label",)


def test_the_content_identifies_a_file_and_not_its_path(tmp_path):
    one, two = write(tmp_path / "a.npz", p=P1, y=Y1), tmp_path / "b.npz"
    two.write_bytes(one.read_bytes())
    assert Predictions(str(one)).fingerprint == Predictions(str(two)).fingerprint
    assert Predictions(str(one)).fingerprint != Predictions(str(one), top_label=True).fingerprint
    before = sha256(one)
    write(one, p=P1, y=1 - Y1)
    assert Predictions(str(one)).fingerprint["sha256"] == sha256(one) != before
    np.testing.assert_array_equal(np.sort(Predictions(str(one)).sample(4, np.random.default_rng(0))[1]), np.sort(1 - Y1))


# What is refused


def refusal(path, **options):
    with pytest.raises(BadInput) as caught:
        Predictions(str(path), **options).sample(1, np.random.default_rng(0))
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message, message
    return message


ARRAYS = {
    "no labels": (dict(probs=P), ["holds probs", "none is named y, labels", "name the labels by labels="]),
    "no probabilities": (dict(labels=Y, x=P[:, 0]), ["neither probabilities nor logits", "labels, x", "probabilities="]),
    "both": (dict(probs=P, logits=LOGITS, y=Y), ["both probabilities and logits", "probs, logits", "probabilities= or logits="]),
    "two kinds of labels": (dict(p=P1, y=Y1, labels=Y1), ["holds y and labels", "labels="]),
    "two kinds of p": (dict(p=P1, confidence=P1, y=Y1), ["holds p and confidence", "probabilities="]),
    "NaN in p": (dict(p=np.array([0.1, np.nan]), y=np.array([0, 1])), ["p holds NaN at row 1", "[0, 1]"]),
    "NaN in logits": (dict(logits=np.where(LOGITS == 2, np.nan, LOGITS), y=Y), ["1 logits are NaN or infinite", "finite"]),
    "infinite logits": (dict(logit=np.array([np.inf, 0.0]), y=np.array([0, 1])), ["1 logits are NaN or infinite"]),
    "NaN in labels": (dict(p=P1, y=np.array([0, 1, np.nan, 0])), ["y holds nan at row 2", "0..1"]),
    "percent": (dict(p=100 * P1, y=Y1), ["p holds 10 at row 0", "[0, 1]"]),
    "labels from 2": (dict(probs=P, y=Y + 2), ["y holds label 4 at row 2", "0..2", "1..3"]),
    "rows that do not sum to 1": (dict(probs=P * [1, 1, 0.5], y=Y), ["row 2 sums to", "the worst of 4 rows", "must sum to 1"]),
    "names as labels": (dict(p=P1, y=np.array(list("abab"))), ["y holds the names a, b", "p is one column", "positive=b"]),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_unfit_arrays_are_named_in_one_sentence(path, case):
    arrays, words = ARRAYS[case]
    message = refusal(write(path, **arrays))
    assert all(word in message for word in words), message


def test_other_lengths(tmp_path):
    message = refusal(write(tmp_path / "a.npz", p=P1, y=Y1[:2]))
    assert "p has 4 rows but y has 2 labels" in message


def test_text_among_logits(tmp_path):
    (tmp_path / "a.csv").write_text("logit_0,logit_1,y\n0.1,high,0\n0.2,0.3,1\n")
    assert "logits has type" in refusal(tmp_path / "a.csv")


def test_a_gap_in_numbered_columns_leaves_a_class_out(tmp_path):
    pd.DataFrame({"p0": [0.5], "p2": [0.5], "y": [0]}).to_csv(tmp_path / "a.csv", index=False)
    message = refusal(tmp_path / "a.csv")
    assert "columns p* are numbered [0, 2]" in message and "a gap leaves a class out" in message


def test_two_columns_of_one_class(tmp_path):
    pd.DataFrame({"p0": [0.5], "p1": [0.5], "p_1": [0.5], "y": [0]}).to_csv(tmp_path / "a.csv", index=False)
    assert "holds both p1 and p_1" in refusal(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_an_empty_file(tmp_path, suffix):
    (tmp_path / f"a{suffix}").write_bytes(b"")
    assert "is an empty file; probabilities and labels are needed" in refusal(tmp_path / f"a{suffix}")


def test_no_rows(path):
    message = refusal(write(path, p=np.zeros(0), y=np.zeros(0, dtype=int)))
    assert "p is empty" in message or "holds no rows" in message
    assert "at least one sample" in message


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_a_damaged_file(tmp_path, suffix):
    (tmp_path / f"a{suffix}").write_bytes(b"this is no archive, whatever its name says")
    assert f"cannot be read as {suffix}" in refusal(tmp_path / f"a{suffix}")


def test_a_truncated_file(tmp_path):
    path = write(tmp_path / "a.npz", p=P1, y=Y1)
    path.write_bytes(path.read_bytes()[:-100])
    assert "cannot be read as .npz" in refusal(path)


def test_pickled_objects_are_not_opened(tmp_path):
    np.savez(tmp_path / "a.npz", p=np.array([{"evil": 1}], dtype=object), y=np.array([0]))
    message = refusal(tmp_path / "a.npz")
    assert "cannot be read as .npz" in message and "allow_pickle" in message


def test_an_array_renamed_to_an_archive(tmp_path):
    with open(tmp_path / "a.npz", "wb") as f:
        np.save(f, P1)
    assert "cannot be read as .npz" in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.txt", "a.npy", "a"])
def test_other_formats(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    assert "allowed are .npz, .csv and .parquet" in refusal(tmp_path / name)


def test_a_wrong_name(path):
    message = refusal(write(path, probs=P, y=Y), probabilities="softmax")
    assert "has no array 'softmax' for probabilities" in message and "probs" in message


def test_no_path_and_no_file():
    assert "problem.predictions.path is missing" in refusal("")
    assert "no file /nowhere/a.npz here" in refusal("/nowhere/a.npz")


# Real data


def real(name):
    folder = os.environ.get("CALHARNESS_DATA")
    if not folder:
        pytest.skip("CALHARNESS_DATA is not set; it names the folder of downloaded data")
    if not (Path(folder) / "cifar_logits" / name).is_file():
        pytest.skip(f"cifar_logits/{name} is not below CALHARNESS_DATA")


@pytest.mark.parametrize(
    "name, file, accuracy",
    [
        ("cifar10_lenet5", "cifar10_lenet-5_netcal.npz", 0.5308),
        ("cifar10_vgg16", "cifar10_vgg16_keras_kumar2019.npz", 0.9359),
    ],
)
def test_a_real_network_under_every_notion(name, file, accuracy):
    """Its accuracy is that of its index; a binned error lies between |confidence - accuracy| and 1; the notions agree on n."""
    real(file)
    problem = harness.load_problem(name)
    assert problem.classes == 10 and problem.n_max == 10_000
    assert problem.notions == ("top_label", "classwise", "canonical")
    p, y = problem.sample(problem.n_max, np.random.default_rng(0))
    assert (p.argmax(axis=1) == y).mean() == pytest.approx(accuracy, abs=1e-12)
    gap = abs(p.max(axis=1).mean() - accuracy)
    for estimator in ("binned15", "binned15_mass", "variational_isotonic", "debiased15"):
        made = harness.load_estimator(estimator)
        for notion in set(problem.notions) & set(made.notions):
            got = estimate(made, p[:2000] if notion == "canonical" else p, y[:2000] if notion == "canonical" else y, notion,
                           np.random.default_rng(0))  # fmt: skip
            assert all(-0.05 <= e.value <= 2 for e in got.values() if np.isfinite(e.value)), (estimator, notion)
    top = estimate(harness.load_estimator("binned15"), p, y, "top_label", np.random.default_rng(0))["l1"].value
    assert gap - 1e-12 <= top <= 1


def test_published_errors_of_a_real_network_come_back():
    """Top-label ECE, 15 equal-width bins: 0.107888 (LeNet-5) and 0.039780 (VGG-16), from the data set's index; its bins are
    open below, which matters only for a confidence that equals an edge: below 1e-6 in 10,000 samples of float32."""
    for name, file, published in (
        ("cifar10_lenet5", "cifar10_lenet-5_netcal.npz", 0.107887881783165),
        ("cifar10_vgg16", "cifar10_vgg16_keras_kumar2019.npz", 0.03978006945799148),
    ):
        real(file)
        problem = harness.load_problem(name)
        p, y = problem.sample(problem.n_max, np.random.default_rng(0))
        got = estimate(harness.load_estimator("binned15"), p, y, "top_label", np.random.default_rng(0))["l1"].value
        assert got == pytest.approx(published, abs=1e-6)
