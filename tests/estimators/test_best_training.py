"""The weights of `Best`: their origin, and the training that makes them."""

import json
import sys
from dataclasses import asdict
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from harness.estimators import learned

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def training():
    sys.path.insert(0, str(TOOLS))
    try:
        import train_best
    finally:
        sys.path.remove(str(TOOLS))
    return train_best


@pytest.fixture(scope="module")
def rows(training):
    """120 simulated settings of scalars."""
    prior = training.PRIORS["stated"]["scalar"]
    return training.Rows.of(training.simulate_rows("scalar", range(120)), prior, 0)


def deployed(rows, name):
    """Return the values of the stored networks on simulated rows."""
    net, networks = learned.load_ensemble("scalar"), learned.ensemble_networks("scalar")
    x = (rows.x - net["centre"]) / net["spread"]
    hidden = [learned.hidden_layer(w, x) for w in networks]
    return learned.ensemble_value(
        networks, name, hidden, rows.candidates[name], rows.unit[name], rows.lowest[name]
    )


def test_the_weights_name_the_code_and_the_division_that_made_them(training):
    with (
        resources.files("harness.estimators").joinpath(learned.WEIGHTS).open("rb") as file,
        np.load(file) as stored,
    ):
        about = json.loads(str(stored["about"]))
    for kind, made in about.items():
        assert made["division_sha256"] == training.division_hash()
        assert made["code_sha256"] == training.code_hash(TOOLS / "train_best.py")
        assert made["simulation_code_sha256"] == training.simulation_hash(kind)
        assert made["prior"] == asdict(training.PRIORS["stated"][kind])
        assert len(made["commit"]) == 40
    assert set(about) == {"scalar", "vector"}


def test_the_region_without_wider_intervals_is_that_of_the_simulated_vectors(training):
    prior = training.best_prior
    assert (prior.LARGE_N, prior.LARGEST_ENTRIES) == (
        learned.SIMULATED_ROWS,
        learned.SIMULATED_ENTRIES,
    )


def test_an_ensemble_is_stored_without_changing_the_other(training, tmp_path):
    out = tmp_path / "weights.npz"
    training.store(out, {"scalar": {"first.0": np.ones(2)}}, {"scalar": {"seed": 0}})
    training.store(out, {"vector": {"below_l1": np.ones(3)}}, {"vector": {"seed": 1}})
    training.store(out, {"scalar": {"below_l1": np.zeros(1)}}, {"scalar": {"seed": 2}})
    with np.load(out) as stored:
        assert set(stored.files) == {"about", "scalar/below_l1", "vector/below_l1"}
        about = json.loads(str(stored["about"]))
    assert about == {"scalar": {"seed": 2}, "vector": {"seed": 1}}


def test_comments_do_not_change_the_hash_of_code_and_statements_do(training, tmp_path):
    texts = [
        '"""Doc."""\n\n\ndef f():\n    """Two\n    lines."""\n    # why\n    return 1\n',
        "def f():\n    return 1\n",
        "def f():\n    return 2\n",
    ]
    hashes = []
    for text in texts:
        (tmp_path / "code.py").write_text(text)
        hashes.append(training.code_hash(tmp_path / "code.py"))
    assert hashes[0] == hashes[1] != hashes[2]


def test_simulations_continue_and_other_code_starts_anew(training, tmp_path, monkeypatch):
    calls = []

    def rows(kind, numbers):
        calls.append(numbers.start)
        return {"n": np.array(list(numbers))}

    monkeypatch.setattr(training, "simulate_rows", rows)
    training.simulate("scalar", tmp_path / "one", 200, jobs=1)
    training.simulate("scalar", tmp_path / "one", 300, jobs=1)
    assert calls == [0, 100, 200]
    assert (training.load("scalar", tmp_path / "one", 300)["n"] == np.arange(300)).all()
    with pytest.raises(SystemExit, match="300 scalar settings"):
        training.load("scalar", tmp_path / "one", 400)
    training.simulate("scalar", tmp_path / "other", 100, jobs=1)
    assert calls == [0, 100, 200, 0]


def test_a_setting_depends_on_its_number_alone(training):
    alone, among = (training.simulate_rows("scalar", numbers) for numbers in ([7], range(6, 8)))
    is_seven = among["setting"] == 7
    assert (among["truth_l1"][is_seven] == alone["truth_l1"]).all()
    np.testing.assert_allclose(among["features"][is_seven], alone["features"], rtol=1e-4, atol=1e-4)


def test_a_small_training_resembles_the_stored_weights(training, rows):
    """Trained on 90 settings, a network is better than the mean of its candidates on settings that
    it has not seen, and close to the stored ensemble."""
    net = training.train(rows, 1e-4, members=1, epochs=8, report=lambda text: None)
    small = {name.rpartition(".")[0]: x for name, x in net.items() if name.endswith(".0")}
    hidden = learned.hidden_layer(small, (rows.x - net["centre"]) / net["spread"])
    parts = rows.candidates["l1"], rows.unit["l1"], rows.lowest["l1"]
    value = learned.ensemble_value([small], "l1", [hidden], *parts)
    unseen = rows.part != "weights"
    mean = rows.candidates["l1"].mean(axis=1)
    regret, regret_mean, regret_stored = (
        np.average(training.log_regrets(x, rows, "l1")[unseen], weights=rows.weight[unseen])
        for x in (value, mean, deployed(rows, "l1"))
    )
    assert max(regret, regret_stored) < regret_mean
    assert np.corrcoef(value, deployed(rows, "l1"))[0, 1] > 0.9


def test_weights_give_each_range_of_errors_its_share(training):
    l1 = np.repeat([0.0, 0.03, 0.2, 0.5], [10, 40, 30, 20])
    prior = training.Prior(low=0.02, high=0.25, below=0.1, above=0.2)
    weights = prior.weights(l1)
    assert weights[l1 == 0.0].sum() / weights[l1 == 0.5].sum() == pytest.approx(0.5)
    assert weights[l1 == 0.03].sum() == pytest.approx(weights[l1 == 0.2].sum())
    assert weights.mean() == pytest.approx(1.0)


def test_pinball_loss_finds_the_quantile(training):
    """With a constant feature, the fit is the weighted quantile of the target."""
    target = default_rng(0).exponential(size=4_000)
    b = training.fit_quantile(np.ones((4_000, 1)), target, 1e-4)
    width = learned.width(np.ones((1, 1)), b)[0]
    # the standard error of the empirical quantile is sqrt(q (1 - q) / n) / density = 0.1
    assert width == pytest.approx(-np.log(1.0 - training.QUANTILE), abs=0.4)


def test_factors_cover_each_shape_at_its_level(training, monkeypatch):
    monkeypatch.setattr(training, "SHAPES_COVERED", 1.0)
    rng = default_rng(1)
    n = rng.choice([60, 250, 5_000], 6_000)
    shape = rng.choice(["easy", "hard"], 6_000)
    score = np.abs(rng.standard_normal(6_000)) * np.where(shape == "hard", 2.0, 1.0) / np.sqrt(n)
    events = rng.choice([2, 300], 6_000)
    score *= np.where(events == 2, 3.0, 1.0)
    places = {"n": n, "events": events, "classes": np.full(6_000, 2)}
    factors = training.conformal_factors(score, places, shape)
    row = learned.LEVELS.index(0.9)
    chosen = np.prod(
        [factor[row, learned.nearest_knot(places[axis], axis)] for axis, factor in factors.items()],
        axis=0,
    )
    for chosen_rows in (shape == "easy", shape == "hard", events == 2, n == 60):
        assert (score <= chosen)[chosen_rows].mean() >= 0.9
    assert factors["events"][row].max() > 1.0 and (factors["classes"] == 1.0).all()


def test_factors_between_levels_follow_the_normal_quantile():
    factors = np.outer([0.3, 0.6, 0.8, 1.0, 1.5], np.ones(len(learned.KNOTS["n"])))
    assert learned.level_factor(factors, "n", 500, 0.95) == pytest.approx(1.0)
    assert 1.0 < learned.level_factor(factors, "n", 500, 0.97) < 1.5
    assert learned.level_factor(factors, "n", 500, 0.999) > 1.5


def test_factors_of_events_are_linear_in_the_logarithm_and_constant_outside():
    factors = np.tile([4.0, 3.0, 2.0, 1.0], (len(learned.LEVELS), 1))
    at = [learned.level_factor(factors, "events", x, 0.95) for x in (0.0, 1, 5**0.5, 5, 100, 1e6)]
    assert at == pytest.approx([4.0, 4.0, 3.5, 3.0, 1.0, 1.0])
    assert learned.level_factor(factors, "events", 5, 0.9999) == pytest.approx(3.0)
