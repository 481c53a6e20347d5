"""Gains by recalibration with intervals that cover, and maps that are saved and read back."""

import json

import numpy as np
import pytest

import harness
from harness import calibrators
from harness.errors import BadInputError
from harness.judging import gain
from harness.judging.data import from_arrays
from harness.judging.gain import fit, gains
from harness.judging.saved import FittedMap, load, save
from harness.judging.scores import CLIP, mean_interval, row_scores


def vectors(n, k=3, seed=0):
    """Return calibrated vectors and labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)


def gains_of(p, y, seed=0):
    return gains(from_arrays(p, y), 0.95, np.random.default_rng(seed))


def sample(problem, n, seed=0):
    return harness.load_problem(problem).sample(n, np.random.default_rng(seed))


CALIBRATORS = {
    "temperature": calibrators.Temperature,
    "vector": calibrators.VectorScaling,
    "matrix": calibrators.MatrixScaling,
    "platt": calibrators.Platt,
    "beta": calibrators.BetaCalibration,
    "isotonic": calibrators.Isotonic,
}


@pytest.mark.parametrize(
    "method, k", [(m, 2) for m in gain.BINARY] + [(m, 4) for m in gain.MULTICLASS]
)
def test_a_map_equals_that_of_the_calibrator_and_is_read_back_unchanged(method, k, tmp_path):
    p, y = vectors(200, k)
    p[0] = np.eye(k)[0]  # p of 0 and 1
    fitted = fit(method, p, y, tuple("abcd"[:k]))
    q = fitted(p)
    if k == 2:
        binary = CALIBRATORS[method]().fit(p[:, 1], y)(p[:, 1])
        expected = np.column_stack([1.0 - binary, binary])
        assert fitted(p[:, 1]) == pytest.approx(q[:, 1])
    else:
        expected = CALIBRATORS[method]().fit(p, y)(p)
    if method == "isotonic":  # nothing is impossible
        expected = (200 * expected + 1.0 / k) / 201
    assert q == pytest.approx(expected, abs=1e-9) and q.sum(axis=1) == pytest.approx(np.ones(200))
    save(fitted, tmp_path / "map.json")
    again = load(tmp_path / "map.json")
    assert np.array_equal(again(p), q) and (again.classes, again.rows) == (fitted.classes, 200)


def content(**changes):
    """Return the text of a saved map with some changes."""
    good = {
        "format": "calharness recalibration map",
        "version": 1,
        "method": "temperature",
        "k": 3,
        "classes": ["a", "b", "c"],
        "rows": 10,
        "parameters": {"beta": 0.5},
    }
    return json.dumps({**good, **changes})


@pytest.mark.parametrize(
    "text, message",
    [
        ("not json", "not a recalibration map"),
        (b"\x93NUMPY\xff", "not a recalibration map"),
        ("[1, 2]", "not a recalibration map"),
        ('{"weights": 3}', "not a recalibration map"),
        (content()[:-20], "not a recalibration map"),
        (content(version=2), "has version 2"),
        (content(method="exec"), "method is 'exec'"),
        (content(method=["temperature"]), "is damaged"),
        (content(k=True), "is damaged"),
        (content(rows=float("inf")), "is damaged"),
        (content(classes=["a"]), "3 class names"),
        (content(parameters={}), "beta"),
        (content(parameters=[1]), "is damaged"),
        (content(parameters={"beta": "x"}), "is damaged"),
        (content(parameters={"beta": float("nan")}), "parameter beta"),
        (content(method="vector", parameters={"w": [1, 2], "b": [0, 0, 0]}), "parameter w"),
        (content(method="matrix", parameters={"W": [[1], [2, 3]], "b": [0] * 3}), "is damaged"),
        (content(method="platt", parameters={"a": 0, "b": 1}), "platt is not for 3 classes"),
        (content(method="isotonic", parameters={"x": [[0, 0]] * 3, "y": [[0, 1]] * 3}), "x"),
        (content(method="isotonic", parameters={"x": [[0, 1]] * 3, "y": [[0, 2]] * 3}), "y"),
        (content(method="isotonic", parameters={"x": [[0, 1]], "y": [[0, 1]]}), "parameter x"),
    ],
)
def test_another_or_a_damaged_file_is_refused_in_one_sentence(text, message, tmp_path):
    path = tmp_path / "map.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInputError, match=message) as error:
        load(path)
    assert str(error.value).endswith(".") and "map.json" in str(error.value)


@pytest.mark.parametrize(
    "p, message",
    [
        (np.full((2, 4), 0.25), r"shape \(2, 4\).* 3 classes \(a, b, c\)"),
        (np.array([0.5]), r"of shape \(n, 3\)\.$"),
        ([[0.5, 0.5, np.nan]], "NaN"),
        ([[0.5, 0.5, 0.5]], "sums to 1.5"),
    ],
)
def test_a_map_refuses_other_shapes_and_values(p, message):
    fitted = FittedMap("temperature", 3, ("a", "b", "c"), 10, {"beta": np.array(1.0)})
    with pytest.raises(BadInputError, match=message):
        fitted(p)
    assert fitted(np.zeros((0, 3))).shape == (0, 3)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read"):
        load(tmp_path / "nothing.json")
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="cannot be written"):
        fitted = FittedMap("temperature", 2, ("a", "b"), 10, {"beta": np.array(1.0)})
        save(fitted, tmp_path / "file" / "map.json")


def test_scores_and_their_mean_by_hand():
    log_loss, brier = row_scores(np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]), np.array([2, 0]))
    assert log_loss == pytest.approx([np.log(2.0), -np.log(CLIP)])
    assert brier == pytest.approx([0.04 + 0.09 + 0.25, 2.0])
    mean = mean_interval(np.array([1.0, 3.0]), 0.95, 0.95)  # t with 1 degree of freedom: 12.7062
    assert (mean.value, mean.low) == pytest.approx((2.0, 2.0 - 12.7062), rel=1e-4)
    assert mean_interval(np.array([1.0]), 0.95, 0.95).low is None


def test_the_gain_is_that_of_held_out_rows():
    p, y = sample("beta_overconfident", 100)
    fold = gain.folds(100, np.random.default_rng(3))
    q = np.empty(100)
    for j in range(5):
        q[fold == j] = calibrators.Temperature().fit(p[fold != j], y[fold != j])(p[fold == j])
    brier = np.mean((p - y) ** 2 - (q - y) ** 2)
    assert gains_of(p, y, 3).gains[0].brier.value == pytest.approx(brier)


def test_a_gain_is_shown_only_where_there_is_one():
    answer = gains_of(*sample("beta_overconfident", 1000))
    assert [row.method for row in answer.gains] == list(gain.BINARY)
    assert answer.best in ("platt", "beta")
    assert " would lower the log-loss by 0.1" in answer.sentence
    answer = gains_of(*sample("beta_calibrated", 1000))
    assert answer.best is None and answer.fitted is None
    assert answer.sentence.startswith("No method shows a significant gain")


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem, method",
    [("beta_calibrated", "platt"), ("beta_shifted", "platt"), ("beta_calibrated", "isotonic")],
)
def test_intervals_cover_the_gain_of_the_maps_on_new_rows(problem, method, monkeypatch):
    monkeypatch.setattr(gain, "BINARY", (method,))  # each interval at 0.95
    new, labels = sample(problem, 20_000, 99)
    new = np.column_stack([1.0 - new, new])
    before, covered, reps = row_scores(new, labels), [], 40
    for r in range(reps):
        p, y = sample(problem, 200, [1, r])
        data = from_arrays(p, y)
        (answer,) = gains(data, 0.95, np.random.default_rng(r)).gains
        fold = gain.folds(200, np.random.default_rng(r))
        maps = [fit(method, data.p[fold != j], y[fold != j], data.classes) for j in range(5)]
        after = np.mean([[s.mean() for s in row_scores(q(new), labels)] for q in maps], axis=0)
        truth = [s.mean() for s in before] - after
        intervals = answer.log_loss, answer.brier
        covered += [i.low <= t <= i.high for i, t in zip(intervals, truth)]
    assert np.mean(covered) >= 0.95 - 3.0 * np.sqrt(0.95 * 0.05 / reps)


def test_gains_with_three_and_with_many_classes(monkeypatch):
    p, y = vectors(300)
    sharp = p**3 / (p**3).sum(axis=1, keepdims=True)
    answer = gains_of(sharp, y)
    assert [row.method for row in answer.gains] == list(gain.MULTICLASS)
    assert answer.best == "temperature" and answer.fitted(sharp) == pytest.approx(p, abs=0.15)
    monkeypatch.setattr(gain, "MULTICLASS", ("matrix",))
    (matrix,) = gains_of(*vectors(400, 40)).gains
    assert matrix.log_loss.value is None and "more than 30 classes" in matrix.reason


def test_outcomes_of_probability_0_are_mentioned():
    p, y = sample("beta_overconfident", 200)
    p[:3], y[:3] = [0.0, 1.0, 0.0], [1, 0, 0]
    answer = gains_of(p, y)
    assert "In 2 rows the outcome had a probability of nearly 0" in answer.sentence
    assert all(np.isfinite(row.log_loss.value) for row in answer.gains)


@pytest.mark.parametrize("n", [1, 5, 19, 20, 60])
@pytest.mark.parametrize("kind", ["one class", "constant", "zeros and ones", "three"])
def test_few_rows_and_degenerate_ones_have_an_answer(n, kind):
    p, y = np.random.default_rng(0).random(n), np.arange(n) % 2
    if kind == "one class":
        y = np.ones(n, int)
    elif kind == "constant":
        p = np.full(n, 0.5)
    elif kind == "zeros and ones":
        p = (p < 0.5).astype(float)
    else:
        p = np.tile([0.2, 0.8, 0.0], (n, 1))
    answer = gains_of(p, y)
    assert answer.sentence.endswith(".") and "nan" not in answer.sentence
    assert (answer.gains == ()) == (n < 20)


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(gain, "most_rows", lambda k: 600)
    answer = gains_of(*sample("beta_overconfident", 800))
    assert "600 of the 800 rows" in answer.sentence and answer.fitted.rows == 600


@pytest.mark.slow
def test_a_real_network_gains_from_every_map(real_network):
    answer = gains(real_network("cifar10_resnet20_chenyaofo"), 0.95, np.random.default_rng(0))
    assert all(row.log_loss.low > 0.0 for row in answer.gains) and answer.fitted.rows == 10_000
