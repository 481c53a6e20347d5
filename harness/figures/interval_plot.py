"""Intervals and tests compared: coverage against width, and how often a test rejects; pure functions on records.

Families are a mapping {family: [ids of problems]}; a problem in none of them is of the family "other".

What counts. An interval is any `low` or `high` at a `level`, whatever the kind of the estimate; it is judged where the truth is
known and covers where low <= truth <= high up to the error of the truth. Cells that gave none (failed, skipped, undefined, or a
value alone) are no misses: they are counted beside, in `without`. A test is an estimate of `p_value`; a problem is calibrated
where some estimator's record of a calibration error on it has the truth 0, miscalibrated where it has another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import rates
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.summary import ROUNDING
from harness.figures import panels
from harness.figures.style import COLOURS, ESTIMAND_NAMES, MARKERS, WIDTH, nothing, pale, series_style
from harness.math import estimands
from harness.records.schema import has_number

Families = Mapping[str, Sequence[str]]
SETTING = ["notion", "n", "estimand"]
LEVEL = 0.05  # of a test
LEAST_WIDTH = 0.1  # relative: an interval of a point, where both ends are cut at 0, shall not decide a mean of logarithms


def floor(estimand: str, n: Any) -> Any:
    """The error below which none counts: 0.1 / n of a squared error, 0.1 / sqrt(n) of any other.

    Examples
    --------
    >>> float(floor("l1", 100)), floor("l2_squared", 100)
    (0.01, 0.001)
    """
    squared = "l2_squared" in estimand or estimand == "kl"
    return 0.1 / n if squared else 0.1 / np.sqrt(n)


def family_of(problems: pd.Series, families: Families) -> pd.Series:
    """The family of every problem; "other" of those that are in none."""
    known = {problem: family for family, of_it in families.items() for problem in of_it}
    return problems.map(lambda problem: known.get(problem, "other"))


def intervals(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """The estimates that can be judged, one row each: with `family`, `covered`, `sides` (both, lower, upper) and `relative`, the
    width over max(truth, floor); of one bound alone its distance from the truth stands for the width."""
    fine = records[has_number(records) & records["level"].notna() & records["truth"].notna()]
    fine = fine[fine["low"].notna() | fine["high"].notna()]
    low, high, error = fine["low"].fillna(-np.inf), fine["high"].fillna(np.inf), fine["truth_error"].fillna(0.0) + ROUNDING
    sides = np.where(fine["low"].isna(), "upper", np.where(fine["high"].isna(), "lower", "both"))
    alone = (fine["low"].fillna(fine["high"]) - fine["truth"]).abs()
    unit = [max(truth, floor(name, n)) for truth, name, n in zip(fine["truth"], fine["estimand"], fine["n"])]
    return fine.assign(
        family=family_of(fine["problem"], families),
        covered=(low - error <= fine["truth"]) & (fine["truth"] <= high + error),
        sides=sides,
        relative=np.where(sides == "both", high - low, alone) / np.array(unit, float),
    )


def coverage_table(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Coverage and width of every interval method.

    Parameters
    ----------
    records : DataFrame
        As of `harness.load_records`.
    families : mapping
        {family: [ids of problems]}.

    Returns
    -------
    DataFrame
        A row per notion, n, estimand and estimator, in each setting those that pass first, the narrowest first: level, sides;
        how many problems (rows of unequal numbers are not to be compared) and samples; the share that covers, coverage, with its
        Wilson 95 % interval coverage_low, coverage_high; least, the smallest that passes (level - 3 standard errors), and passes;
        width, the geometric mean over the problems of mean width / max(truth, floor); worst_family with worst_coverage; fails,
        the families whose coverage is below their own `least`; cpu_seconds, mean of a cell; without, cells that gave no
        interval; and per family its coverage, `coverage_<family>`.
    """
    fine = intervals(records, families)
    names = [*families, *sorted(set(fine["family"]) - set(families))]
    rows = []
    for (notion, n, estimand, estimator), part in fine.groupby([*SETTING, "estimator"], sort=False):
        level, samples = part["level"].iloc[0], len(part)
        low, high = rates.wilson(part["covered"].sum(), samples)
        by = (
            part.groupby("family")["covered"]
            .agg(["mean", "size"])
            .reindex([name for name in names if name in set(part["family"])])
        )
        per_problem = part.groupby("problem")["relative"].mean().clip(lower=LEAST_WIDTH)
        fails = by.index[by["mean"] < rates.least_coverage(level, by["size"])]
        cells = _cells(records, fine, notion, n, estimand, estimator)
        least = rates.least_coverage(level, samples)
        coverage = part["covered"].mean()
        row = {
            "notion": notion, "n": n, "estimand": estimand, "estimator": estimator, "level": level,
            "sides": part["sides"].iloc[0], "problems": part["problem"].nunique(), "samples": samples,
            "coverage": coverage, "coverage_low": low, "coverage_high": high, "least": least,
            "passes": bool(coverage >= least), "width": float(np.exp(np.log(per_problem).mean())),
            "worst_family": by["mean"].idxmin(), "worst_coverage": by["mean"].min(), "fails": ", ".join(fails),
            "cpu_seconds": cells["cpu_seconds"].mean(), "without": len(cells) - samples,
        }  # fmt: skip
        rows.append(row | by["mean"].add_prefix("coverage_").to_dict())
    columns = ["level", "sides", "problems", "samples", "coverage", "coverage_low", "coverage_high", "least", "passes", "width"]
    columns += ["worst_family", "worst_coverage", "fails", "cpu_seconds", "without"]
    columns += [f"coverage_{name}" for name in names if name in set(fine["family"])]
    table = pd.DataFrame(rows, columns=[*SETTING, "estimator", *columns])
    return table.sort_values([*SETTING, "passes", "width"], ascending=[True, True, True, False, True], ignore_index=True)


def _cells(records, fine, notion, n, estimand, estimator):
    """An estimator's cells on the problems of a setting whose truth is known, one row each."""
    judged = fine[fine["notion"].eq(notion) & fine["n"].eq(n) & fine["estimand"].eq(estimand)]["problem"].unique()
    of_it = records["estimator"].eq(estimator) & records["notion"].eq(notion) & records["n"].eq(n)
    return records[of_it & records["problem"].isin(judged)].drop_duplicates("key")


def coverage_width(records: pd.DataFrame, families: Families, settings: Settings):
    """Coverage against width, a panel per notion, estimand (rows) and n (columns).

    A method is one colour and marker with its number in the legend: the large mark is its coverage over all samples with the
    Wilson 95 % interval, at the geometric mean over the problems of mean width / max(truth, floor); the small, pale ones are the
    families. A method is right above the band around the level, and better the further left it stands. Bounds of one side are
    open marks; their width is the distance from the truth.

    Parameters
    ----------
    records, families
        As for `coverage_table`.
    settings : Settings
        Of the run: labels, and which estimands are drawn.

    Returns
    -------
    Figure
    """
    shown = set(figure_estimands(records, settings))
    fine = intervals(records[records["estimand"].isin(shown) | ~has_number(records)], families)
    if not len(fine):
        return nothing("no estimate with an interval and a known truth")
    table = coverage_table(records[records["estimand"].isin(shown) | ~has_number(records)], families)
    rows = list(table[["notion", "estimand"]].drop_duplicates().itertuples(index=False, name=None))
    sizes, methods = sorted(table["n"].unique()), _ordered(table["estimator"], settings)
    height = max(0.5 + 2.25 * len(rows), 0.6 + 0.145 * len(methods))
    figure, axes = panels.grid(len(rows), len(sizes), height, sharex="row", sharey=True, figsize=(WIDTH + 1.3, height))
    for (notion, estimand), of_row in zip(rows, axes):
        for n, ax in zip(sizes, of_row):
            here = [
                frame[frame["notion"].eq(notion) & frame["estimand"].eq(estimand) & frame["n"].eq(n)] for frame in (table, fine)
            ]
            _panel(ax, *here, methods)
            ax.set_title(f"{notion.replace('_', '-')}, $n$ = {n:,}")
        of_row[0].set_ylabel("coverage of the truth")
        for ax in of_row:
            ax.set_xlabel(f"relative width ({ESTIMAND_NAMES.get(estimand, estimand)})")
    _method_legend(figure, table, methods, settings)
    level = table["level"].iloc[0]
    figure.set_label(
        "Coverage of the truth against mean width over max(truth, floor), the floor 0.1 / sqrt(n), of squared errors 0.1 / n. "
        "Large marks: all samples, with the Wilson 95 % interval; small ones: families of problems. Dashed: the level "
        f"{level:g} with three standard errors of a share. Open marks: one bound alone, by its distance from the truth. Cells "
        "without an interval are counted in the table, not here."
    )
    return figure


def _ordered(found, settings):
    """Ids of estimators: as configured, then the others."""
    have = list(dict.fromkeys(found))
    wanted = [name for name in (settings.estimator) if name in have]
    return [*wanted, *(name for name in have if name not in wanted)]


def _panel(ax, table, fine, methods):
    ax.set_yscale("function", functions=(_stretched, _unstretched))
    ax.set(xscale="log", ylim=(-0.05, 1.0185))
    ax.set_yticks([0.0, 0.5, 0.8, 0.9, 0.95, 1.0], ["0", "0.5", "0.8", "0.9", "0.95", "1"])
    if not len(table):
        ax.text(0.5, 0.5, "no interval", transform=ax.transAxes, ha="center", color="0.45")
        return
    level, samples = table["level"].iloc[0], table["samples"].median()
    low = rates.least_coverage(level, samples)
    ax.axhspan(low, min(1.0, 2 * level - low), color="0.5", alpha=0.18, linewidth=0)
    panels.rule(ax, level, linewidth=0.8)
    above = 0
    for r in table.sort_values("width").itertuples():
        i = methods.index(r.estimator)
        look = series_style(i) | {"linestyle": "none"}
        face = {} if r.sides == "both" else {"markerfacecolor": "white"}
        per_problem = fine[fine["estimator"].eq(r.estimator)].groupby(["family", "problem"])
        means = per_problem[["relative", "covered"]].mean().clip(lower={"relative": LEAST_WIDTH, "covered": 0.0})
        of_family = means.assign(relative=np.log(means["relative"])).groupby("family").mean()
        if len(of_family) > 1:
            small = look | {"color": pale(look["color"], 0.55), "markersize": 2.2, "markeredgewidth": 0.4, "zorder": 2}
            ax.plot(np.exp(of_family["relative"]), of_family["covered"], **small, **face)
        ends = [[r.coverage - r.coverage_low], [r.coverage_high - r.coverage]]
        ax.errorbar(
            r.width, r.coverage, np.maximum(ends, 0.0), **look, **face, markersize=5.5, elinewidth=0.7, zorder=4, clip_on=False
        )
        place, above = ((0.0, 4.0 + 5.0 * (above % 3)), above + 1) if r.coverage > 0.985 else ((5.0, 2.0), above)
        number = {"textcoords": "offset points", "fontsize": 5.5, "zorder": 5, "ha": "center"}
        star = "" if r.problems == table["problems"].max() else "*"
        ax.annotate(f"{i + 1}{star}", (r.width, r.coverage), place, **number)


def _stretched(coverage):
    """A scale on which 0.9, 0.95 and 1 stand apart."""
    return -np.log(np.maximum(1.03 - np.asarray(coverage, float), 1e-3))


def _unstretched(at):
    return 1.03 - np.exp(-np.asarray(at, float))


def _method_legend(figure, table, methods, settings):
    from matplotlib.lines import Line2D

    both = set(table.loc[table["sides"].eq("both"), "estimator"])
    handles = []
    for i, name in enumerate(methods):
        style = series_style(i) | {"linestyle": "none"} | ({} if name in both else {"markerfacecolor": "white"})
        handles.append(Line2D([], [], markersize=5, label=f"{i + 1}  {label(settings, 'estimator', name)}", **style))
    handles.append(Line2D([], [], color="0.6", linestyle="none", marker="o", markersize=2.2, label="small: a family"))
    most = table.groupby(SETTING)["problems"].transform("max")
    if (table["problems"] < most).any():
        handles.append(Line2D([], [], linestyle="none", label="* not on all problems"))
    figure.legend(handles=handles, loc="outside right upper", fontsize=6.5, handlelength=1.0, labelspacing=0.35)


def rejections(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """The p-values, one row each: with `family`, `rejected` (p_value <= 0.05) and `calibrated` (None where no truth tells)."""
    tests = records[has_number(records) & records["estimand"].eq("p_value")]
    known = records[records["truth"].notna() & records["estimand"].map(lambda name: isinstance(name, str) and _error(name))]
    calibrated = known.groupby(["problem", "notion"])["truth"].max().le(1e-12).to_dict()
    of_problem = [calibrated.get(key) for key in zip(tests["problem"], tests["notion"])]
    rejected = tests["value"].le(LEVEL + 1e-12)
    return tests.assign(
        family=family_of(tests["problem"], families), rejected=rejected, calibrated=pd.Series(of_problem, tests.index, object)
    )


def _error(name):
    return estimands.is_distance(name) and not name.startswith(("refinement_", "sharpness_"))


def power_table(records: pd.DataFrame, families: Families) -> pd.DataFrame:
    """Size and power of every test at level 0.05.

    Parameters
    ----------
    records : DataFrame
        With estimates of `p_value`, and of some calibration error whose truth says which problems are calibrated.
    families : mapping
        {family: [ids of problems]}.

    Returns
    -------
    DataFrame
        A row per notion, n and estimator: size, the share of rejections on calibrated problems, with its Wilson 95 % interval
        size_low, size_high and size_samples; holds, whether it is at most 0.05 + 3 standard errors; power, power_low, power_high
        and power_samples on the miscalibrated ones; worst_family with worst_power; cpu_seconds, mean of a cell; without, cells
        that gave no p-value; and per family its power, `power_<family>`.
    """
    fine = rejections(records, families)
    names = [*families, *sorted(set(fine["family"]) - set(families))]
    rows = []
    for (notion, n, estimator), part in fine.groupby(["notion", "n", "estimator"], sort=False):
        null, other = (part[part["calibrated"].map(lambda told, is_it=is_it: told is is_it)] for is_it in (True, False))
        by = other.groupby("family")["rejected"].mean().reindex([name for name in names if name in set(other["family"])])
        mine = records["estimator"].eq(estimator) & records["notion"].eq(notion) & records["n"].eq(n)
        cells = records[mine].drop_duplicates("key")
        most = LEVEL + 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / max(len(null), 1))
        row = {"notion": notion, "n": n, "estimator": estimator, **_share("size", null), **_share("power", other)}
        row["holds"] = bool(row["size"] <= most) if len(null) else None
        row |= {"worst_family": by.idxmin(), "worst_power": by.min()} if len(by) else {}
        rows.append(
            row
            | {"cpu_seconds": cells["cpu_seconds"].mean(), "without": len(cells) - len(part), **by.add_prefix("power_").to_dict()}
        )
    columns = [f"{what}{end}" for what in ("size", "power") for end in ("", "_low", "_high", "_samples")]
    columns = [*columns[:4], "holds", *columns[4:], "worst_family", "worst_power", "cpu_seconds", "without"]
    used = set(fine.loc[fine["calibrated"].map(lambda told: told is False), "family"])
    return pd.DataFrame(
        rows, columns=["notion", "n", "estimator", *columns, *(f"power_{name}" for name in names if name in used)]
    )


def _share(name, part):
    """The share of rejections with its Wilson interval; NaN of none."""
    low, high = rates.wilson(part["rejected"].sum(), len(part)) if len(part) else (np.nan, np.nan)
    mean = part["rejected"].mean() if len(part) else np.nan
    return {name: mean, f"{name}_low": low, f"{name}_high": high, f"{name}_samples": len(part)}


def power(records: pd.DataFrame, families: Families, settings: Settings):
    """Shares of p-values of at most 0.05, a panel per notion (rows) and n (columns), a line per test.

    The open diamond is the share on calibrated problems, the size, that belongs on the dashed line; the large dot that on
    miscalibrated ones, the power, both with Wilson 95 % intervals; small marks are the power by family.

    Parameters
    ----------
    records, families
        As for `power_table`.
    settings : Settings
        Of the run: labels.

    Returns
    -------
    Figure
    """
    table = power_table(records, families)
    if not len(table):
        return nothing("no p-value")
    notions, sizes = list(dict.fromkeys(table["notion"])), sorted(table["n"].unique())
    methods = _ordered(table["estimator"], settings)
    of_families = list(table.columns[table.columns.get_loc("without") + 1 :])
    figure, axes = panels.grid(
        len(notions), len(sizes), 0.9 + (0.45 + 0.2 * len(methods)) * len(notions), sharex=True, sharey=True
    )
    for notion, of_row in zip(notions, axes):
        for n, ax in zip(sizes, of_row):
            here = table[table["notion"].eq(notion) & table["n"].eq(n)]
            samples = here["size_samples"].median()
            reach = 3.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / samples) if samples else 0.0
            ax.axvspan(max(0.0, LEVEL - reach), LEVEL + reach, color="0.5", alpha=0.18, linewidth=0)
            panels.rule(ax, LEVEL, upright=True, linewidth=0.8, label="0.05, with three standard errors")
            for r in here.to_dict("records"):
                at = methods.index(r["estimator"])
                for j, family in enumerate(of_families):
                    look = {"color": COLOURS[j % 8], "marker": MARKERS[(j + 1) % 8], "markersize": 3.2, "linestyle": "none"}
                    ax.plot(r[family], at + 0.22, label=f"family {family.removeprefix('power_')}", alpha=0.85, **look)
                for what, shift, look in (
                    ("size", -0.22, {"marker": "D", "markerfacecolor": "white", "color": "0.25", "markersize": 3.5}),
                    ("power", 0.0, {"marker": "o", "color": "0.1", "markersize": 5}),
                ):
                    if r[f"{what}_samples"]:
                        ends = np.array([[r[what] - r[f"{what}_low"]], [r[f"{what}_high"] - r[what]]]).clip(min=0.0)
                        text = "calibrated: size" if what == "size" else "miscalibrated: power"
                        ax.errorbar(r[what], at + shift, xerr=ends, linestyle="none", elinewidth=0.7, label=text, **look)
            ax.set_title(f"{notion.replace('_', '-')}, $n$ = {n:,}")
            ax.set_xlim(-0.02, 1.02)
            panels.name_rows(ax, [label(settings, "estimator", name) for name in methods])
    for ax in axes[-1]:
        ax.set_xlabel("share of p-values $\\leq$ 0.05")
    first = ["calibrated: size", "0.05, with three standard errors", "miscalibrated: power"]
    panels.legend(figure, axes, columns=4, first=first)
    figure.set_label(
        "Share of p-values of at most 0.05: on calibrated problems (open diamonds; at most 0.05 but for its error if the test is "
        "valid) and on miscalibrated ones (dots; small marks: by family), with Wilson 95 % intervals. Cells without a p-value "
        "are counted in the table, not here."
    )
    return figure
