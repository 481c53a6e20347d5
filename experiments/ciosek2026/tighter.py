"""Derived bounds against the paper-style ones under the same assumption: the ratio of the two on the same samples."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds

FROM = 10_000  # the claim is for n from here on
LINES = ((0, "-", "o"), (5, "--", "^"), (1, "-", "s"), (3, "-", "X"), (2, "-", "D"))  # by pair


def pairs(config):
    """The pairs (derived, paper-style) of which this run has both."""
    return [pair for pair in bounds.PAIRS if set(pair) <= set(config["estimator"])]


def ratios(records, config):
    """By problem, n and pair ('<derived> / <paper-style>'): ratio of the means with its jackknife error, the smallest and the
    largest ratio on one sample, and how many samples there are. Samples on which both are vacuous (1) are no comparison, and
    counted."""
    found = bounds.measured(records)
    rows = []
    for problem in bounds.problems(config, found):
        for derived, paper in pairs(config):
            mine = found[found["problem"].eq(problem) & found["estimator"].isin([derived, paper])]
            for n, part in mine.groupby("n"):
                wide = part.pivot(index="rep", columns="estimator", values="value").reindex(columns=[derived, paper]).dropna()
                if not len(wide):
                    continue
                vacuous = wide.ge(1.0 - 1e-9).all(axis=1)
                rows.append(
                    {
                        "problem": problem,
                        "n": n,
                        "pair": f"{derived} / {paper}",
                        "vacuous": int(vacuous.sum()),
                        **_ratio(wide[~vacuous]),
                    }
                )
    columns = ["problem", "n", "pair", "vacuous", "mean", "se", "least", "largest", "reps"]
    return pd.DataFrame(rows, columns=columns)


def _ratio(wide):
    a, b = wide.to_numpy().T if len(wide) else (np.empty(0), np.empty(0))
    if not len(a):
        return {"mean": np.nan, "se": np.nan, "least": np.nan, "largest": np.nan, "reps": 0}
    found = {"mean": a.mean() / b.mean(), "se": np.nan, "least": (a / b).min(), "largest": (a / b).max(), "reps": len(a)}
    if len(a) > 1:
        each = (a.sum() - a) / (b.sum() - b)
        found["se"] = np.sqrt((len(a) - 1) / len(a) * ((each - each.mean()) ** 2).sum())
    return found


def render(records, config):
    """One panel per function: derived / paper-style against n; the line is the ratio of the means, the band runs from the
    smallest to the largest ratio on one sample. Below 1 the derived bound is tighter."""
    found = ratios(records, config)
    found = found[found["reps"] > 0]
    panels = bounds.problems(config, found)
    if not panels:
        return bounds.nothing()
    figure, axes = bounds.grid(len(panels), sharex=True, sharey=True)
    for ax, problem in zip(axes, panels):
        for pair in pairs(config):
            line = found[found["problem"].eq(problem) & found["pair"].eq(" / ".join(pair))].sort_values("n")
            colour, dash, marker = LINES[bounds.PAIRS.index(pair)]
            colour = bounds.COLOURS[colour]
            ax.fill_between(line["n"], line["least"], line["largest"], color=colour, alpha=0.2, linewidth=0)
            ax.plot(line["n"], line["mean"], color=colour, linestyle=dash, marker=marker, label=_text(pair, config))
        ax.axhline(1.0, color="0.2", linewidth=0.9)
        ax.axvspan(found["n"].min() / 1.6, FROM / 1.05, color="0.5", alpha=0.1, linewidth=0)
        ax.set_xscale("log")
        ax.set_xlim(found["n"].min() / 1.6, found["n"].max() * 1.6)
        ax.set_title(bounds.function(problem, config).removesuffix(", perturbed"))
        ax.set_ylim(0.0, max(1.15, 1.05 * found["largest"].max()))
    for ax in axes[:: min(3, len(axes))]:
        ax.set_ylabel("derived / paper-style")
    bounds.legend(figure, axes, columns=2)
    return figure


def _text(pair, config):
    return " / ".join(bounds.name(e, config) for e in pair)


def table(records, config):
    """By function and pair: the ratio of the means and the largest ratio on one sample at every n, and whether the derived bound
    is tighter on every sample of every n from 10,000 on."""
    found, rows = ratios(records, config), {}
    for (problem, pair), part in found.groupby(["problem", "pair"], sort=False):
        row = {"verdict": verdict(part)}
        for r in part.itertuples():
            text = bounds.entry(r.mean, r.se, 3) + f" (max. {r.largest:.3f})" if r.reps else "both vacuous"
            row[f"n = {r.n:,}"] = text
        rows[bounds.function(problem, config), bounds.plain(_text(pair.split(" / "), config))] = row
    return bounds.frame(
        rows, ["function", "derived / paper-style"], "ratio of the mean bounds ± jackknife error (largest ratio on one sample)"
    )


def verdict(part):
    """'tighter on all N samples' of n >= 10,000, or on how many sizes it is not; part: `ratios` of one function and pair."""
    large = part[part["n"].ge(FROM) & part["reps"].gt(0)]
    if not len(large):
        return "–"
    worse = large[~large["largest"].lt(1.0)]
    if not len(worse):
        return f"tighter on all {large['reps'].sum():,} samples"
    return f"not on every sample of n = {', '.join(f'{n:,}' for n in worse['n'])}"


def reproduced(records, config):
    """Rows '<problem id>, n = <n>', columns '<derived> / <paper-style>': ratio of the means."""
    found = ratios(records, config)
    ours = pd.DataFrame(
        {
            "row": [f"{p}, n = {n}" for p, n in zip(found["problem"], found["n"])],
            "column": found["pair"],
            "value": found["mean"],
            "error": found["se"],
            "reps": found["reps"],
        }
    )
    return bounds.answer(config["compare"], ours)
