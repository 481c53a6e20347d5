"""Derived bounds against the paper-style ones under the same assumption: the ratio of the two on the same samples."""

import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import items, panels, rates

FROM = 10_000  # the claim is for n from here on
LINES = ((0, "-", "o"), (5, "--", "^"), (1, "-", "s"), (3, "-", "X"), (2, "-", "D"))  # colour, line and marker, by pair


def ratios(records, config):
    """By problem, n and pair ('<derived> / <paper-style>'): ratio of the means with its jackknife error, the smallest and the
    largest ratio on one sample, and how many samples there are. Samples on which both are vacuous (1) are no comparison, and
    counted."""
    found, rows = bounds.measured(records), []
    pairs = [pair for pair in bounds.PAIRS if set(pair) <= set(config["estimator"])]
    for problem in items.chosen(config, found, "problem"):
        for pair in pairs:
            mine = found[found["problem"].eq(problem) & found["estimator"].isin(pair)]
            for n, part in mine.groupby("n"):
                wide = part.pivot(index="rep", columns="estimator", values="value").reindex(columns=list(pair)).dropna()
                if len(wide):
                    vacuous = wide.ge(1.0 - 1e-9).all(axis=1)
                    row = {"problem": problem, "n": n, "pair": " / ".join(pair), "vacuous": int(vacuous.sum())}
                    rows.append({**row, "keys": tuple(part["key"]), **rates.ratio_of_means(*wide[~vacuous].to_numpy().T)})
    columns = ["problem", "n", "pair", "vacuous", "keys", "mean", "se", "least", "largest", "reps"]
    return pd.DataFrame(rows, columns=columns)


def render(records, config):
    """One panel per function: derived / paper-style against n; the line is the ratio of the means, the band runs from the
    smallest to the largest ratio on one sample. Below 1 the derived bound is tighter."""
    found = ratios(records, config)
    found = found[found["reps"] > 0]
    problems = items.chosen(config, found, "problem")
    if not problems:
        return panels.nothing()
    figure, axes = panels.panels(len(problems), sharex=True, sharey=True)
    for k, (ax, problem) in enumerate(zip(axes, problems)):
        for pair, (colour, dash, marker) in zip(bounds.PAIRS, LINES):
            line = found[found["problem"].eq(problem) & found["pair"].eq(" / ".join(pair))].sort_values("n")
            if len(line):
                how = {"color": bounds.COLOURS[colour], "linestyle": dash, "marker": marker}
                ax.fill_between(line["n"], line["least"], line["largest"], color=how["color"], alpha=0.2, linewidth=0)
                ax.plot(line["n"], line["mean"], label=" / ".join(bounds.name(e, config) for e in pair), **how)
        ax.axhline(1.0, color="0.2", linewidth=0.9)
        ax.axvspan(found["n"].min() / 1.6, FROM / 1.05, color="0.5", alpha=0.1, linewidth=0)
        ax.set(
            xscale="log",
            xlim=(found["n"].min() / 1.6, found["n"].max() * 1.6),
            ylim=(0.0, max(1.15, 1.05 * found["largest"].max())),
        )
        ax.set_title(bounds.function(problem, config).removesuffix(", perturbed"))
        ax.set_ylabel("" if k % 3 else "derived / paper-style")
    panels.legend(figure, axes, columns=2)
    return figure


def table(records, config):
    """By function and pair: the ratio of the means and the largest ratio on one sample at every n, and whether the derived bound
    is tighter on every sample of every n from 10,000 on."""
    found, rows = ratios(records, config), {}
    for (problem, pair), part in found.groupby(["problem", "pair"], sort=False):
        text = " / ".join(bounds.plain(e, config) for e in pair.split(" / "))
        rows[bounds.function(problem, config), text] = {"verdict": verdict(part)} | {
            f"n = {r.n:,}": items.entry(r.mean, r.se, 3) + f" (max. {r.largest:.3f})" if r.reps else "both vacuous"
            for r in part.itertuples()
        }
    heading = "ratio of the mean bounds ± jackknife error (largest ratio on one sample)"
    return items.wide(rows, ["function", "derived / paper-style"], heading)


def verdict(part):
    """'tighter on all N samples' of n >= 10,000, or on how many sizes it is not; part: `ratios` of one function and pair."""
    large = part[part["n"].ge(FROM) & part["reps"].gt(0)]
    worse = large[~large["largest"].lt(1.0)]
    if len(worse):
        return f"not on every sample of n = {', '.join(f'{n:,}' for n in worse['n'])}"
    return f"tighter on all {large['reps'].sum():,} samples" if len(large) else "–"


def reproduced(records, config):
    """Rows '<problem id>, n = <n>', columns '<derived> / <paper-style>': ratio of the means."""
    return items.answers(items.numbers(ratios(records, config), "{problem}, n = {n}", "{pair}"), config)
