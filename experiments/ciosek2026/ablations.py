"""What the coverage tests can tell: every bound again from its parts with one term left out, on problems made to break it.

A bound adds worst cases, so most terms can be left out on most problems without a miss. A term counts as detected where the bound
without it covers less than 1 - delta - 3 standard errors. Wide windows, of one or more periods of what they are to find, make the
bias term do its work; automatic windows are so narrow that it is seldom missed.
"""

import math

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.math.concentration import kl_upper
from harness.report import items, panels, rates
from harness.report.plots import COLOURS, MARKERS

FULL, ALONE, EMPIRICAL = "all terms", "transfer alone", "empirical term alone"
VARIANTS = (
    FULL, "without bias", "without TVB", "without PTB", "without deviation", "without Bernstein", "without transfer",
    ALONE, EMPIRICAL,
)  # fmt: skip
LOOKS = {v: {"marker": MARKERS[i % 8], "color": COLOURS[i % 8]} for i, v in enumerate(VARIANTS)}
LOOKS[ALONE], LOOKS[EMPIRICAL] = ({"marker": m, "color": "0.35", "markerfacecolor": "white"} for m in "o^")
BY = ["problem", "estimator", "n", "level"]


def without(row) -> dict[str, float]:
    """{variant: the bound of these parts without that term}; row: diagnostics by name, `level`.

    kl+(empirical + bias + deviation, ln(1/delta_2) / n) for bounds with a transfer; "transfer alone" is kl+(empirical,
    ln(1/delta) / n), delta = 1 - level: a bound by itself where the empirical term is CE_n. Sums for the others."""
    e, bias, deviation = row["empirical"], row["bias"], row.get("deviation", math.nan)
    if not math.isnan(row.get(bounds.JENSEN, math.nan)):
        c = math.log(1.0 / row["delta_2"]) / row["n"]
        return {
            FULL: kl_upper(e + bias + deviation, c),
            "without bias": kl_upper(e + deviation, c),
            "without deviation": kl_upper(e + bias, c),
            "without transfer": min(1.0, e + bias + deviation),
            ALONE: transfer_alone(e, row["level"], row["n"]),
            EMPIRICAL: e,
        }
    if not math.isnan(row.get("ptb", math.nan)):
        b = row["bernstein"]
        found = {
            FULL: e + b + bias, "without bias": e + b, "without TVB": e + b + row["ptb"], "without PTB": e + b + row["tvb"],
            "without Bernstein": e + bias, EMPIRICAL: e,
        }  # fmt: skip
    else:
        found = {FULL: e + bias + deviation, "without bias": e + deviation, "without deviation": e + bias, EMPIRICAL: e}
    return {name: min(1.0, value) for name, value in found.items()}


def transfer_alone(empirical, level, n):
    """kl+(empirical, ln(1/delta) / n), delta = 1 - level."""
    return kl_upper(empirical, math.log(1.0 / (1.0 - level)) / n)


def measured(records, level=None):
    """By problem, bound, n, level and variant: samples, coverage, the smallest that passes, whether the term is detected. With
    `level` of the transfer alone, at that level instead of the records'."""
    fine = items.with_number(records, kinds="upper").dropna(subset=["diagnostics", "truth"])
    parts = items.diagnostics(fine).assign(level=fine["level"] if level is None else level)
    if level is not None:
        parts = parts[parts[bounds.JENSEN].notna()] if bounds.JENSEN in parts else parts[:0]
    variants = VARIANTS if level is None else (ALONE,)
    made = pd.DataFrame([without(row) for row in parts.to_dict("records")], parts.index).reindex(columns=list(variants))
    fine = fine.loc[parts.index].assign(level=parts["level"], floor=fine["truth"] - fine["truth_error"])
    found = fine[[*BY, "key", "floor"]].join(made).melt([*BY, "key", "floor"], var_name="variant").dropna(subset="value")
    found = items.means(found.assign(covered=found["value"].ge(found["floor"]).astype(float)), [*BY, "variant"], "covered")
    found = found.rename(columns={"mean": "coverage", "reps": "samples"})
    found["least"] = rates.least_coverage(found["level"].astype(float), found["samples"].astype(float))
    order = found.assign(which=found["variant"].map(VARIANTS.index)).sort_values("which", kind="stable").index
    return found.loc[order].assign(detected=found["coverage"] < found["least"]).reset_index(drop=True)


def render(records, config):
    """One panel per problem: coverage of every bound at the largest n, as it is and without each of its terms; dotted: the
    smallest that passes."""
    found = measured(records)
    if not len(found):
        return panels.nothing()
    found = found[found["n"].eq(found["n"].max())]
    rows, problems = items.chosen(config, found), items.chosen(config, found, "problem")
    figure, axes = panels.panels(len(problems), 2, 0.55 + 0.25 * len(rows), "coverage", sharex=True, sharey=True)
    variants = [v for v in VARIANTS if v in set(found["variant"])]
    for ax, problem in zip(axes, problems):
        mine = found[found["problem"].eq(problem) & found["estimator"].isin(rows)]
        for i, variant in enumerate(variants):
            part = mine[mine["variant"].eq(variant)]
            at = part["estimator"].map(rows.index) + 0.7 * ((i + 0.5) / len(variants) - 0.5)
            ax.plot(part["coverage"], at, linestyle="none", markersize=4, label=variant, **LOOKS[variant])
        for x in mine["least"].unique():
            ax.axvline(x, color="0.2", linestyle=":", linewidth=0.9)
        for y in np.arange(1, len(rows)) - 0.5:
            ax.axhline(y, color="0.88", linewidth=0.6, zorder=0)
        ax.set(title=bounds.function(problem, config), xlim=(-0.04, 1.04))
        panels.name_rows(ax, [bounds.name(e, config) for e in rows])
    panels.legend(figure, axes, columns=5)
    return figure


def table(records, config):
    """By problem, bound, n and level: coverage with all terms and without each, and the terms that are detected; last, the lowest
    coverage over all problems, by bound."""
    found, rows = items.in_order(measured(records), config), {}
    for (problem, estimator, n, level), part in found.groupby(BY, sort=False):
        key = (bounds.function(problem, config), bounds.plain(estimator, config), f"{n:,}", f"{level:g}")
        rows[key] = _row(part, part)
    for (estimator, level), part in found.groupby(["estimator", "level"], sort=False):
        lowest = part.loc[part.groupby("variant", sort=False)["coverage"].idxmin()]
        rows["lowest of all", bounds.plain(estimator, config), "–", f"{level:g}"] = _row(lowest, part)
    heading = "share of samples whose bound holds the true value, terms left out"
    return items.wide(rows, ["problem", "bound", "n", "level"], heading, (*VARIANTS, "smallest that passes", "detected"))


def _row(part, judged):
    seen = set(judged.loc[judged["detected"], "variant"])
    names = [v.removeprefix("without ") for v in VARIANTS if v in seen and v.startswith("without ")]
    of = [judged[judged["variant"].eq(v)].set_index(["problem", "n"])["detected"] for v in (EMPIRICAL, ALONE)]
    if len(of[1]) and (of[0] & ~of[1]).any():
        names.append("transfer (where alone)")
    row = {r.variant: f"{r.coverage:.4f}" for r in part.itertuples()} | {"smallest that passes": f"{part['least'].min():.4f}"}
    return row | {"detected": "the bound itself fails" if FULL in seen else ", ".join(names) or "none"}


def reproduced(records, config):
    """Rows '<problem id>, n = <n>, level <level>', columns '<estimator id>, <variant>': coverage. The transfer alone also at
    level 0.5."""
    of_it = ([*BY[:2], "variant"], "{problem}, n = {n}, level {level:g}", "{estimator}, {variant}")
    shares = bounds.shares(measured(records), config, *of_it)
    half = bounds.shares(measured(records, 0.5), {**config, "reasons": {}}, *of_it)
    return items.answers(items.together(shares, half), config)
