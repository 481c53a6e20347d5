"""Rankings.

Right orders, trials, Wilson's interval, one draw for all models, from records to files.
"""

import numpy as np
import pandas as pd
import pytest
from harness.experiments.berta2026.authors import LegacyStream
from harness.experiments.moskvichev2025.shift import CovariateShift, CovariateShifts, Points

import harness
from harness.common.seeds import data_rng, problem_rng
from harness.configure.compose import compose
from harness.configure.ranking import Ranking
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import rankings
from harness.math.rates import wilson
from harness.plan.plan import plan
from harness.problems import (
    Beta,
    Paired,
    TemperedDirichlet,
    Uniform,
)
from harness.problems.base import ProblemSpec
from harness.workflow.experiment import Experiment


def records(values, estimand="l1", estimator="e", n=10, status=None):
    """One record per (rep, model): values {model: [a number per rep]}.

    None is an undefined cell.
    """
    frame = pd.DataFrame(values, dtype=float).melt(ignore_index=False, var_name="problem")
    frame = frame.rename_axis("rep").reset_index()
    number = frame["value"].notna()
    states = [(status or {}).get((m, r)) for m, r in zip(frame["problem"], frame["rep"])]
    return frame.assign(
        key=frame["problem"] + frame["rep"].astype(str), problem_key=frame["problem"], n=n,
        notion="binary", estimator=estimator, estimand=np.where(number, estimand, None),
        status=[s or ("ok" if fine else "undefined") for s, fine in zip(states, number)],
    )  # fmt: skip


def scored(values, order, **more):
    scores = rankings.score(records(values, **more), {"it": rankings.levels(order)})
    (row,) = scores.to_dict("records")
    return row


def counts(row):
    return row["successes"], row["trials"], row["incomplete"]


WILSON = [
    (0, 100, 0.0, 3.8416 / 103.8416),  # at 0 of n the upper end is z^2 / (n + z^2)
    (100, 100, 100 / 103.8416, 1.0),
    (946, 1000, 0.93021, 0.95838),
    (1, 2, 0.09453, 0.90547),
]


@pytest.mark.parametrize(("successes", "trials", "low", "high"), WILSON)
def test_wilson_closed_form(successes, trials, low, high):
    assert np.allclose(wilson(successes, trials), (low, high), atol=1e-5)


ORDERS = {  # values, order, (successes, trials, incomplete), the order in words
    "strict; the last rep ties a and b": (
        {"a": [1, 1, 3, 2], "b": [2, 3, 2, 2], "c": [3, 2, 1, 3]},
        ["a", "b", "c"],
        (1, 4, 0),
        "a < b < c",
    ),
    "two models of three": (
        {"a": [1, 1], "b": [2, 0], "c": [0, 0]},
        ["a", "b"],
        (1, 2, 0),
        "a < b",
    ),
    "any order within a level": (
        {"a": [1, 2, 1], "b": [2, 1, 4], "c": [3, 3, 3]},
        [["a", "b"], "c"],
        (2, 3, 0),
        "a = b < c",
    ),
    "a trial without a number": (
        {"a": [1, None, 1], "b": [2, 2, None]},
        ["a", "b"],
        (1, 3, 2),
        "a < b",
    ),
    "never a number": ({"a": [None] * 2, "b": [None] * 2}, ["a", "b"], (0, 2, 2), "a < b"),
}


@pytest.mark.parametrize("case", ORDERS)
def test_orders_by_hand(case):
    values, order, expected, words = ORDERS[case]
    row = scored(values, order)
    assert counts(row) == expected and row["models"] == words
    assert row["share"] == row["successes"] / row["trials"]
    assert row["estimand"] == ("" if case == "never a number" else "l1")


@pytest.mark.parametrize("state", ["skipped", "interrupted"])
def test_cells_that_were_not_tried_are_no_trial(state):
    row = scored({"a": [1, None], "b": [2, 2]}, ["a", "b"], status={("a", 1): state})
    assert counts(row) == (1, 1, 0)
    lost = records({"a": [None], "b": [1]}, status={("a", 0): state})
    assert len(rankings.score(lost, {"it": (("a",), ("b",))})) == 0


def test_every_estimand_is_ranked_by_itself():
    parts = [records({"a": [1], "b": [2]}), records({"a": [2], "b": [1]}, estimand="kl")]
    both = pd.concat(parts, ignore_index=True)
    scores = rankings.score(both, {"it": (("a",), ("b",))}).set_index("estimand")
    assert scores["successes"].to_dict() == {"l1": 1, "kl": 0}
    for wanted, kept in (("kl", "kl"), ("rms", "l1")):
        settings = Settings.from_dict({"figure": {"estimand": wanted}})
        assert set(rankings.select_estimand(both, settings)["estimand"]) == {kept}


def test_the_order_of_values_and_an_estimators_own_order():
    order = rankings.order_by_value({"a": 2.0, "b": 0.0, "c": 2.0, "d": -1.0})
    assert order == (("d",), ("b",), ("a", "c"))
    own = rankings.order_by_estimates(records({"a": [2.0], "b": [1.0]}))
    assert own == {("binary", "e", "l1"): (("b",), ("a",))}
    assert rankings.order_by_estimates(records({"a": [2.0], "b": [None]})) == {}
    scores = rankings.score(records({"a": [2.0, 0.0], "b": [1.0, 1.0]}), {"own": own})
    assert scores["successes"].item() == 1


def test_the_models_of_a_set_have_an_order_of_their_own():
    """Estimator e has the order b < a < c on all rows.

    Each trial succeeds for one set of models and fails for the other set.
    """
    frame = records({"a": [2.0, 2.0], "b": [1.0, 1.0], "c": [1.5, 3.0]})
    frame = frame.assign(n=frame["rep"].map({0: 10, 1: 20}))
    sets = {"x": ["a", "b"], "y": ["a", "c"]}
    ranking = {"stream": None, "orders": None, "reference": "full", "sets": sets}
    scores = rankings.score_settings(frame, Settings.from_dict({"ranking": ranking}))
    assert scores["models"].tolist() == ["b < a", "a < c"]
    assert scores["successes"].tolist() == [1, 0]
    assert scores["order"].tolist() == ["x as on all rows", "y as on all rows"]


WRONG = [
    ("l1", "ranking is 'l1'"),
    ({"order": ["a", "b"]}, "ranking.order"),
    ({"orders": None}, "ranking has no right order"),
    ({"orders": ["a", "b"]}, "ranking.orders is"),
    ({"orders": {"x": "ab"}}, "ranking.orders is"),
    ({"orders": {"x": [1, 2]}}, "ranking.orders is"),
    ({"orders": {"x": ["a"]}}, "ranking.orders is"),
    ({"orders": {"x": ["a", "a"]}}, "ranking.orders is"),
    ({"orders": {"x": ["a", "z"]}}, "orders.x is .'a', 'z'., but .* no problem z"),
    *(({"reference": r}, "ranking.reference is") for r in (["l1"], "foo", "ckce")),
    ({"reference": "full", "sets": ["a", "b"]}, "ranking.sets is .'a', 'b'"),
    ({"reference": "full", "sets": {"x": ["a"]}}, "ranking.sets is {'x'"),
    (
        {"reference": "full", "sets": {"x": ["a", "z"]}},
        "sets.x is .'a', 'z'., but .* no problem z",
    ),
    ({"orders": {"x": ["a", "b"]}, "sets": {"x": ["a", "b"]}}, "sets is given, but nothing orders"),
]


@pytest.mark.parametrize(("ranking", "says"), WRONG)
def test_a_wrong_ranking_is_one_sentence(ranking, says):
    with pytest.raises(BadInputError, match=says):
        Ranking.from_value(ranking).check_models({"a", "b"})
    with pytest.raises(BadInputError, match="problems"):
        Ranking(reference="l1").check_models({"a"})


def draw(problem, n=50, rep=3):
    return problem.sample(n, problem_rng(0, ProblemSpec.of(problem), "00", rep))


def test_problems_of_one_stream_share_their_draws():
    """Powers of the same Dirichlet draw.

    Sharpened predictions are the normalised squares of the true ones, labels are equal.
    """
    true, sharp = (Paired(TemperedDirichlet(4, 0.1, 1.0, power), "s") for power in (1.0, 2.0))
    (p, y), (q, z) = draw(true), draw(sharp)
    assert (y == z).all() and np.allclose(q, p**2 / (p**2).sum(axis=1, keepdims=True))
    u, v = draw(Paired(Uniform(TemperedDirichlet(4, 0.1, 1.0, 1.0)), "s"))
    assert (v == y).all() and (u == 0.25).all()
    assert (draw(Paired(TemperedDirichlet(4, 0.1), "t"))[1] != y).any() and (
        draw(true, rep=4)[1] != y
    ).any()


def test_files_of_one_stream_give_the_same_rows(tmp_path):
    n = 300
    for name, p in (("a", np.linspace(0.1, 0.9, n)), ("b", np.linspace(0.9, 0.1, n))):
        np.savez(tmp_path / f"{name}.npz", p=p, y=np.arange(n) % 2)
    a, b = (
        Paired(harness.load_problem("predictions", path=str(tmp_path / f"{name}.npz")), "s")
        for name in "ab"
    )
    (p, y), (q, z) = draw(a, 40), draw(b, 40)
    assert np.allclose(p + q, 1.0) and (y == z).all()


def test_pairing_changes_the_draw_alone():
    plain, paired = Beta(), Paired(Beta(), "s")
    assert paired.truth("l1") == plain.truth("l1") and paired.notions == plain.notions
    assert (paired.posterior(np.array([0.3])) == plain.posterior(np.array([0.3]))).all()
    assert not hasattr(paired, "nothing_of_the_kind") and not hasattr(
        Paired(Uniform(Beta()), "s"), "posterior"
    )
    assert problem_rng(5, ProblemSpec.of(plain), "ab", 2).random() == data_rng(5, "ab", 2).random()


def test_a_family_is_paired_by_member():
    members = Paired(CovariateShifts(count=3), "s").members()
    assert list(members) == ["shift/-1", "shift/+0", "shift/+1"]
    assert {(type(m), m.stream) for m in members.values()} == {(Paired, "s")}
    assert Paired(Beta(), "s").members() is None


@pytest.mark.parametrize(
    ("problem", "stream"), [(Beta(), ""), (LegacyStream(Beta()), "s"), (Paired(Beta(), "s"), "t")]
)
def test_a_stream_has_a_name_and_there_is_one(problem, stream):
    with pytest.raises(BadInputError, match="stream"):
        Paired(problem, stream)


def test_the_uniform_model_of_balanced_classes_is_calibrated():
    problem = Uniform(TemperedDirichlet(5, 0.1), balanced=True)
    assert (
        problem.truth("l1", "canonical").value == 0.0
        and problem.truth("kl", "top_label").value == 0.0
    )
    assert problem.truth("brier", "canonical").value == pytest.approx(0.8)
    assert problem.truth("logloss", "canonical").value == pytest.approx(np.log(5))
    assert Uniform(TemperedDirichlet(5, 0.1)).truth("l1", "canonical") is None


def test_covariate_shift_samples_the_law_that_its_quadrature_has():
    problem = CovariateShift(0.5)
    p, y = problem.sample(200_000, np.random.default_rng(0))
    x, w = problem.nodes()
    drawn = np.log(p / (1.0 - p)) / 5.0
    assert (np.abs(drawn) <= 1.0 + 1e-9).all() and w.sum() == pytest.approx(1.0)
    assert drawn.mean() == pytest.approx(w @ x, abs=2e-3) and y.mean() == pytest.approx(
        w @ (1 / (1 + np.exp(-x))), abs=4e-3
    )
    assert problem.truth("l1", "canonical").value == pytest.approx(
        2.0 * problem.truth("l1", "binary").value
    )
    assert problem.posterior(np.array([0.5, 1 / (1 + np.exp(-5.0))])) == pytest.approx(
        [0.5, 1 / (1 + np.exp(-1.0))]
    )
    assert CovariateShift(-0.5).truth("l1").value == pytest.approx(
        problem.truth("l1").value
    )  # the setting is symmetric


def test_quantiles_hold_far_from_the_interval():
    """A normal law centred at 1 has half its mass in [-1, 1] below its median there."""
    from scipy.stats import truncnorm

    u = np.array([0.0, 0.01, 0.5, 0.99, 1.0])
    for location in (-1.0, -0.2, 0.0, 1.0):
        law = truncnorm((-1 - location) / 0.25, (1 - location) / 0.25, location, 0.25)
        assert CovariateShift(location).quantile(u) == pytest.approx(law.ppf(u), abs=1e-12)


def test_points_are_sums():
    problem = Points((0.25, 0.75), (0.3, 0.6), (0.5, 0.5))
    assert problem.truth("l1", "canonical").value == pytest.approx(0.2 + 0.2 * 0.25)
    assert problem.truth("l2_squared", "binary").value == pytest.approx(0.25 * 0.04 + 0.75 * 0.01)
    p, y = problem.sample(40_000, np.random.default_rng(0))
    assert set(p) == {0.3, 0.6} and (p == 0.3).mean() == pytest.approx(0.25, abs=0.01)
    assert (problem.posterior(p) == 0.5).all()
    with pytest.raises(BadInputError, match="sum to 1"):
        Points((0.5, 0.6), (0.3, 0.6), (0.5, 0.5))


def test_a_ranking_pairs_plain_problems_and_keys_of_other_runs_stay():
    base = ["problem=[beta_calibrated,beta_overconfident]", "estimator=[binned15]", "n=[100]"]
    base += ["reps=3", "notion=binary"]
    order = "ranking={stream:s,orders:{x:[beta_calibrated,beta_overconfident]},reference:null}"
    plain, ranked = plan(compose(base)), plan(compose([*base, order]))
    assert {type(p.object).__name__ for p in ranked.problems.values()} == {"Paired"}
    assert {p.object.stream for p in ranked.problems.values()} == {"s"}
    assert not {c.key for c in plain.cells} & {c.key for c in ranked.cells}
    by_reference = "ranking={stream:s,orders:null,reference:%s}"
    with pytest.raises(BadInputError, match="is not a file"):
        plan(compose([*base, by_reference % "full"]))
    mixed = "problem=[dirichlet2_flat_true,beta_calibrated]"
    with pytest.raises(BadInputError, match="stream"):
        plan(compose([*base, mixed, by_reference % "l1"]))


def ranked_files(tmp_path, names):
    """Options of a run that ranks files <name>.npz by their values on all rows."""
    node = "{_target_:harness.problems.Predictions,path:%s.npz}"
    files = [f"+problem.{name}={node % (tmp_path / name)}" for name in names]
    return [*files, "estimator=[binned15]", "ranking={stream:s,orders:null,reference:full}"]


def test_models_of_different_rows_are_refused(tmp_path):
    for name, n in (("short", 40), ("long", 50)):
        np.savez(tmp_path / f"{name}.npz", p=np.full(n, 0.5), y=np.arange(n) % 2)
    with pytest.raises(BadInputError, match=r"short \(40 rows\), long \(50 rows\)"):
        plan(compose([*ranked_files(tmp_path, ("short", "long")), "n=[10]"]))


@pytest.mark.slow
def test_own_estimator_and_any_problems_end_to_end(out, cli, module):
    """Rank by the true l1, without a paper, with a user's estimator that fails."""
    module(
        "mine_ranked",
        "def mine(p, y):\n    if p[0] < 0.5:\n        raise ValueError('no')\n"
        "    return float(abs(p - y).mean())\n",
    )
    code, _, _ = cli(
        "problem=[beta_calibrated,beta_overconfident]",
        "estimator=[binned15]",
        "+estimator.mine._target_=mine_ranked.mine",
        "n=[50,400]",
        "reps=12",
        "name=ranked",
        "ranking={stream:s,orders:null,reference:l1}",
        "jobs=1",
        "engine=serial",
    )
    folder = out / "variations" / "ranked"
    table = pd.read_csv(folder / "ranked.csv").query("estimand == 'l1'")
    table = table.set_index(["estimator", "n"])
    assert set(table["models"]) == {"beta_calibrated < beta_overconfident"}
    assert (table["trials"] == 12).all() and table.loc[("mine", 50), "incomplete"] > 0
    assert (table.loc["binned15", "incomplete"] == 0).all()
    assert table.loc[("binned15", 400), "share"] > 0.7
    assert (folder / "ranked.png").is_file()


def test_the_order_on_all_rows_is_the_estimators_own(out, tmp_path):
    """All rows of two files of 400 rows are judged once. The trials judge 100 of the rows."""
    rng = np.random.default_rng(0)
    c = rng.random(400)
    y = (rng.random(400) < c).astype(int)
    for name, p in (("good", c), ("bad", np.clip(3 * c - 1, 0.0, 1.0))):
        np.savez(tmp_path / f"{name}.npz", p=p, y=y)
    options = ["n=100", "reps=10", "notion=binary", "jobs=1"]
    experiment = Experiment.of([*ranked_files(tmp_path, ("bad", "good")), *options])
    assert {(c.n, c.rep) for c in experiment.plan.cells if c.n == 400} == {(400, 0)}
    experiment.compute(quiet=True)
    scores = rankings.score_settings(experiment.records.read(), experiment.settings)
    (row,) = rankings.select_estimand(scores, experiment.settings).to_dict("records")
    assert row["models"] == "good < bad" and row["n"] == 100
    assert row["trials"] == 10 and row["successes"] >= 8
