"""What recalibration gains: cross-fitted, with intervals that cover; maps that are saved and read back."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import harness
from harness import calibrators
from harness.errors import BadInputError
from harness.judging import gain
from harness.judging.findings import Judged
from harness.judging.gain import CLIP, fit, gains, paired_mean, scores
from harness.judging.saved import FittedMap, load, save


def judged(p, y, **more):
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    return Judged("model", p, y, tuple(f"c{j}" for j in range(p.shape[1])), **more)


def vectors(n, k=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)


PIECES = {
    "temperature": calibrators.Temperature, "vector": calibrators.VectorScaling, "matrix": calibrators.MatrixScaling,
    "platt": calibrators.Platt, "beta": calibrators.BetaCalibration, "isotonic": calibrators.Isotonic,
}  # fmt: skip


@pytest.mark.parametrize("method, k", [(m, 2) for m in gain.BINARY] + [(m, 4) for m in gain.MORE])
def test_a_map_is_that_of_the_calibrator_and_the_same_when_read_back(method, k, tmp_path):
    p, y = vectors(200, k)
    p[0] = np.eye(k)[0]  # p of 0 and 1
    fitted = fit(method, p, y, tuple("abcd"[:k]))
    q = fitted(p)
    if k == 2:
        one = PIECES[method]().fit(p[:, 1], y)(p[:, 1])
        expected = np.column_stack([1.0 - one, one])
        assert fitted(p[:, 1]) == pytest.approx(q[:, 1])
    else:
        expected = PIECES[method]().fit(p, y)(p)
    if method == "isotonic":  # nothing is impossible
        expected = (200 * expected + 1.0 / k) / 201
    assert q == pytest.approx(expected, abs=1e-9) and q.sum(axis=1) == pytest.approx(np.ones(200))
    save(fitted, tmp_path / "map.json")
    again = load(tmp_path / "map.json")
    assert np.array_equal(again(p), q) and (again.classes, again.rows) == (fitted.classes, 200)


def content(**changes):
    good = {
        "format": "calharness recalibration map", "version": 1, "method": "temperature", "k": 3, "classes": ["a", "b", "c"],
        "rows": 10, "parameters": {"beta": 0.5},
    }  # fmt: skip
    return {**good, **changes}


@pytest.mark.parametrize(
    "text, message",
    [
        ("not json", "is no JSON"),
        (b"\x93NUMPY\xff", "is no JSON"),
        ("[1, 2]", "is no recalibration map"),
        (json.dumps({"weights": 3}), "is no recalibration map"),
        (json.dumps(content())[:-20], "is no JSON"),
        (json.dumps(content(version=2)), "has version 2"),
        (json.dumps(content(method="exec")), "is damaged: method is 'exec'"),
        (json.dumps(content(k=True)), "is damaged: k is True"),
        (json.dumps(content(classes=["a"])), "names of 3 classes"),
        (json.dumps(content(parameters={})), "parameters must be beta"),
        (json.dumps(content(parameters={"beta": "1"})), "beta must be one number"),
        (json.dumps(content(parameters={"beta": float("nan")})), "beta must be one number"),
        (
            json.dumps(content(method="vector", parameters={"w": [1, 2], "b": [0, 0, 0]})),
            "parameter w must be 3",
        ),
        (
            json.dumps(content(method="platt", parameters={"a": 0, "b": 1})),
            "platt is not of 3 classes",
        ),
        (
            json.dumps(
                content(method="isotonic", parameters={"x": [[0, 0]] * 3, "y": [[0, 1]] * 3})
            ),
            "ascending x",
        ),
        (
            json.dumps(
                content(method="isotonic", parameters={"x": [[0, 1]] * 3, "y": [[0, 2]] * 3})
            ),
            "within 0 and 1",
        ),
    ],
)
def test_a_foreign_or_broken_file_is_refused_in_a_sentence(text, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(text) if isinstance(text, bytes) else path.write_text(text)
    with pytest.raises(BadInputError, match=message) as error:
        load(path)
    assert str(error.value).endswith(".") and "map.json" in str(error.value)


def test_a_map_refuses_what_it_was_not_fitted_on(tmp_path):
    one = FittedMap("temperature", 3, ("a", "b", "c"), 10, {"beta": np.array(1.0)})
    for p, message in [
        (np.full((2, 4), 0.25), r"shape \(2, 4\); this map was fitted on 3 classes \(a, b, c\)"),
        (np.array([0.5]), r"takes \(n, 3\)\.$"),
        ([[0.5, 0.5, np.nan]], "outside"),
        ([[0.5, 0.5, 0.5]], "do not sum to 1"),
    ]:
        with pytest.raises(BadInputError, match=message):
            one(p)
    assert one(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(BadInputError, match="no map to save"):
        save(None, tmp_path / "map.json")
    with pytest.raises(BadInputError, match="cannot be read"):
        load(tmp_path / "nothing.json")
    with pytest.raises(BadInputError, match="cannot be written"):
        (tmp_path / "file").touch()
        save(one, tmp_path / "file" / "map.json")


def test_scores_and_a_paired_mean_by_hand():
    log_loss, brier = scores(np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]), np.array([2, 0]))
    assert log_loss == pytest.approx([np.log(2.0), -np.log(CLIP)]) and brier == pytest.approx(
        [0.04 + 0.09 + 0.25, 2.0]
    )
    found = paired_mean(
        np.array([1.0, 3.0]), 0.95, 0.95
    )  # t with 1 degree of freedom: 12.7062 * sqrt(2) / sqrt(2)
    assert (found.value, found.low) == pytest.approx((2.0, 2.0 - 12.7062), rel=1e-4)
    assert paired_mean(np.array([1.0]), 0.95, 0.95).low is None


def test_the_gain_is_that_of_held_out_rows_by_hand():
    p, y = harness.load_problem("beta_overconfident").sample(100, np.random.default_rng(0))
    found = gains(judged(p, y), 0.95, 3, ["temperature"])
    stream = np.random.default_rng(3)
    fold = gain.folds(100, stream)
    q = np.empty(100)
    for j in range(5):
        q[fold == j] = calibrators.Temperature().fit(p[fold != j], y[fold != j])(p[fold == j])
    brier = np.mean((p - y) ** 2 - (q - y) ** 2)
    assert found.gains[0].brier.value == pytest.approx(brier) and found.fitted.rows == 100


def test_a_gain_is_found_where_there_is_one_and_not_where_there_is_none():
    p, y = harness.load_problem("beta_overconfident").sample(1000, np.random.default_rng(0))
    found = gains(judged(p, y), 0.95, 0)
    assert found.best in ("platt", "beta") and [one.method for one in found.gains] == list(
        gain.BINARY
    )
    assert (
        " would lower the log-loss by 0.1" in found.sentence
        and "hold for all methods together" in found.sentence
    )
    p, y = harness.load_problem("beta_calibrated").sample(1000, np.random.default_rng(0))
    calm = gains(judged(p, y), 0.95, 0)
    assert (
        calm.best is None
        and calm.fitted is None
        and calm.sentence.startswith("No method is shown to gain at n = 1,000")
    )


@pytest.mark.slow
def test_intervals_of_the_gain_cover_what_the_maps_gain_on_new_rows():
    for problem, method in (
        ("beta_calibrated", "platt"),
        ("beta_shifted", "platt"),
        ("beta_calibrated", "isotonic"),
    ):
        one = harness.load_problem(problem)
        new, labels = one.sample(20_000, np.random.default_rng(99))
        new = np.column_stack([1.0 - new, new])
        before, covered, reps = scores(new, labels), [], 40
        for r in range(reps):
            p, y = one.sample(200, np.random.default_rng([1, r]))
            data = judged(p, y)
            found = gains(data, 0.95, r, [method])
            fold = gain.folds(200, np.random.default_rng(r))
            maps = [fit(method, data.p[fold != j], y[fold != j], data.classes) for j in range(5)]
            truth = np.mean(
                [[(a - b).mean() for a, b in zip(before, scores(q(new), labels))] for q in maps],
                axis=0,
            )
            interval = found.gains[0].log_loss, found.gains[0].brier
            covered += [i.low <= t <= i.high for i, t in zip(interval, truth)]
        assert np.mean(covered) >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / reps), (problem, method)


def test_more_classes_many_classes_and_what_is_left_out():
    p, y = vectors(300)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    found = gains(judged(sharp, y), 0.95, 0)
    assert [one.method for one in found.gains] == list(gain.MORE) and found.best == "temperature"
    assert found.fitted(sharp) == pytest.approx(p, abs=0.15)
    p, y = vectors(400, 40)
    (matrix,) = gains(judged(p, y), 0.95, 0, ["matrix"]).gains
    assert matrix.log_loss.value is None and matrix.reason.startswith("left out: with 40 classes")


def test_an_outcome_called_impossible_is_said():
    p, y = harness.load_problem("beta_overconfident").sample(200, np.random.default_rng(0))
    p[:3], y[:3] = [0.0, 1.0, 0.0], [1, 0, 0]
    found = gains(judged(p, y), 0.95, 0)
    assert "In 2 rows the outcome had been given a probability of (nearly) 0" in found.sentence
    assert all(np.isfinite(one.log_loss.value) for one in found.gains)


def test_methods_are_checked_and_a_named_one_is_fitted():
    p, y = harness.load_problem("beta_calibrated").sample(100, np.random.default_rng(0))
    for methods, message in (
        (["isotonik"], "did you mean 'isotonic'"),
        (["vector"], "of two classes"),
        ([], "is empty"),
    ):
        with pytest.raises(BadInputError, match=message):
            gains(judged(p, y), 0.95, 0, methods)
    assert gains(judged(p, y), 0.95, 0, ["isotonic"]).fitted.method == "isotonic"


@pytest.mark.parametrize("n", [1, 5, 19, 20, 60])
@pytest.mark.parametrize("kind", ["one class", "constant", "zeros and ones", "three"])
def test_few_rows_and_odd_ones_have_an_answer(n, kind):
    y = np.arange(n) % 2
    p = np.random.default_rng(0).random(n)
    if kind == "one class":
        y = np.ones(n, int)
    elif kind == "constant":
        p = np.full(n, 0.5)
    elif kind == "zeros and ones":
        p = (p < 0.5).astype(float)
    else:
        p = np.tile([0.2, 0.8, 0.0], (n, 1))
    found = gains(judged(p, y), 0.95, 0)
    assert (
        found.sentence.endswith(".")
        and "nan" not in found.sentence
        and (found.gains == ()) == (n < 20)
    )


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(gain, "most_rows", lambda k: 100)
    p, y = harness.load_problem("beta_overconfident").sample(150, np.random.default_rng(0))
    found = gains(judged(p, y), 0.95, 0, ["temperature"])
    assert (
        "Of the 150 rows, 100 drawn at random were used." in found.sentence
        and found.fitted.rows == 100
    )


@pytest.mark.slow
def test_a_real_network_gains_from_temperature():
    folder = os.environ.get("CALHARNESS_DATA")
    if not folder:
        pytest.skip("CALHARNESS_DATA is not set")
    pack = np.load(Path(folder) / "cifar_logits" / "cifar10_resnet20_chenyaofo.npz")
    z = pack["logits"].astype(float)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    found = gains(judged(e / e.sum(axis=1, keepdims=True), pack["labels"].astype(int)), 0.95, 0)
    assert all(one.log_loss.low > 0.0 for one in found.gains) and found.fitted.rows == 10_000
