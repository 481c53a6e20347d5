"""What the coverage tests can tell: every bound again from its terms with one left out, on problems made to break it.

A bound adds worst cases, so most terms can be left out on most problems without a miss. A term counts as detected where the bound
without it covers less than 1 - delta - 3 standard errors. Wide windows, of one or more periods of what they are to find, make the
bias term do its work; automatic windows are so narrow that it is seldom missed.
"""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.estimators.certified.base import ALONE, EMPIRICAL, FULL, VARIANTS, ablated
from harness.report import items, panels, rates
from harness.report.style import COLOURS, MARKERS

LOOKS = {v: {"marker": MARKERS[i % 8], "color": COLOURS[i % 8]} for i, v in enumerate(VARIANTS)}
LOOKS[ALONE], LOOKS[EMPIRICAL] = ({"marker": m, "color": "0.35", "markerfacecolor": "white"} for m in "o^")
BY = ["problem", "estimator", "n", "level"]


def measured(records, level=None):
    """By problem, bound, n, level and variant: samples, coverage, the smallest that passes, whether the term is detected. With
    `level` of the transfer alone, at that level instead of the records'."""
    fine = items.with_number(records, kinds="upper").dropna(subset=["diagnostics", "truth"])
    fine = fine.assign(level=fine["level"] if level is None else level, low=np.nan)
    terms = zip(items.diagnostics(fine).to_dict("records"), fine["level"])
    made = pd.DataFrame([ablated(*row) for row in terms], fine.index).reindex(columns=VARIANTS if level is None else [ALONE])
    found = fine.drop(columns="high").join(made).melt([c for c in fine if c != "high"], var_name="variant", value_name="high")
    found = rates.coverage(found.dropna(subset="high"), "variant")
    return found.assign(detected=~found["passes"])


def render(records, config):
    """One panel per problem: coverage of every bound at the largest n, as it is and without each of its terms; dotted: the
    smallest that passes."""
    found = measured(records)
    found = found[found["n"].eq(found["n"].max())]
    rows, variants = items.chosen(config, found), [v for v in VARIANTS if v in set(found["variant"])]

    def draw(ax, problem):
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

    shape = {"height": 0.55 + 0.25 * len(rows), "per_row": 2, "xlabel": "coverage", "sharex": True, "sharey": True}
    return panels.each(items.chosen(config, found, "problem"), draw, **shape)


def table(records, config):
    """By problem, bound, n and level: coverage with all terms and without each, and the terms that are detected; last, the lowest
    coverage over all problems, by bound."""
    found, rows = bounds.named(measured(records), config), {}
    for (function, bound, n, level), part in found.groupby(["function", "bound", "n", "level"], sort=False):
        rows[function, bound, f"{n:,}", f"{level:g}"] = _row(part, part)
    for (bound, level), part in found.groupby(["bound", "level"], sort=False):
        lowest = part.loc[part.groupby("variant", sort=False)["coverage"].idxmin()]
        rows["lowest of all", bound, "–", f"{level:g}"] = _row(lowest, part)
    heading = "share of samples whose bound holds the true value, terms left out"
    return items.wide(rows, ["problem", "bound", "n", "level"], heading, (*VARIANTS, "smallest that passes", "detected"))


def _row(part, judged):
    detected = judged.pivot(index=["problem", "n"], columns="variant", values="detected").reindex(columns=[*VARIANTS])
    seen = detected.eq(True).any()
    names = [v.removeprefix("without ") for v in VARIANTS if seen[v] and v.startswith("without ")]
    if (detected[EMPIRICAL].eq(True) & detected[ALONE].eq(False)).any():
        names.append("transfer (where alone)")
    row = {r.variant: f"{r.coverage:.4f}" for r in part.itertuples()} | {"smallest that passes": f"{part['least'].min():.4f}"}
    return row | {"detected": "the bound itself fails" if seen[FULL] else ", ".join(names) or "none"}


def reproduced(records, config):
    """Rows '<problem id>, n = <n>, level <level>', columns '<estimator id>, <variant>': coverage. The transfer alone also at
    level 0.5."""
    of_it = ([*BY[:2], "variant"], "{problem}, n = {n}, level {level:g}", "{estimator}, {variant}")
    shares = bounds.shares(measured(records), config, *of_it)
    half = bounds.shares(measured(records, 0.5), {**config, "reasons": {}}, *of_it)
    return items.answers(items.together(shares, half), config)
