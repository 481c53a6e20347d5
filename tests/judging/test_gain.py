"""Gains by recalibration with intervals that cover, and maps that are saved and read back."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

import harness
from harness import calibrators
from harness.errors import BadInputError
from harness.judging import gain
from harness.judging.data import from_arrays, from_file
from harness.judging.findings import Gain
from harness.judging.gain import fit, gains
from harness.judging.interval import Interval
from harness.judging.judge import judge_data
from harness.judging.saved import FittedMap, load, save
from harness.judging.scores import mean_interval, row_scores

CASES = Path(__file__).parents[1] / "cases"


def vectors(n, k=3, seed=0):
    """Return calibrated vectors and labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.7), n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=k - 1)


def gains_of(p, y, seed=0):
    return gains(from_arrays(p, y), 0.95, np.random.default_rng(seed))


def sample(problem, n, seed=0):
    return harness.load_problem(problem).sample(n, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "method, k", [(m, 2) for m in gain.BINARY] + [(m, 4) for m in gain.MULTICLASS]
)
def test_a_map_is_read_back_unchanged(method, k, tmp_path):
    p, y = vectors(200, k)
    p[0] = np.eye(k)[0]  # p of 0 and 1
    fitted = fit(method, p, y, tuple("abcd"[:k]))
    q = fitted(p)
    if k == 2:
        assert fitted(p[:, 1]) == pytest.approx(q[:, 1])
    assert q.sum(axis=1) == pytest.approx(np.ones(200))
    save(fitted, tmp_path / "map.json")
    again = load(tmp_path / "map.json")
    assert np.array_equal(again(p), q) and (again.classes, again.rows) == (fitted.classes, 200)


IDENTITY = {"a": {"platt": 0.0, "beta": 1.0}, "b": {"platt": 1.0, "beta": 1.0, "vector": 0.0}}
LINEAR = [(m, 2) for m in gain.BINARY if m != "isotonic"]
LINEAR += [(m, 4) for m in gain.MULTICLASS if m != "isotonic"]


def objective(fitted, p, y):
    """Return the mean log-loss plus the ridge of weight 1 / n towards the identity."""
    ridge = 0.0
    for name, value in fitted.parameters.items():
        identity = IDENTITY.get(name, {}).get(fitted.method, float(name in ("beta", "w")))
        if name == "W":
            identity = np.eye(fitted.k)
            ridge += ((value * (1.0 - identity)) ** 2).sum()  # matrix scaling has its own ridge
        elif fitted.method == "matrix":
            identity, ridge = 0.0, ridge + (value**2).sum()
        ridge += 0.5 * ((value - identity) ** 2).sum()
    return row_scores(fitted(p), y)[0].mean() + ridge / len(y)


@pytest.mark.parametrize("method, k", LINEAR)
def test_a_linear_map_minimises_the_log_loss_with_a_ridge_towards_the_identity(method, k):
    p, y = vectors(200, k)
    fitted = fit(method, p, y, tuple("abcd"[:k]))
    least = objective(fitted, p, y)
    for name, value in fitted.parameters.items():
        for i in np.ndindex(np.shape(value)):
            for step in (-0.01, 0.01):
                moved = np.array(value, dtype=float)
                moved[i] += step
                other = replace(fitted, parameters={**fitted.parameters, name: moved})
                assert objective(other, p, y) > least


def test_an_isotonic_map_excludes_nothing():
    p, y = vectors(200, 2)
    expected = calibrators.Isotonic().fit(p[:, 1], y)(p[:, 1])
    q = fit("isotonic", p, y, ("a", "b"))(p[:, 1])
    assert q == pytest.approx((200 * expected + 0.5) / 201)


@pytest.mark.parametrize(
    "method, k", [(m, 2) for m in gain.BINARY] + [(m, 10) for m in gain.MULTICLASS]
)
def test_a_map_of_rows_without_an_error_stays_near_to_the_predictions(method, k):
    """500 rows without an error support a slope of 1.3, but not one of 10^6."""
    if k == 2:
        p = np.random.default_rng(0).uniform(0.0, 0.002, 500)
        p, y = np.column_stack([1.0 - p, p]), np.zeros(500, dtype=int)
    else:
        data = from_file(CASES / "accurate10.npz")
        p, y = data.p, data.y
    fitted = fit(method, p, y, tuple(str(j) for j in range(k)))
    for name, value in fitted.parameters.items():
        assert name in ("x", "y") or np.abs(value).max() < 3.0
    assert 0.02 < (1.0 - fitted(p).max(axis=1)).sum() < 1.0
    assert method == "isotonic" or fitted(np.full((1, k), 1.0 / k)).max() < 0.95


def test_rows_without_an_error_show_no_gain():
    data = from_file(CASES / "accurate10.npz")
    answer = gains(data, 0.95, np.random.default_rng(0))
    assert answer.best is None and answer.fitted is None and "Too few errors (0)" in answer.sentence
    assert all(row.log_loss.low < 0.0 < row.log_loss.high for row in answer.gains)


@pytest.mark.parametrize("n", [200, 2000])
def test_gains_on_calibrated_rare_events_are_rarely_claimed(n):
    """0.7 expected events. A t interval alone claims a gain in half of these samples."""
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet([1.0, 1.0], n)[:, 0] * 1.4 / n
        answer = gains_of(p, (rng.random(n) < p).astype(int), seed)
        claims += any(max(row.log_loss.sign, row.brier.sign) > 0 for row in answer.gains)
    assert claims <= 4  # P(more than 4 of 40) is 0.05 at a rate of 5 %


def test_a_gain_is_claimed_although_errors_are_few_if_it_is_known():
    """Half of 1,000 rows at 0.5 should be wrong; three are."""
    y = np.repeat([1, 0], [997, 3])
    answer = gains_of(np.random.default_rng(0).uniform(0.49, 0.51, 1000), y)
    assert answer.best is not None and answer.gains[1].log_loss.low > 0.3


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
    assert log_loss == pytest.approx([np.log(2.0), np.inf])
    assert brier == pytest.approx([0.04 + 0.09 + 0.25, 2.0])
    mean = mean_interval(np.array([1.0, 3.0]), 0.95, 0.95)  # t with 1 degree of freedom: 12.7062
    assert (mean.value, mean.low) == pytest.approx((2.0, 2.0 - 12.7062), rel=1e-4)
    assert mean_interval(np.array([1.0]), 0.95, 0.95).low is None


def test_the_gain_is_that_of_held_out_rows():
    p, y = sample("beta_overconfident", 100)
    fold = gain.folds(100, np.random.default_rng(3))
    q = np.empty(100)
    for j in range(5):
        beta = calibrators.Temperature().slope(p[fold != j], y[fold != j], ridge=1 / 80)
        q[fold == j] = expit(beta * logit(p[fold == j]))
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


def gain_of(method, log_loss, brier):
    log_loss, brier = (Interval(value, value - 0.01, value + 0.01) for value in (log_loss, brier))
    return Gain(method, gain.LABELS[method], log_loss, brier)


@pytest.mark.parametrize(
    "gains, best",
    [
        ([("temperature", 0.02, 0.0), ("isotonic", 0.0, 0.05)], "temperature"),
        ([("temperature", 0.0, 0.0), ("isotonic", 0.009, 0.05)], "isotonic"),
        ([("temperature", 0.03, -0.02), ("isotonic", 0.02, 0.0)], "isotonic"),
        ([("temperature", 0.03, -0.02), ("isotonic", 0.0, 0.0)], "temperature"),
        ([("temperature", 0.009, 0.009), ("isotonic", -0.02, 0.0)], None),
    ],
)
def test_both_scores_count_when_a_method_is_recommended(gains, best):
    chosen = gain.choose_best([gain_of(*row) for row in gains])
    assert (chosen and chosen.method) == best


def test_a_gain_in_the_brier_score_alone_is_a_gain(cases):
    judgement = judge_data([from_file(cases / "forest3.parquet")], questions=["gains"])
    answer = judgement.gains
    (isotonic,) = [row for row in answer.gains if row.method == "isotonic"]
    brier = isotonic.brier
    assert (brier.value, brier.low, brier.high) == pytest.approx((0.0094, 0.0002, 0.0186), abs=1e-4)
    assert answer.best == "isotonic" == answer.fitted.method
    assert answer.sentence.startswith(
        "Isotonic regression would lower the Brier score by 0.0094 (0.0002 to 0.0186)"
    )
    assert judgement.to_json()["numbers"]["brier.gain.low"]["value"] == brier.low


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
    assert (answer.gains == ()) == (n < 20 or kind == "one class")


def test_of_very_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(gain, "most_rows", lambda k: 600)
    answer = gains_of(*sample("beta_overconfident", 800))
    assert "600 of the 800 rows" in answer.sentence and answer.fitted.rows == 600


@pytest.mark.slow
def test_a_real_network_gains_from_every_map(real_network):
    answer = gains(real_network("cifar10_resnet20_chenyaofo"), 0.95, np.random.default_rng(0))
    assert all(row.log_loss.low > 0.0 for row in answer.gains) and answer.fitted.rows == 10_000


@pytest.mark.parametrize("k", [2, 3])
def test_decisions_that_are_all_right_show_no_interval_of_the_gain(k):
    """All p are 0 or 1, and no row shows how often such a decision is wrong."""
    y = np.arange(300) % k
    answer = gains(from_arrays(np.eye(k)[y], y), 0.95, np.random.default_rng(0))
    assert answer.best is None
    for row in answer.gains:
        assert row.log_loss.low is None and row.log_loss.high is None and row.reason
        for interval in (row.log_loss, row.brier):
            assert interval.low is None or interval.low < interval.high
    temperature = answer.gains[0]
    assert temperature.log_loss.value == temperature.brier.value == 0.0
    judgement = harness.judge(np.eye(k)[y], y)
    assert "[0, 0]" not in str(judgement) and "0.000 to 0.000" not in str(judgement)
