"""Captions of figures: sentences on averages, error bars, bounds and marks."""

from __future__ import annotations

import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation.selection import has_bounds, has_interval
from harness.evaluation.summary import mask_pairs

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
        Settings of the run. `settings.files` and `settings.subsets` list pairs (problem, n) whose
        replications are runs on the same rows of a file, not independent samples.
    dots : bool
        True if single replications are drawn as dots.
    """
    sentences = [*describe_means(table, settings, dots), *describe_bounds(table, settings)]
    if table["truth"].notna().any():
        band = " with its error as a band" if (table["truth_error"] > 0).any() else ""
        sentences.append(f"Dashed line: the true value{band}.")
    return " ".join(sentences)


def describe_means(table: pd.DataFrame, settings: Settings, dots: bool = False) -> list[str]:
    """Return the sentences of a caption that explain the averages and error bars.

    Replications are independent samples, or runs on all rows of a file, or runs on random subsets
    of these rows. Each kind that occurs in `table` has its own sentence.
    """
    files, subsets = mask_pairs(table, settings.files), mask_pairs(table, settings.subsets)
    samples, whole, partial = table[~files], table[files & ~subsets], table[subsets]
    sentences = []
    if len(samples) and samples["reps"].max() == 1:
        sentences.append("One replication, so there are no error bars.")
    elif len(samples):
        bars = samples.loc[samples["kind"].ne("interval"), "se"]
        error = "; bars: one standard error" if (bars > 0).any() else ""
        sentences.append(f"Mean over {format_range(samples['reps'])} replications{error}.")
    for rows, runs in ((whole, "on all rows"), (partial, "on random subsets of the rows")):
        if not len(rows):
            continue
        mean = f"one run {runs}"
        if rows["reps"].max() > 1:
            mean = f"mean over {format_range(rows['reps'])} runs {runs}"
        sentences.append(
            f"On files: {mean}. Runs that share rows are not independent, so there are no standard "
            "errors."
        )
    repeated = table["reps"].gt(1) & table["kind"].ne("interval")
    if dots and repeated.any():
        sentences.append(f"Dots: single {'replications' if len(samples) else 'runs'}.")
    return sentences


def describe_errors(table: pd.DataFrame, settings: Settings) -> str:
    """Return the sentence of a caption that explains the intervals of errors."""
    runs = f"{format_range(table['reps'])} replications"
    if table["y_low"].isna().all():
        return f"From {runs}, without intervals."
    drawn = settings.figure.y, settings.figure.yscale
    size = " Absolute values." if drawn == ("bias", "log") else ""
    return f"From {runs}; bars: 95 % intervals from leaving out one replication at a time.{size}"


def describe_bounds(table: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the sentences of a caption that explain the marks of bounds and intervals."""
    averaged = " (means)" if table["reps"].max() > 1 else ""
    ends = {"confidence intervals of the estimates": has_interval(table, settings)}
    ends["from an estimate to its bound"] = has_bounds(table, settings) & ~has_interval(
        table, settings
    )
    pale = " or ".join(text for text, mask in ends.items() if mask.any())
    marks = (
        (has_bounds(table, settings), f"Pale bars: {pale}"),
        (table["kind"].isin(["lower", "upper"]), "Ticks: bounds, with an arrow to the truth"),
        (table["kind"].eq("interval"), "Bars with end caps: intervals"),
    )
    return [f"{text}{averaged}." for mask, text in marks if mask.any()]


def describe_distribution(table: pd.DataFrame, settings: Settings) -> str:
    """Return the caption of a figure with one mark per problem."""
    averages = []
    if table["reps"].max() > 1:
        runs = (
            "runs on the same rows" if mask_pairs(table, settings.files).all() else "replications"
        )
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
    """Format the range of some counts, as '5' or '5 to 1,000'."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
