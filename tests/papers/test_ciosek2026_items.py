"""Items of ciosek2026: slopes, ratios, coverage, terms left out, costs, reported numbers; records
made by hand, small runs."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from harness.experiments.ciosek2026 import (
    ablations,
    bound,
    claims,
    convergence,
    coverage,
    coverage_plot,
    ece,
    perturbation,
    rates,
    study,
    tighter,
)
from harness.experiments.ciosek2026.mean_shift import MeanShift
from harness.experiments.ciosek2026.terms import EMPIRICAL, FULL, ablated
from record_frames import record_frame

import harness
from harness.common.paths import EXPERIMENTS
from harness.configure.compose import compose
from harness.configure.options import ids
from harness.estimators.application import apply
from harness.evaluation import items, reproduction
from harness.plan.plan import plan

PAPER = "ciosek2026"
SINE, NW, TV = "score_sine_perturbed", "nw_kfold_first_order", "tv_kfold"
REPORTED = pd.read_csv(EXPERIMENTS / PAPER / "reported.csv")


def records(rows, **more):
    """Return records of dictionaries; by default upper bounds of level 0.95 of the truth 0.1."""
    usual = {"kind": "upper", "level": 0.95, "truth": 0.1, "truth_error": 0.0, "problem": SINE}
    usual |= {"n": 1000} | more
    ends = []
    for row in rows:
        kind = {**usual, **row}["kind"]
        end = {"upper": "high", "lower": "low"}.get(kind)
        ends.append({**({end: row.get("value")} if end else {}), **row})
    return record_frame(ends, **usual)


def law(estimator, exponent, sizes=(1000, 10_000, 100_000), factors=(0.5, 1.0, 2.0), **more):
    """Upper bounds 0.1 + factor n^exponent, a rep per factor."""
    return [
        {"estimator": estimator, "n": n, "rep": i, "value": 0.1 + c * n**exponent, **more}
        for n in sizes
        for i, c in enumerate(factors)
    ]


def configured(item, *overrides):
    return compose([f"experiment=ciosek2026_{item}", *overrides])


# Reported numbers


def test_items_on_the_same_numbers_share_their_cells():
    cells = {
        item: plan(configured(item, "reps=1")).cells
        for item in ("convergence", "tighter", "bound", "study")
    }
    keys = {
        item: {c.key for c in result if c.estimator != bound.SHIFT}
        for item, result in cells.items()
    }
    assert keys["tighter"] <= keys["convergence"]
    assert keys["bound"] <= keys["convergence"]
    assert keys["study"] <= keys["convergence"]


@pytest.mark.slow
def test_every_assumed_variation_is_true():
    """Where an assumption is known to be false there is no bound, and a column of dashes."""
    for name in [
        n
        for n in ids("experiment")
        if n.startswith(("ciosek2026_coverage", "ciosek2026_ablations"))
    ]:
        result = plan(compose([f"experiment={name}", "reps=1", "n=300"]))
        for problem in result.problems.values():
            for e in result.estimators.values():
                p, y = problem.object.sample(300, np.random.default_rng(0))
                estimates = apply(
                    e.object, p, y, "binary", np.random.default_rng(0), problem.object
                )
                assert np.isfinite(estimates["l1"].value), (name, problem.id, e.id)


# Slopes


def slopes(frame):
    return rates.excess_slopes(items.with_number(frame, "l1"))


def test_the_slope_of_a_power_law_is_its_exponent_at_every_decade():
    result = slopes(records(law(NW, -1 / 3))).iloc[0]
    assert result[["slope", "first", "last"]].to_numpy(float) == pytest.approx(
        [-1 / 3] * 3, abs=1e-12
    )
    assert result["se"] == pytest.approx(0.0, abs=1e-12)
    assert result["reps"] == 3
    assert result["left_out"] == 0


def test_the_error_of_a_slope_is_the_jackknife_over_replications():
    """Two reps of two exponents: the means without one rep are the other's, so the slopes are -0.4
    and -0.2, se = 0.1."""
    rows = law(NW, -0.4, factors=(1.0,)) + law(NW, -0.2, factors=(1.0,), rep=1)
    assert slopes(records(rows)).iloc[0]["se"] == pytest.approx(0.1, abs=1e-12)


def test_sizes_at_which_a_bound_is_vacuous_are_left_out_of_the_slope():
    rows = law(NW, -1 / 3, sizes=(10_000, 100_000, 1_000_000)) + [
        {"estimator": NW, "n": 1000, "rep": i, "value": 1.0} for i in range(3)
    ]
    result = slopes(records(rows)).iloc[0]
    assert result["slope"] == pytest.approx(-1 / 3)
    assert result["n_min"] == 10_000
    assert result["left_out"] == 1
    two = slopes(records(rows[:3] + rows[-3:])).iloc[0]
    assert np.isnan(two["slope"])


def test_the_slope_of_a_lower_bound_is_that_of_its_distance():
    rows = [
        {**r, "kind": "lower", "value": 0.2 - r["value"]}
        for r in law("lower_preq", -0.5, factors=(1.0,))
    ]
    assert slopes(records(rows)).iloc[0]["slope"] == pytest.approx(-0.5)
    below = [
        {**r, "value": 0.2 - r["value"]} for r in law(NW, -0.5)
    ]  # an upper bound below the truth has no logarithm
    assert np.isnan(slopes(records(below)).iloc[0]["slope"])


def test_slopes_are_shown_with_the_papers_range_and_not_judged():
    settings = configured("convergence")
    assert [convergence.verdict(x, NW) for x in (-0.5, -0.406, -0.3, -0.2)] == [
        "steeper",
        "inside",
        "inside",
        "flatter",
    ]
    assert convergence.verdict(-0.3, "bv_window") == "–" == convergence.verdict(np.nan, NW)
    frame = records(
        law(NW, -0.3)
        + law(NW, -0.4, problem="score_waves_perturbed")
        + law(NW, -0.9, problem="score_saturated_perturbed")
    )
    result = reproduction.compare(
        convergence.reproduced(frame, settings), PAPER, ["slopes"]
    ).set_index(["row", "column"])
    assert result.loc[("NW", "slope, steepest"), "ours"] == pytest.approx(
        -0.4
    )  # the saturated one is not among the four
    assert result.loc[("NW", "slope, flattest"), "ours"] == pytest.approx(-0.3)
    assert set(result["verdict"]) == {"not reproducible here"} and result["reason"].notna().all()
    rows = convergence.table(frame, settings)
    assert rows.loc[("sine, perturbed", "NW, K folds, 1st order"), "verdict"] == "inside"
    assert convergence.render(frame, settings).axes


# Claims


def statistics(rows, experiment, **more):
    frame = records(rows, **more).assign(experiment=experiment)
    return claims.statistics(frame, configured("claims"))


def test_the_constants_of_the_perturbation_are_approached():
    result = statistics([], "ciosek2026_ece")
    first, second = (
        result[f"the {name} derivative is bounded after the perturbation"].value
        for name in ("first", "second")
    )
    assert 0.497 < first < 0.5 and 0.49 < second < 0.5


def test_run_times_are_log_log_slopes():
    """Seconds in proportion to n, n log n and n^1.5: the slopes are 1, about 1.08 and 1.5."""
    growth = {NW: lambda n: n, TV: lambda n: n * np.log(n), "lip_bkt": lambda n: n**1.5}
    rows = [
        {"estimator": e, "n": n, "rep": i, "value": 0.1, "cpu_seconds": seconds(n) * (1 + i / 100)}
        for e, seconds in growth.items()
        for n in (10**4, 10**5, 10**6, 10**7)
        for i in range(12)
    ]
    result = statistics(rows, "ciosek2026_study")
    assert result["NW takes linear time"].value == pytest.approx(1.0)
    assert result["every bound takes log-linear time"].value == pytest.approx(1.5)
    assert result["NW takes linear time"].cells == 12
    lacking = statistics(rows[: len(rows) // 3], "ciosek2026_study")
    assert np.isnan(lacking["every bound takes log-linear time"].value)


def test_claims_on_bounds_take_the_function_that_is_worst_for_them():
    rows = []
    for problem in claims.FOUR:
        steep = -0.33 if problem == claims.FOUR[1] else -0.35
        for estimator, exponent, factor in (
            (NW, steep, 1.0),
            (TV, -0.25, 1.0),
            ("lip_bkt", -0.3, 3.0),
        ):
            rows += law(estimator, exponent, factors=(0.4 * factor, 0.5 * factor), problem=problem)
    result = statistics(rows, "ciosek2026_convergence")
    faster = result["NW falls faster than TV"]
    assert faster.value == pytest.approx(0.08) and claims.FOUR[1] in faster.why
    assert result["NW is several times tighter than Lip+Bkt"].value > 2
    assert result["NW is tightest"].value < 1
    printed = result["Lip+Bkt has slopes in the printed range"]
    assert np.isnan(printed.value) and "-0.300" in printed.why  # of functions that are not ours


def test_binned_estimates_that_converge_are_distinguished_from_those_that_do_not():
    rows = [
        {
            "problem": "score_waves",
            "estimator": e,
            "n": n,
            "rep": i,
            "value": v + 0.001 * i,
            "kind": "point",
        }
        for e, n, v in (
            ("binned15", 1000, 0.04),
            ("binned15", 10**6, 0.01),
        )
        for i in range(3)
    ]
    result = statistics(rows, "ciosek2026_ece")
    assert result["15 bins do not converge on the fourth function"].value == pytest.approx(0.03)
    assert result["ECE is not an upper bound"].value == 1.0


def test_a_level_is_reached_if_the_largest_mean_bound_is_below_it():
    rows = [{"problem": p, "estimator": NW, "n": bound.LAST_N, "rep": i, "value": v + 1e-4 * i}
            for p, v in zip(claims.CALIBRATED, (0.01, 0.03)) for i in range(3)]  # fmt: skip
    result = statistics(rows, "ciosek2026_convergence")["0.02 is reached at ten million samples"]
    assert result.value == pytest.approx(0.0301) and claims.CALIBRATED[1] in result.why


def test_the_worst_of_many_is_judged_by_intervals_that_hold_for_all_at_once():
    """The same statistic has a wider interval where it is the worst of more settings."""
    few, many = (
        statistics(
            [
                row
                for p in problems
                for e in (NW, TV, "lip_bkt")
                for row in law(e, -0.3, factors=np.linspace(0.5, 2.0, 12), problem=p)
            ],
            "ciosek2026_convergence",
        )
        for problems in (claims.FOUR[:1], claims.FOUR[:2])
    )
    name = "the spread over 64 samples is invisible"
    assert many[name].high > few[name].high and many[name].value == few[name].value


def test_a_level_is_needed_where_the_smallest_mean_bound_is_above_it():
    rows = [{"problem": p, "estimator": NW, "n": claims.LARGE, "rep": i, "value": v + 1e-4 * i}
            for p, v in zip(claims.CALIBRATED, (0.015, 0.03)) for i in range(3)]  # fmt: skip
    assert statistics(rows, "ciosek2026_convergence")[
        "0.02 needs ten million samples"
    ].value == pytest.approx(0.0151)
    lacking = statistics(rows[:3], "ciosek2026_convergence")["0.02 needs ten million samples"]
    assert np.isnan(lacking.value) and claims.CALIBRATED[1] in lacking.why


HARDLY = "AUROC hardly falls at h = 2^-6, trained with the perturbation"


def aurocs(names, decreases, experiment):
    """AUROCs of predictions (0.9) and of the same after a training with the perturbation.

    `names` has pairs of ids: of the plain network, and of the perturbed one.
    """
    numbers = [
        {"problem": problem, "value": value, "estimator": "auroc", "estimand": "auroc"}
        for (plain, aware), drop in zip(names, decreases)
        for problem, value in ((plain, 0.9), (aware, 0.9 - drop))
    ]
    return records(numbers, kind="point").assign(experiment=experiment)


@pytest.mark.parametrize(("on_cifar", "largest"), [(0.0001, "adult"), (0.01, "preresnet20")])
def test_the_decrease_of_the_auroc_is_claimed_of_the_largest_of_all_networks(on_cifar, largest):
    base = "perturbed_networks/{}_mlp_seed{}"
    small = [base.format(table, seed) for table in ("adult", "spambase") for seed in range(12)]
    of_small = [drop + 1e-5 * seed for drop in (0.002, 0.0005) for seed in range(12)]
    folders = "cifar10_trained{}/preresnet20_epochs10_seed5{}/test/class{}{}"
    cifar = [
        (folders.format("", "", k, ""), folders.format("_aware", "_h2^-6", k, "/h2^-6"))
        for k in range(10)
    ]
    parts = [
        aurocs([(n, f"{n}/aware_h2^-6") for n in small], of_small, "ciosek2026_perturbation"),
        aurocs(cifar, 10 * [on_cifar], "ciosek2026_perturbation_trained"),
    ]
    result = claims.statistics(pd.concat(parts), configured("claims"))[HARDLY]
    assert result.value == pytest.approx(max(0.002055, on_cifar))
    assert largest in result.why
    without = claims.statistics(parts[0], configured("claims"))[HARDLY]
    assert np.isnan(without.value) and without.why


@pytest.mark.parametrize(("value", "is_vacuous"), [(1.0, True), (0.9, False)])
def test_a_cross_for_a_bound_of_1_is_in_the_legend(value, is_vacuous):
    rows = [{"estimator": NW, "n": n, "value": v} for n, v in ((1000, value), (10_000, 0.5))]
    figure = convergence.render(records(rows), configured("convergence"))
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("bound is 1" in texts) is is_vacuous


def test_what_the_paper_says_of_its_networks_has_a_panel_of_its_own():
    rows = [
        {"problem": f"perturbed_networks/adult_mlp_seed{seed}{end}", "estimator": "auroc",
         "estimand": "auroc", "value": 0.9 - drop, "kind": "point"}
        for seed in range(2) for end, drop in (("", 0.0), ("/aware_h2^-6", 0.002))
    ]  # fmt: skip
    figure = perturbation.render(records(rows), configured("perturbation"))
    titles = [ax.get_title() for ax in figure.axes if ax.get_visible()]
    assert titles == ["the paper's networks", perturbation.PANELS["mlp"]]
    diamonds = [
        sum(line.get_marker() == "D" for line in ax.lines) for ax in figure.axes if ax.get_visible()
    ]
    assert diamonds == [1, 0]


# Derived against paper-style


def test_a_derived_bound_is_tighter_only_if_it_is_on_every_sample_of_ten_thousand_or_more():
    settings = configured("tighter")

    def verdict(at_1000, at_10000):
        values = {1000: at_1000, 10_000: at_10000}
        rows = [
            {"estimator": "bv_window", "n": n, "rep": i, "value": v}
            for n, vs in values.items()
            for i, v in enumerate(vs)
        ]
        rows += [
            {"estimator": TV, "n": n, "rep": i, "value": 0.4} for n in values for i in range(2)
        ]
        return tighter.table(records(rows), settings).loc[
            ("sine, perturbed", "BV window / TV, K folds"), "verdict"
        ]

    assert verdict([0.5, 0.5], [0.2, 0.3]) == "tighter on all 2 samples"
    assert verdict([0.1, 0.1], [0.2, 0.4]) == "not on every sample of n = 10,000"


def test_ratios_are_of_means_and_pairs_of_vacuous_bounds_are_none():
    rows = [
        {"estimator": e, "rep": i, "value": v}
        for e, vs in (("bv_window", (0.2, 0.4, 1.0)), (TV, (0.5, 0.7, 1.0)))
        for i, v in enumerate(vs)
    ]
    result = tighter.ratios(records(rows), configured("tighter")).iloc[0]
    assert result["mean"] == pytest.approx(0.5)
    assert result["least"] == pytest.approx(0.4)
    assert result["reps"] == 2
    assert result["vacuous"] == 1 and result["se"] == pytest.approx(0.5 * abs(4 / 7 - 0.4))
    only = records([{"estimator": e, "value": 1.0} for e in ("bv_window", TV)])
    assert "both vacuous" in tighter.table(only, configured("tighter")).to_numpy()
    assert tighter.render(only, configured("tighter")).axes


# ECE


def test_the_growing_number_of_bins_is_the_cube_root_of_n():
    frame = records(
        [
            {"estimator": f"binned{b}", "n": n, "value": b / 1000, "kind": "point"}
            for n in (1000, 100_000)
            for b in (10, 15, 46)
        ]
    )
    result = ece.estimates(frame)
    assert result[result["estimator"].eq(ece.GROWING)].set_index("n")["value"].to_dict() == {
        1000: 0.01,
        100_000: 0.046,
    }
    assert len(result[result["estimator"].eq(ece.FIXED)]) == 2
    sizes = configured("ece").n
    assert {round(n ** (1 / 3)) for n in sizes} == {
        e["bins"]
        for k, e in configured("ece").estimator.items()
        if k.startswith("binned") and k != "binned15"
    }


# Coverage


def test_a_bound_fails_where_too_few_samples_hold_the_truth():
    rows = [
        {"estimator": NW, "rep": i, "value": 0.05 if i < missed else 0.2, "n": n}
        for n, missed in ((1000, 1), (10_000, 8))
        for i in range(20)
    ]
    settings = configured("coverage")
    result = coverage.table(records(rows), settings).iloc[0]
    assert result["n = 1,000"] == "0.9500"
    assert result["n = 10,000"] == "0.6000"
    assert result["verdict"] == "fails at n = 10,000"
    assert result["closest margin"] == "-0.05000"
    shown = [text.get_text() for text in coverage.render(records(rows), settings).axes[1].texts]
    assert sorted(shown) == ["0.9500", "fails 0.6000"]


def test_an_interval_must_hold_the_truth_on_both_sides_and_a_cell_without_a_number_is_counted():
    rows = [{"estimator": "certified_interval", "kind": "interval", "low": low, "high": high,
             "value": 0.1, "rep": i}
            for i, (low, high) in enumerate([(0.05, 0.2), (0.11, 0.2), (0.0, 0.09),
                                             (0.1, 0.1)])]  # fmt: skip
    rows += [{"estimator": "lower_preq", "kind": "lower", "value": 0.02}]
    rows += [
        {
            "estimator": "lower_preq",
            "kind": None,
            "value": np.nan,
            "status": "undefined",
            "rep": 1,
            "estimand": None,
        }
    ]
    result = coverage.measured(records(rows)).set_index("estimator")
    assert result.loc["certified_interval", "coverage"] == 0.5
    assert result.loc["certified_interval", "margin"] == pytest.approx(-0.01)
    assert result.loc["lower_preq", "coverage"] == 1.0 and result.loc["lower_preq", "without"] == 1


# Terms left out


@pytest.mark.parametrize(
    "estimator",
    ["tv_kfold", "tv_insample", "bv_window", "nw_kfold", "nw_jensen", "lip_bkt", "lip_bkt_jensen"],
)
def test_a_bound_is_recomputed_from_its_parts(estimator):
    problem = harness.load_problem(SINE)
    p, y = problem.sample(3000, np.random.default_rng(1))
    e = apply(harness.load_estimator(estimator), p, y, "binary", np.random.default_rng(2), problem)[
        "l1"
    ]
    result = ablated(e.diagnostics, e.level)
    assert result.pop(FULL) == pytest.approx(e.high, abs=1e-12)
    assert len(result) >= 3 and all(value <= e.high + 1e-12 for value in result.values())
    assert result[EMPIRICAL] == e.diagnostics["empirical"] < e.high


def test_a_missing_bias_term_loses_coverage_where_windows_erase_the_waves():
    """Rank windows of a whole period see a flat function: the labels show no error, and only the
    bias term saves the bound."""
    problem, n = harness.load_problem("score_square12"), 3000
    truth = problem.truth("l1").value
    rows = []
    for window in (125, None):
        for rep in range(10):
            p, y = problem.sample(n, np.random.default_rng(rep))
            e = apply(
                harness.load_estimator("bv_window", variation=9.0, window=window),
                p,
                y,
                "binary",
                None,
                problem,
            )["l1"]
            name = "bv_window_wide" if window else "bv_window"
            row = {
                "problem": "score_square12",
                "estimator": name,
                "n": n,
                "rep": rep,
                "value": e.high,
                "truth": truth,
            }
            rows.append({**row, "diagnostics": json.dumps(e.diagnostics)})
    frame, settings = records(rows), configured("ablations")
    result = coverage_plot.without_terms(frame).set_index(["estimator", "variant"])["coverage"]
    assert result["bv_window_wide", FULL] == result["bv_window", FULL] == 1.0
    assert result["bv_window_wide", "without bias"] == 0.0
    table = ablations.table(frame, settings)
    assert table.loc[("square12", "BV window, wide", "3,000", "0.95"), "detected"] == "bias"
    assert ablations.render(frame, settings).axes


def test_the_transfer_alone_is_recomputed_at_both_levels():
    """kl+(0.049, ln 20 / 500) = 0.076 holds the truth 0.07, kl+(0.049, ln 2 / 500) = 0.061 does
    not."""
    parts = {
        "empirical": 0.049,
        "bias": 0.0,
        "deviation": 0.0,
        "before_transfer": 0.049,
        "delta_2": 0.025,
        "n": 500,
    }
    row = {
        "problem": "score_rare_atom",
        "estimator": "bv_window",
        "n": 500,
        "value": 0.09,
        "truth": 0.07,
    }
    frame = records([{**row, "diagnostics": json.dumps(parts)}])
    result = ablations.reproduced(frame, configured("ablations")).set_index(["row", "column"])[
        "value"
    ]
    assert result["score_rare_atom, n = 500, level 0.95", "bv_window, transfer alone"] == 1.0
    assert result["score_rare_atom, n = 500, level 0.5", "bv_window, transfer alone"] == 0.0


# Costs, and the bound on calibrated scores


def test_the_study_sums_every_cell_once_and_gives_wall_clock_only_of_its_own_runs(tmp_path):
    settings = replace(configured("study"), out=str(tmp_path))
    frame = records(
        [{"estimator": e, "n": n, "value": 0.5} for e in (NW, TV) for n in (1000, 10_000)]
    )
    table = study.table(frame, settings)
    assert table.loc[("all of them, CPU seconds",), "all n"] == "4"
    assert table.loc[("TV, K folds, CPU seconds",), "n = 1,000"] == "1"
    assert np.isnan(rates.wall_clock(frame, settings))
    (tmp_path / "runs").mkdir()
    for name, expected in (("ciosek2026_convergence", np.nan), ("ciosek2026_study", 7.0)):
        run = {"config": {"name": name}, "state": "finished", "seconds": 7.0}
        (tmp_path / "runs" / "a.json").write_text(json.dumps(run))
        assert rates.wall_clock(frame, settings) == pytest.approx(expected, nan_ok=True)
    result = reproduction.compare(study.reproduced(frame, settings), PAPER, ["study"]).iloc[0]
    assert (result["reported"], result["ours"], result["verdict"]) == (
        240,
        4.0,
        "not reproducible here",
    )
    assert study.render(frame, settings).axes


def test_the_table_shows_the_bound_and_the_shift_of_the_scores():
    settings = configured("bound")
    rows = [{"problem": p, "estimator": NW, "n": n, "rep": i, "value": 0.02, "truth": 0.0098}
            for p in settings.problem for n in (1000, 10_000_000) for i in range(2)]  # fmt: skip
    for p in settings.problem:
        shift = MeanShift()(None, None, problem=harness.load_problem(p))["l1"]
        more = {"kind": "point", "diagnostics": json.dumps(shift.diagnostics)}
        rows.append({"problem": p, "estimator": bound.SHIFT, "value": shift.value, **more})
    frame = records(rows)
    table = bound.table(frame, settings)
    assert table.loc[
        ("saturated, perturbed", "NW, K folds, 1st order"), ["E|S - S0|", "1.166 h"]
    ].to_list() == ["0.0169", "0.0182"]
    result = reproduction.compare(bound.reproduced(frame, settings), PAPER, ["bound"])
    ours = result.set_index("column")["ours"]
    assert ours["bound at h = 2^-6"].eq(0.02).all()
    assert set(result["verdict"]) == {"not reproducible here"}
    assert bound.render(frame, settings).axes


def test_the_samples_that_a_bound_needs_are_interpolated_or_unknown():
    rows = [
        {"estimator": NW, "n": n, "value": v}
        for n, v in ((1000, 0.04), (10_000, 0.02), (100_000, 0.01))
    ]
    assert bound.samples_needed(records(rows))[SINE] == pytest.approx(10_000)
    assert (
        bound.samples_needed(
            records(law(NW, -0.5, sizes=(100, 10_000), factors=(0.2,), problem=SINE))
        )
        .isna()
        .all()
    )


def test_a_bound_of_zero_is_drawn_on_the_edge_of_the_logarithmic_axis():
    rows = [
        {"estimator": NW, "value": 0.3},
        {"estimator": "lower_preq", "kind": "lower", "value": 0.0},
    ]
    (ax,) = bound.render(
        records(rows, problem="score_saturated_perturbed"), configured("bound")
    ).axes
    (edge,) = [line for line in ax.get_lines() if line.get_label() == "lower bound, 0"]
    assert edge.get_ydata().tolist() == [ax.get_ylim()[0]] and ax.get_ylim()[0] > 0.0


@pytest.mark.slow
def test_without_numbers_every_item_still_renders():
    empty = records(
        [{"estimator": NW, "status": "undefined", "value": np.nan, "kind": None, "estimand": None}]
    )
    modules = {
        "convergence": convergence,
        "tighter": tighter,
        "ece": ece,
        "coverage": coverage,
        "ablations": ablations,
        "study": study,
        "bound": bound,
    }
    for name, item in modules.items():
        settings = configured(name)
        assert item.render(empty, settings).axes
        assert len(reproduction.compare(item.reproduced(empty, settings), PAPER, settings.compare))
        item.table(empty, settings)
