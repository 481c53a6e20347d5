"""Intervals and tests of any estimator by resampling, and the figures that compare them."""

import functools

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from frozen import frozen_ids
from monte_carlo import least_share
from numpy.random import default_rng

import harness
import harness.contract.estimators
from harness import UndefinedError, load_estimator, run
from harness.configure.settings import Settings
from harness.contract.check import check, report
from harness.estimators import (
    Binned,
    Bootstrap,
    Brier,
    Consistency,
    Debiased,
    Estimate,
    HulC,
    RowBootstrap,
    Subsampling,
    Variational,
)
from harness.estimators.application import apply
from harness.estimators.base import EstimatorSpec
from harness.estimators.resampling import bca_acceleration, bca_levels
from harness.evaluation import intervals
from harness.figures import interval_plot
from harness.math.notions import checked_scalars, reduce
from harness.plan.components import build_component
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine

FEW = {"resamples": 20}
WRAPPERS = {
    "percentile": functools.partial(RowBootstrap, **FEW),
    "basic": functools.partial(RowBootstrap, form="basic", **FEW),
    "bca": functools.partial(RowBootstrap, form="bca", groups=20, **FEW),
    "subsampling": functools.partial(Subsampling, **FEW),
    "hulc": HulC,
    "half": functools.partial(Bootstrap, **FEW),
    "pivotal": functools.partial(Bootstrap, form="pivotal", **FEW),
}
every_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


def sample(n, k=2, seed=0):
    problem = Beta(map=LogitAffine(0.4, 0.3)) if k == 2 else Dirichlet(k)
    return problem.sample(n, default_rng(seed))


def estimates(wrapper, p, y, seed=0, notion=None):
    return wrapper(p, y, default_rng(seed), notion)


def draws_and_bounds(p, y, rng):
    """Return one value that depends on the stream and one with a bound of its own."""
    return {"brier": rng.random() + float(p.mean()), "l1": Estimate(rng.random(), 0.0, level=0.9)}


draws_and_bounds.notions = ("binary", "top_label", "classwise", "canonical")


@every_wrapper
@pytest.mark.parametrize("notion", ["classwise", "canonical"])
def test_values_and_own_bounds_are_those_of_the_estimator_to_the_last_bit(wrap, notion):
    p, y = reduce(*sample(120, 3), notion)
    for estimator in (
        Binned(rule="kmeans" if notion == "canonical" else "width", bins=4),
        draws_and_bounds,
    ):
        alone = apply(estimator, p, y, notion, default_rng(5))
        wrapped = apply(wrap(estimator), p, y, notion, default_rng(5))
        assert wrapped.keys() == alone.keys()
        for name, e in alone.items():
            w = wrapped[name]
            assert (w.value, w.kind) == (e.value, e.kind)
            if e.low is not None:
                assert w == e
            else:
                assert w.low <= w.high and w.level == 0.95


@every_wrapper
def test_an_interval_has_the_stream_of_the_estimator_and_its_key_knows_it(wrap):
    wrapped = wrap(Binned())
    spec, inner = EstimatorSpec.of(wrapped), EstimatorSpec.of(Binned())
    assert (spec.notions, spec.estimands, spec.keeps_values_of) == (
        inner.notions,
        inner.estimands,
        "estimator",
    )
    assert spec.revision == (1, inner.revision)
    assert spec.determinism == "statistical"
    assert spec.seconds > 0.0

    def component(bins):
        target = f"harness.estimators.{type(wrapped).__name__}"
        inside = {"_target_": "harness.estimators.Binned", "bins": bins}
        return build_component("estimator", "a", {"_target_": target, "estimator": inside})

    assert component(5).key == component(5).key != component(6).key
    assert (
        component(5).stream
        == build_component(
            "estimator", "a", {"_target_": "harness.estimators.Binned", "bins": 5}
        ).stream
    )


MANY = 600


@pytest.mark.parametrize("form", ["percentile", "basic", "bca", "subsampling"])
def test_the_interval_of_a_mean_is_that_of_the_normal_theory(form):
    """Brier: value +- 1.96 s / sqrt(n), within 4 Monte Carlo errors of a quantile.

    5 % are added for the skewness of the terms, which basic and bca treat differently.
    """
    p, y = sample(400)
    wrapped = (
        Subsampling(Brier(), MANY)
        if form == "subsampling"
        else RowBootstrap(Brier(), MANY, form=form)
    )
    e = estimates(wrapped, p, y)["brier"]
    se = np.std((p - y) ** 2, ddof=1) / np.sqrt(400)
    room = 4 * 2.7 * se / np.sqrt(MANY) + 0.1 * se
    assert abs(e.low - (e.value - 1.96 * se)) < room and abs(e.high - (e.value + 1.96 * se)) < room


def test_bca_by_hand():
    """z0 = 0 and c = 0 keep the levels, z0 = 0.5 moves 0.5 to Phi(1).

    The acceleration of a mean is the skewness of the rows.
    """
    assert bca_levels(np.array([0.025, 0.5]), 0.0, 0.0) == pytest.approx([0.025, 0.5], abs=1e-12)
    assert bca_levels(np.array([0.5]), 0.5, 0.0) == pytest.approx(0.8413447, abs=1e-6)
    assert bca_levels(np.array([0.975]), 0.0, 1.0) == pytest.approx(1.0)  # beyond the pole
    x = default_rng(0).exponential(size=300)
    left_out = (x.sum() - x) / 299
    skewness = ((x - x.mean()) ** 3).mean() / x.std() ** 3
    assert bca_acceleration(left_out) == pytest.approx(skewness / (6 * np.sqrt(300)), rel=1e-6)
    assert bca_acceleration(np.ones(5)) == 0.0


def test_bca_equals_scipy():
    """Ends are within 4 Monte Carlo errors of a quantile of scipy's BCa of a mean of 60 rows."""
    x = default_rng(3).exponential(size=60) / 20

    def mean(p, y):
        return {"brier": float(np.mean(p))}

    e = estimates(RowBootstrap(mean, 2000, form="bca", groups=60), x, np.zeros(60, int))["brier"]
    theirs = scipy.stats.bootstrap(
        (x,), np.mean, n_resamples=2000, rng=default_rng(1)
    ).confidence_interval
    room = 4 * np.sqrt(2) * 2.7 * x.std() / np.sqrt(60) / np.sqrt(2000)
    assert (
        abs(e.low - theirs.low) < room and abs(e.high - theirs.high) < 2 * room
    )  # the upper tail is the longer one


def test_basic_mirrors_percentile():
    p, y = sample(300)
    a, b = (
        estimates(RowBootstrap(Brier(), form=form), p, y)["brier"]
        for form in ("percentile", "basic")
    )
    assert (b.low + a.high, b.high + a.low) == pytest.approx((2 * a.value, 2 * a.value), abs=1e-12)


def test_hulc_is_the_hull_of_five_or_six_batches():
    p, y = sample(600)
    sizes = []

    def counted(p_, y_):
        sizes.append(len(p_))
        return {"brier": float(np.mean((p_ - y_) ** 2))}

    for seed in range(4):
        sizes.clear()
        e = estimates(HulC(counted), p, y, seed)["brier"]
        assert sizes[0] == 600 == sum(sizes[1:])
        assert e.diagnostics["resamples"] == len(sizes) - 1 in (5, 6)
        assert e.low < e.value < e.high
    rng = default_rng(0)
    share = np.mean([HulC(Brier()).batches(rng) == 5 for _ in range(4000)])
    assert abs(share - 0.6) < 4 * np.sqrt(0.24 / 4000)  # 0.6 2^-4 + 0.4 2^-5 = 0.05
    assert HulC(Brier(), level=0.5).batches(rng) == 2


@every_wrapper
def test_estimates_without_an_interval_keep_their_value(wrap):
    p, y = sample(100)

    def bound(p, y):
        return {"l1": Estimate(0.3, None, 0.3, 0.95, "upper"), "rms": Estimate(float("nan"))}

    assert estimates(wrap(bound), p, y)["l1"] == Estimate(0.3, None, 0.3, 0.95, "upper")
    p_value = estimates(wrap(lambda p, y: {"p_value": float(p.mean())}), p, y)["p_value"]
    assert p_value == Estimate(float(p.mean()))  # of which an interval would say nothing
    few = estimates(wrap(Binned()), p[:19], y[:19])["l1"]
    assert few.high is None and few.diagnostics == {"resamples": 0.0}

    def whole_only(p, y):
        if len(p) < 100 or len(np.unique(p)) < 100:
            raise UndefinedError("not all rows")
        return 0.1

    e = estimates(wrap(whole_only), p, y)["l1"]
    assert (e.value, e.low, e.high) == (0.1, None, None)
    assert e.diagnostics["undefined_resamples"] == e.diagnostics["resamples"]
    same = np.arange(100) % 2
    assert estimates(wrap(Binned()), same.astype(float), same)["l1"].high is None  # nothing varies

    def broken(p, y):
        raise TypeError("a mistake in the code")

    with pytest.raises(TypeError):
        estimates(wrap(broken), p, y)


@every_wrapper
def test_errors_are_cut_at_zero_and_scores_are_not(wrap):
    p, y = sample(100)

    def negative(p, y):
        return {"l2_squared": float(np.mean(p - 2.0)), "logloss": float(np.mean(p - 2.0))}

    cut = estimates(wrap(negative), p, y)
    assert (cut["l2_squared"].low, cut["l2_squared"].high) == (0.0, 0.0)
    assert cut["logloss"].low < cut["logloss"].high < 0.0


@every_wrapper
def test_the_same_stream_gives_the_same_interval_and_another_one_another(wrap):
    p, y = sample(200)
    a, b, c = (estimates(wrap(Binned()), p, y, seed)["l1"] for seed in (0, 0, 1))
    assert a == b and (a.low, a.high) != (c.low, c.high) and a.value == c.value


def test_p_values_count_the_draws_that_are_at_least_as_large():
    p, y = sample(50)
    values = iter(
        [0.5, *[0.6] * 3, *[0.5] * 2, *[0.4] * 13, float("nan")]
    )  # 3 larger, 2 equal, 1 without a value

    def scripted(p, y):
        return {"skce": next(values)}

    e = estimates(Consistency(scripted, "skce", 19), p, y)["p_value"]
    assert e.value == pytest.approx((1 + 3 + 2 + 1) / 20) and e.kind == "point"
    assert e.diagnostics["undefined_resamples"] == 1 and e.diagnostics["statistic"] == 0.5


@pytest.mark.parametrize(
    "notion",
    ["top_label", *(pytest.param(n, marks=pytest.mark.slow) for n in ("classwise", "canonical"))],
)
def test_p_values_are_uniform_under_calibration_and_small_otherwise(notion):
    """The mean of 200 p-values is 1/2 + 1/40 within 4 standard errors."""
    problem = Dirichlet(3)
    test = Consistency(Binned(bins=5, rule="kmeans") if notion == "canonical" else l1, resamples=19)
    reps, at_null = 200, []
    for rep in range(reps):
        p, y = reduce(*problem.sample(60, default_rng([1, rep])), notion)
        at_null.append(apply(test, p, y, notion, default_rng([2, rep]))["p_value"].value)
    at_null = np.array(at_null)
    assert set(np.round(20 * at_null, 9) % 1) == {0.0}
    assert abs(at_null.mean() - 0.525) < 4 * 0.29 / np.sqrt(reps)
    p, y = problem.sample(400, default_rng(0))
    sharper = p**4 / (p**4).sum(axis=1, keepdims=True)
    assert apply(test, *reduce(sharper, y, notion), notion, default_rng(0))["p_value"].value == 0.05


def test_the_statistic_of_a_test_may_be_biased_or_negative():
    p, y = sample(300)
    for estimator, name in (
        (Debiased(), "l2_squared"),
        (Variational(), "l1"),
        (lambda p, y: 3.0 + abs(p - y).mean(), "l1"),
    ):
        value = estimates(Consistency(estimator, name, 19), p, y)["p_value"].value
        assert 0.05 <= value <= 1.0


def test_an_infinite_statistic_has_no_p_value():
    with pytest.raises(UndefinedError, match="l1"):
        estimates(Consistency(lambda p, y: float("inf")), *sample(30))


def l1(p, y):
    """Return the plug-in l1 on ten bins; refuses NaN and vectors."""
    p, y = checked_scalars(p, y)
    index = np.minimum((p * 10).astype(int), 9)
    return float(np.abs(np.bincount(index, p - y, minlength=10)).sum() / len(p))


percentile, subsampling, hulc, consistency = (
    RowBootstrap(l1, 20),
    Subsampling(l1, 20),
    HulC(l1),
    Consistency(l1, resamples=19),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["percentile", "subsampling", "hulc", "consistency"])
def test_wrappers_keep_the_contract(name, monkeypatch):
    monkeypatch.setattr(harness.contract.estimators, "SEEDS", (6, 24))
    findings = check(f"{__name__}.{name}")
    assert [f.item for f in findings if f.outcome == "failed"] == [], report(findings)


# What is drawn


def rows(estimator, problem, covered, misses=0, n=1000, truth=0.1, **more):
    """Return records of intervals of width 0.02, of which `covered` contain the truth."""
    rows = []
    for rep in range(covered + misses):
        low = truth - 0.01 if rep < covered else truth + 0.1
        rows.append(
            {
                "estimator": estimator,
                "problem": problem,
                "rep": rep,
                "low": low,
                "high": low + 0.02,
                "value": low + 0.01,
            }
        )
    key = [f"{estimator}|{problem}|{n}|{row['rep']}" for row in rows]
    same = {
        "notion": "binary",
        "n": n,
        "estimand": "l1",
        "level": 0.95,
        "kind": "point",
        "status": "ok",
        "cpu_seconds": 0.5,
    }
    return pd.DataFrame(rows).assign(key=key, truth=truth, truth_error=0.0, **same).assign(**more)


FAMILIES = {"power": ["a"], "wavy": ["b"]}
SETTINGS = Settings.from_dict({"estimator": {"one": {}, "two": {}}, "figure": {"estimand": "l1"}})


def test_coverage_table_by_hand():
    lost = rows("one", "a", 5).assign(
        low=np.nan, high=np.nan, level=np.nan, key=lambda r: "lost" + r["key"]
    )
    records = pd.concat(
        [
            rows("one", "a", 95, 5),
            rows("one", "b", 60, 40),
            lost,
            rows("two", "c", 10, truth=0.0, high=np.nan),
        ]
    )
    table = intervals.coverage_table(records, FAMILIES).set_index("estimator")
    first, second = table.loc["one"], table.loc["two"]
    assert (first["samples"], first["coverage"], first["without"], first["passes"]) == (
        200,
        0.775,
        5,
        False,
    )
    assert first["coverage_low"] < 0.775 < first["coverage_high"]
    assert first["least"] == pytest.approx(0.95 - 3 * np.sqrt(0.0475 / 200))
    assert (
        first["coverage_power"],
        first["coverage_wavy"],
        first["worst_family"],
        first["worst_coverage"],
        first["fails"],
    ) == (0.95, 0.6, "wavy", 0.6, "wavy")
    assert first["width"] == pytest.approx(0.02 / 0.1)
    assert first["sides"] == "both"
    assert first["cpu_seconds"] == 0.5
    assert second["sides"] == "lower" and second["coverage_other"] == 1.0 and second["passes"]
    assert second["width"] == pytest.approx(0.01 / (0.1 / 1000**0.5))  # the truth is 0


def test_truth_error_counts_for_the_interval_and_unknown_truths_do_not_count():
    near = rows("one", "a", 0, 10).assign(truth_error=0.2)
    unknown = rows("one", "b", 0, 10).assign(truth=np.nan)
    table = intervals.coverage_table(pd.concat([near, unknown]), FAMILIES)
    assert table["coverage"].tolist() == [1.0] and table["samples"].tolist() == [10]


def p_values(test, problem, values):
    frame = rows(test, problem, len(values), truth=np.nan, estimand="p_value", level=np.nan)
    return frame.assign(value=values, low=np.nan, high=np.nan, kind="point")


def test_power_table_by_hand():
    truths = [
        rows("one", problem, 1, truth=truth)
        for problem, truth in (("a", 0.0), ("b", 0.1), ("c", 0.2))
    ]
    null, other = [0.05] * 2 + [0.5] * 38, [0.01] * 30 + [0.06] * 10
    tests = [
        p_values("test", "a", null),
        p_values("test", "b", other),
        p_values("test", "c", [0.05] * 40),
        p_values("test", "d", other),
    ]
    (row,) = intervals.power_table(pd.concat(truths + tests), FAMILIES).to_dict("records")
    assert (row["size"], row["size_samples"], row["holds"]) == (0.05, 40, True)
    assert (row["power"], row["power_samples"]) == (
        70 / 80,
        80,
    )  # of d nobody knows whether it is calibrated
    assert (row["power_wavy"], row["power_other"], row["worst_family"], row["worst_power"]) == (
        0.75,
        1.0,
        "wavy",
        0.75,
    )
    wild = intervals.power_table(pd.concat([*truths, p_values("test", "a", [0.01] * 40)]), FAMILIES)
    assert wild["holds"].tolist() == [False]


def test_the_figure_shows_every_method():
    records = pd.concat(
        [rows("one", "a", 95, 5), rows("one", "b", 60, 40), rows("two", "a", 10, high=np.nan)]
    )
    figure = interval_plot.coverage_width(records, FAMILIES, SETTINGS)
    figure.draw_without_rendering()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["1  one", "2  two"]
    interval_plot.coverage_width(records.assign(truth=np.nan), {}, SETTINGS)


def test_configured_wrappers_run_and_are_judged(out):
    """Run two problems, two intervals and a test; p-values need no truth."""
    chosen = ["hulc_debiased15", "bootstrap_percentile_debiased15", "consistency_debiased15"]
    few = [
        "estimator.bootstrap_percentile_debiased15.resamples=20",
        "+estimator.consistency_debiased15.resamples=19",
    ]
    records = run([
        "problem=[beta_calibrated,beta_overconfident]", f"estimator=[{','.join(chosen)}]",
        "n=100", "reps=2", "jobs=1", "engine=serial", *few,
    ])  # fmt: skip
    assert set(records["status"]) == {"ok"}
    table = intervals.coverage_table(records, {})
    assert sorted(table["estimator"]) == ["bootstrap_percentile_debiased15", "hulc_debiased15"]
    assert (table["samples"] == 4).all()
    row = intervals.power_table(records, {}).iloc[0]
    assert (row["size_samples"], row["power_samples"]) == (2, 2)
    values = records[records["estimand"].eq("l2_squared")].pivot(
        index=["problem", "rep"], columns="estimator", values="value"
    )
    assert (values.iloc[:, 0] == values.iloc[:, 1]).all()


def test_ids_name_the_form_and_the_estimator():
    named = [
        name
        for name in frozen_ids("estimator")
        if name.startswith(("bootstrap_", "subsampling_", "half_", "hulc_"))
    ]
    assert len(named) == 18
    for name in named:
        wrapper = load_estimator(name)
        assert name.endswith("variational_isotonic") == isinstance(wrapper.estimator, Variational)
        assert type(wrapper) is not RowBootstrap or name.startswith(f"bootstrap_{wrapper.form}_")


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["beta_calibrated", "beta_overconfident"])
@pytest.mark.parametrize("name", ["hulc_debiased15", "subsampling_debiased15"])
def test_intervals_of_the_debiased_error_cover(name, problem):
    """Coverage is at least 95 % of 150 samples of 500, less 4 binomial standard errors."""
    problem, wrapper, reps = harness.load_problem(problem), load_estimator(name), 150
    truth = problem.truth("l2_squared").value
    inside = 0
    for rep in range(reps):
        e = estimates(wrapper, *problem.sample(500, default_rng([1, rep])), [2, rep])["l2_squared"]
        inside += e.low <= truth <= e.high
    assert inside / reps >= least_share(0.95, reps, errors=4)
