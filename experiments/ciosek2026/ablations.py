"""What the coverage tests can tell: every bound again from its parts with one term left out, on problems made to break it.

A bound adds worst cases, so most terms can be left out on most problems without a miss. A term counts as detected where the bound
without it covers less than 1 - delta - 3 standard errors. Wide windows, of one or more periods of what they are to find, make the
bias term do its work; automatic windows are so narrow that it is seldom missed.
"""

import math

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds, coverage
from harness.math.concentration import kl_upper
from harness.report.plots import COLOURS, MARKERS

FULL, ALONE, NOTHING = "all terms", "transfer alone", "empirical term alone"
VARIANTS = (
    FULL, "without bias", "without TVB", "without PTB", "without deviation", "without Bernstein", "without transfer",
    ALONE, NOTHING,
)  # fmt: skip
LOOKS = {v: {"marker": MARKERS[i % 8], "color": COLOURS[i % 8]} for i, v in enumerate(VARIANTS)}
LOOKS[ALONE], LOOKS[NOTHING] = ({"marker": m, "color": "0.35", "markerfacecolor": "white"} for m in "o^")
BY = ["problem", "estimator", "n", "level"]


def without(row) -> dict[str, float]:
    """{variant: the bound of these parts without that term}; row: parts by name, `level`.

    kl+(empirical + bias + deviation, ln(1/delta_2) / n) for bounds with a transfer; "transfer alone" is kl+(empirical,
    ln(1/delta) / n), delta = 1 - level: a bound by itself where the empirical term is CE_n. Sums for the others."""
    e, bias = row["empirical"], row["bias"]
    if row.get(bounds.JENSEN, math.nan) == row.get(bounds.JENSEN, math.nan):
        c, deviation = math.log(1.0 / row["delta_2"]) / row["n"], row["deviation"]
        return {
            FULL: kl_upper(e + bias + deviation, c),
            "without bias": kl_upper(e + deviation, c),
            "without deviation": kl_upper(e + bias, c),
            "without transfer": min(1.0, e + bias + deviation),
            ALONE: kl_upper(e, math.log(1.0 / (1.0 - row["level"])) / row["n"]),
            NOTHING: e,
        }
    if row.get("ptb", math.nan) == row.get("ptb", math.nan):
        b = row["bernstein"]
        found = {
            FULL: e + b + bias, "without bias": e + b, "without TVB": e + b + row["ptb"], "without PTB": e + b + row["tvb"],
            "without Bernstein": e + bias, NOTHING: e,
        }  # fmt: skip
    else:
        deviation = row["deviation"]
        found = {FULL: e + bias + deviation, "without bias": e + deviation, "without deviation": e + bias, NOTHING: e}
    return {name: min(1.0, value) for name, value in found.items()}


def recomputed(records):
    """The upper bounds' records with a column per variant."""
    fine = records[
        records["status"].eq("ok") & records["kind"].eq("upper") & records["diagnostics"].notna() & records["truth"].notna()
    ]
    parts = bounds.parts(fine)
    parts["level"] = fine["level"]
    made = pd.DataFrame([without(row) for row in parts.to_dict("records")], index=fine.index).reindex(columns=VARIANTS)
    return pd.concat([fine[[*BY, "rep", "value", "truth", "truth_error"]], made], axis=1)


def measured(records):
    """By problem, bound, n, level and variant: samples, coverage, the smallest that passes, whether the term is detected."""
    found = recomputed(records)
    rows = []
    for key, part in found.groupby(BY, sort=False):
        for variant in VARIANTS:
            values = part[variant].dropna()
            if len(values):
                covered = (values >= part["truth"] - part["truth_error"]).mean()
                rows.append((*key, variant, len(values), covered, coverage.least(key[-1], len(values))))
    frame = pd.DataFrame(rows, columns=[*BY, "variant", "samples", "coverage", "least"])
    return frame.assign(detected=frame["coverage"] < frame["least"])


def render(records, config):
    """One panel per problem: coverage of every bound at the largest n, as it is and without each of its terms; dotted: the
    smallest that passes."""
    found = measured(records)
    if not len(found):
        return bounds.nothing()
    found = found[found["n"].eq(found["n"].max())]
    rows, panels = bounds.shown(config, found), bounds.problems(config, found)
    height = 0.55 + 0.25 * len(rows)
    figure, axes = bounds.grid(len(panels), per_row=2, height=height, sharex=True, sharey=True)
    variants = [v for v in VARIANTS if v in set(found["variant"])]
    for ax, problem in zip(axes, panels):
        mine = found[found["problem"].eq(problem)]
        for i, variant in enumerate(variants):
            part = mine[mine["variant"].eq(variant)]
            at = part["estimator"].map(rows.index) + 0.7 * ((i + 0.5) / len(variants) - 0.5)
            ax.plot(part["coverage"], at, linestyle="none", markersize=4, label=variant, **LOOKS[variant])
        for x in mine["least"].unique():
            ax.axvline(x, color="0.2", linestyle=":", linewidth=0.9)
        for y in np.arange(1, len(rows)) - 0.5:
            ax.axhline(y, color="0.88", linewidth=0.6, zorder=0)
        ax.set_title(bounds.function(problem, config))
        ax.set_yticks(range(len(rows)), [bounds.name(e, config) for e in rows])
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_xlim(-0.04, 1.04)
        ax.grid(axis="y", visible=False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("coverage")
    bounds.legend(figure, axes, columns=5)
    return figure


def table(records, config):
    """By problem, bound, n and level: coverage with all terms and without each, and the terms that are detected; last, the lowest
    coverage over all problems, by bound."""
    found, rows = bounds.ordered(measured(records), config), {}
    for (problem, estimator, n, level), part in found.groupby(BY, sort=False):
        key = (bounds.function(problem, config), bounds.plain(bounds.name(estimator, config)), f"{n:,}", f"{level:g}")
        rows[key] = _row(part, part)
    for (estimator, level), part in found.groupby(["estimator", "level"], sort=False):
        lowest = part.loc[part.groupby("variant", sort=False)["coverage"].idxmin()]
        rows["lowest of all", bounds.plain(bounds.name(estimator, config)), "–", f"{level:g}"] = _row(lowest, part)
    made = bounds.frame(
        rows, ["problem", "bound", "n", "level"], "share of samples whose bound holds the true value, terms left out"
    )
    return made[[c for c in (*VARIANTS, "smallest that passes", "detected") if c in made.columns]]


def _row(part, judged):
    row = {r.variant: f"{r.coverage:.4f}" for r in part.itertuples()}
    seen = set(judged.loc[judged["detected"], "variant"])
    names = [v.removeprefix("without ") for v in VARIANTS if v in seen and v.startswith("without ")]
    alone = judged[judged["variant"].isin([ALONE, NOTHING])].pivot(index=["problem", "n"], columns="variant", values="detected")
    if len(alone.columns) == 2 and (alone[NOTHING].astype(bool) & ~alone[ALONE].astype(bool)).any():
        names.append("transfer (where alone)")
    row["smallest that passes"] = f"{part['least'].min():.4f}"
    row["detected"] = "the bound itself fails" if FULL in seen else ", ".join(names) or "none"
    return row


def reproduced(records, config):
    """Rows '<problem id>, n = <n>, level <level>', columns '<estimator id>, <variant>': coverage, error sqrt(c (1 - c) /
    samples). The transfer alone also at level 0.5."""
    found = measured(records)
    found = pd.concat([found, measured_alone(records, 0.5)], ignore_index=True)
    ours = pd.DataFrame(
        {
            "row": [f"{r.problem}, n = {r.n}, level {r.level:g}" for r in found.itertuples()],
            "column": found["estimator"] + ", " + found["variant"],
            "value": found["coverage"],
            "error": np.sqrt(found["coverage"] * (1.0 - found["coverage"]) / found["samples"]),
            "reps": found["samples"],
        }
    )
    if "prototype" in config["reasons"]:  # of another problem of the same kind: beside it, whatever its n
        lowest = found.loc[found.groupby(["problem", "estimator", "variant", "level"])["coverage"].idxmin()]
        lowest = lowest[lowest["level"].eq(records["level"].dropna().iloc[0])]
        named = {"row": lowest["problem"], "column": lowest["estimator"] + ", " + lowest["variant"], "value": lowest["coverage"]}
        named |= {"error": np.nan, "reps": lowest["samples"], "why": config["reasons"]["prototype"]}
        ours = pd.concat([ours, pd.DataFrame(named)], ignore_index=True)
    return bounds.answer(config["compare"], ours)


def measured_alone(records, level):
    """As `measured`, of the transfer alone, at another level than the records'."""
    fine = records[
        records["status"].eq("ok") & records["kind"].eq("upper") & records["diagnostics"].notna() & records["truth"].notna()
    ]
    parts = bounds.parts(fine)
    if bounds.JENSEN not in parts:
        return pd.DataFrame(columns=[*BY, "variant", "samples", "coverage"])
    parts = parts[parts[bounds.JENSEN].notna()]
    fine = fine.loc[parts.index].assign(level=level)
    high = [kl_upper(e, math.log(1.0 / (1.0 - level)) / n) for e, n in zip(parts["empirical"], parts["n"])]
    fine["covered"] = np.array(high) >= fine["truth"] - fine["truth_error"]
    by = fine.groupby(BY, sort=False)["covered"].agg(["size", "mean"]).reset_index()
    return by.rename(columns={"size": "samples", "mean": "coverage"}).assign(variant=ALONE)
