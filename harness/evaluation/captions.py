"""Captions of figures: the averages, the bars and the marks."""

from __future__ import annotations

import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation.selection import has_bounds
from harness.evaluation.summary import are_of

KINDS = {
    "point": "Dots: estimates",
    "lower": "ticks with an arrow to the right: lower bounds",
    "upper": "ticks with an arrow to the left: upper bounds",
    "interval": "thin bars: intervals",
}


def describe_figure(table: pd.DataFrame, settings: Settings, dots: bool = False) -> str:
    """Return the caption of a figure of averages.

    Parameters
    ----------
    table : DataFrame
        `harness.evaluate` of the numbers that are drawn.
    settings : Settings
        The configuration. `files` and `subsets` are the pairs (problem, n) whose replications are
        no samples.
    dots : bool
        The single replications are drawn as dots.
    """
    sentences = [*describe_means(table, settings, dots), *describe_bounds(table, settings)]
    if table["truth"].notna().any():
        band = ", its band the error of the truth" if (table["truth_error"] > 0).any() else ""
        sentences.append(f"Dashed: the true value{band}.")
    return " ".join(sentences)


def describe_means(table: pd.DataFrame, settings: Settings, dots: bool = False) -> list[str]:
    """Return sentences on averages and error bars.

    Replications are samples, or runs on all rows of a file, or runs on some of its rows.
    """
    files, subsets = are_of(table, settings.files), are_of(table, settings.subsets)
    samples, whole, partial = table[~files], table[files & ~subsets], table[subsets]
    sentences = []
    if len(samples) and samples["reps"].max() == 1:
        sentences.append("One replication, so no error bars.")
    elif len(samples):
        bars = samples.loc[samples["kind"].ne("interval"), "se"]
        error = "; bars: one standard error" if (bars > 0).any() else ""
        sentences.append(f"Mean over {format_range(samples['reps'])} replications{error}.")
    for rows, runs in ((whole, "on all rows"), (partial, "on random subsets of the rows")):
        if not len(rows):
            continue
        mean = f"one run {runs}"
        if rows["reps"].max() > 1:
            mean = f"mean over {format_range(rows['reps'])} runs {runs}, which share rows"
        sentences.append(f"On files: {mean}; no standard errors.")
    repeated = table["reps"].gt(1) & table["kind"].ne("interval")
    if dots and repeated.any():
        sentences.append(f"Dots: the single {'replications' if len(samples) else 'runs'}.")
    return sentences


def describe_bounds(table: pd.DataFrame, settings: Settings) -> list[str]:
    """Return sentences on the marks of bounds and intervals."""
    averaged = " (means)" if table["reps"].max() > 1 else ""
    marks = (
        (has_bounds(table, settings), "Pale bars: from an estimate to its bounds"),
        (table["kind"].isin(["lower", "upper"]), "Ticks: bounds, with an arrow to the truth"),
        (table["kind"].eq("interval"), "Bars with end caps: intervals"),
    )
    return [f"{text}{averaged}." for mask, text in marks if mask.any()]


def describe_distribution(table: pd.DataFrame, settings: Settings) -> str:
    """Return the caption of a figure with a mark for each problem."""
    averages = []
    if table["reps"].max() > 1:
        runs = "runs on the same rows" if are_of(table, settings.files).all() else "replications"
        averages.append(f"{format_range(table['reps'])} {runs}")
    if table.groupby("problem")["n"].nunique().max() > 1:
        averages.append(f"{table['n'].nunique()} sample sizes")
    mean = f", mean over {' and '.join(averages)}" if averages else ""
    marks = "; ".join(text for kind, text in KINDS.items() if table["kind"].eq(kind).any())
    return (
        f"{marks[0].upper()}{marks[1:]}, one per problem{mean}. "
        "Strokes: the median over the problems."
    )


def format_range(counts: pd.Series) -> str:
    """Return the range of some counts, as '5' or '5 to 1,000'."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
