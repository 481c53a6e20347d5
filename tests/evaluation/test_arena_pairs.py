"""Pairs of models on the same rows.

Who wins by hand, halves, intervals, and that the arena's models share rows and labels.
"""

import numpy as np
import pandas as pd
import pytest
from test_arena import rows

from harness import load_problem
from harness.configure.compose import compose
from harness.evaluation.arena import pairs as arena_pairs
from harness.figures import arena_plot
from harness.pages.arena import tables as arena_tables
from harness.problems.base import ProblemSpec

STREAMS = {"a": "s", "b": "s", "c": "s"}


def pair_records():
    """True errors 0.1, 0.15 and 0.3: the closest pair is (a, b), then (b, c), then (a, c)."""
    more = {"experiment": arena_pairs.EXPERIMENT}
    odd = {**more, "estimand": "ks", "truth": np.nan}
    return pd.DataFrame([
        *rows("x", [0.1, 0.2, 0.1, 0.1], "a", truth=0.1, **more),
        *rows("x", [0.2, 0.1, 0.1, 0.2], "b", truth=0.15, **more),
        *rows("x", [0.3, 0.3, None, 0.0], "c", truth=0.3, **more),
        *(row for i, m in enumerate("abc", 1) for row in rows("odd", [float(i)] * 4, m, **odd)),
    ])  # fmt: skip


def pair_trials():
    return arena_pairs.trials_of_records(pair_records(), dict.fromkeys("abc", 2), STREAMS)


def test_who_wins_by_hand():
    table = pair_trials()
    x = table[table["estimator"].eq("x")].set_index(["better", "worse"])
    assert x["won"].to_dict() == {("a", "b"): 2, ("b", "c"): 2, ("a", "c"): 2}
    assert x["half"].to_dict() == {("a", "b"): "close", ("b", "c"): "far", ("a", "c"): "far"}
    assert x["trials"].eq(4).all() and np.allclose(x["margin"], [0.05, 0.15, 0.2])
    odd = table[table["estimator"].eq("odd")]  # a quantity without truths: by those of l1
    assert odd["by"].eq("l1").all() and odd["won"].sum() == 12


def test_shares_and_their_intervals():
    table = arena_pairs.shares(pair_trials())
    x = table[table["estimator"].eq("x")].set_index("half")
    assert x["share"].to_dict() == {"close": 0.5, "far": 0.5}
    assert x["pairs"].to_dict() == {"close": 1, "far": 2}
    spread = np.std([1, 1, 0, 0], ddof=1) * 3.182446 / 2  # t of 3 degrees of freedom
    ends = [max(0.5 - spread, 0), min(0.5 + spread, 1)]
    assert np.allclose(x.loc["far", ["low", "high"]].astype(float), ends)
    odd = table[table["estimator"].eq("odd")]
    assert odd["share"].eq(1.0).all() and odd["high"].eq(1.0).all()
    assert odd["low"].between(0.45, 0.55).all()


def test_intervals_hold_what_they_say():
    """Pairs that share their replication's luck.

    Intervals of 40 replications hold the true share in 95 % of 150 draws.
    """
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(150):
        luck = rng.normal(size=40)
        of_rep = [(luck + rng.normal(size=40) > -0.5).astype(float) for _ in range(3)]
        key = dict(zip(arena_pairs.KEYS, ["s", "binary", 2, 100, "l1", "l1", "x"]))
        table = pd.DataFrame(
            [
                {
                    **key,
                    "better": "a",
                    "worse": str(i),
                    "margin": 0.1,
                    "half": "far",
                    "trials": 40,
                    "won": int(o.sum()),
                    "of_rep": o,
                }
                for i, o in enumerate(of_rep)
            ]
        )
        row = arena_pairs.shares(table).iloc[0]
        hits += row["low"] <= 0.6381631950841185 <= row["high"]  # Phi(0.5 / sqrt(2))
    assert hits >= 150 * 0.95 - 4.5 * np.sqrt(150 * 0.95 * 0.05)


def test_the_arenas_models_share_rows_and_labels():
    names = compose(["experiment=arena_pairs"]).problem
    streams = {name: ProblemSpec.of(load_problem(name)).stream for name in names}
    assert set(streams.values()) == {"pairs_k2", "pairs_k10"} and len(names) == 12
    for stream in set(streams.values()):
        drawn = [
            load_problem(name).sample(500, np.random.default_rng(1))
            for name in names
            if streams[name] == stream
        ]
        assert (
            len({y.tobytes() for _, y in drawn}) == 1 and len({p.tobytes() for p, _ in drawn}) == 6
        )
        assert len({np.argsort(p[:, 0]).tobytes() for p, _ in drawn}) == 1 or stream == "pairs_k10"


@pytest.mark.parametrize(
    "name",
    [
        "pairs_k2_over1",
        "pairs_k2_under2",
        *(pytest.param(f"pairs_k10_{m}", marks=pytest.mark.slow) for m in ("over2", "under1")),
    ],
)
def test_their_truths_by_a_second_method(name):
    """The distance to the posterior in a sample.

    And by labels alone, E (p - Y)(p - Y') of two independent labels of a row.
    """
    problem = load_problem(name)
    p, y = problem.sample(20_000, np.random.default_rng(3))
    c = problem.posterior(p)
    again = np.minimum(
        (np.random.default_rng(0).random(len(p))[:, None] > np.cumsum(c, axis=1)).sum(axis=1),
        p.shape[1] - 1,
    )
    first, second = (np.eye(p.shape[1])[of] for of in (y, again))
    for estimand, d in (
        ("l1", np.abs(p - c).sum(axis=1)),
        ("l2_squared", ((p - first) * (p - second)).sum(axis=1)),
    ):
        known = problem.truth(estimand, "canonical")
        assert abs(d.mean() - known.value) < 4.5 * np.hypot(d.std() / np.sqrt(len(d)), known.error)


def test_the_section_and_the_picture():
    table = pair_trials()
    section = arena_tables.pairs_section(table, {"a": "cards/a.png"})
    assert section["reps"] == 4 and len(section["pairs"]) == 3
    assert section["pairs"][0]["models"][1] == ("b", None)
    assert arena_tables.pairs_section(None, {}) is None
    figure = arena_plot.model_pairs(arena_pairs.shares(table), "l1")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["odd (ks)", "x"]
    assert arena_pairs.trials_of_records(pair_records().assign(experiment="arena"), {}, {}) is None
