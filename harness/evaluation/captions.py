"""Captions of figures: the averages, the bars and the marks."""

from __future__ import annotations

import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation.selection import OWN_RANDOMNESS, has_bounds
from harness.evaluation.summary import are_of


def of_figure(table: pd.DataFrame, settings: Settings, drawn: str) -> str:
    """Return the caption of a figure.

    Parameters
    ----------
    table : DataFrame
        `harness.evaluate` of the numbers that are drawn.
    settings : Settings
        The configuration. `files` and `subsets` are the pairs (problem, n) whose replications are
        no samples.
    drawn : str
        The figure: convergence, side_by_side or across_problems (functions of
        harness.figures.plots).
    """
    if table.empty:
        return "No cell gave a number to draw."
    files, subsets = are_of(table, settings.files), are_of(table, settings.subsets)
    whole = files & ~subsets
    if drawn == "across_problems":
        return of_distribution(table, bool(whole.all()))
    sentences = of_means(table[~files], table[whole], table[subsets], drawn == "side_by_side")
    bounds = table[has_bounds(table, settings)]
    if len(bounds):
        sentences.append(of_bounds_of_estimates(bounds))
    sentences += of_bounds(table, upright=drawn == "convergence")
    if table["truth"].notna().any():
        band = ", its band the error of the truth" if (table["truth_error"] > 0).any() else ""
        sentences.append(f"Dashed: the true value{band}.")
    return " ".join(sentences)


def of_means(
    samples: pd.DataFrame, same: pd.DataFrame, subsets: pd.DataFrame, dots: bool
) -> list[str]:
    """Return sentences on averages and error bars.

    `samples` has replications, `same` repeats all rows of a file, `subsets` some of its rows.
    """
    sentences = []
    if len(samples):
        bars = samples.loc[samples["kind"].ne("interval"), "se"]
        if samples["reps"].max() == 1:
            sentences.append("One replication, so no error bars.")
        else:
            error = "; bars: one standard error" if (bars > 0).any() else ""
            sentences.append(f"Mean over {count_range(samples['reps'])} replications{error}.")
    if len(same):
        where = "On a file" if same["problem"].nunique() == 1 else "On files"
        if same["reps"].max() > 1:
            runs = f"mean over {count_range(same['reps'])} runs on the same rows"
            sentences.append(
                f"{where}, {runs}: their {OWN_RANDOMNESS} is no standard error, "
                "and there are no error bars of it."
            )
        else:
            sentences.append(f"{where}, one run on all rows, without error bars.")
    if len(subsets):
        file = "a file's" if subsets["problem"].nunique() == 1 else "files'"
        runs = "one of them"
        if subsets["reps"].max() > 1:
            count = count_range(subsets["reps"])
            runs = f"mean over {count} of them, whose spread is no standard error"
        sentences.append(f"On random subsets of {file} rows, {runs}, without error bars.")
    several = [
        frame["reps"].max() > 1 and frame["kind"].ne("interval").any()
        for frame in (samples, same, subsets)
        if len(frame)
    ]
    if dots and any(several):
        noun = "replications" if len(samples) else "runs"
        sentences.append(f"Dots: the single {noun}.")
    return sentences


def of_bounds_of_estimates(bounds: pd.DataFrame) -> str:
    """Return the sentence on bounds beside estimates: an interval may not contain its estimate."""
    low, high = bounds["low"].notna(), bounds["high"].notna()
    if (low & high).all():
        return f"Pale bars: the intervals of the estimates{_averaged(bounds)}."
    sides = "bounds"
    if not (low.any() and high.any()):
        sides = "lower bound" if low.any() else "upper bound"
    return f"Pale bars: from an estimate to its own {sides}{_averaged(bounds)}."


def of_bounds(table: pd.DataFrame, upright: bool) -> list[str]:
    """Return sentences on the marks of bounds and intervals; `upright` for a vertical value axis."""
    kinds = set(table["kind"])
    up, down = ("up", "down") if upright else ("to the right", "to the left")
    sentences = []
    if "lower" in kinds:
        sentences.append(f"Tick with an arrow {up}: a lower bound, the truth is at least this.")
    if "upper" in kinds:
        sentences.append(f"Tick with an arrow {down}: an upper bound, the truth is at most this.")
    if "interval" in kinds:
        intervals = table[table["kind"].eq("interval")]
        sentences.append(f"Bars with end caps: intervals{_averaged(intervals)}.")
    return sentences


def _averaged(table: pd.DataFrame) -> str:
    return " (means)" if table["reps"].max() > 1 else ""


def of_distribution(table: pd.DataFrame, same_rows: bool) -> str:
    """Return the caption of across_problems; `same_rows` if all repeat the rows of a file."""
    averages = []
    if table["reps"].max() > 1:
        noun = "runs on the same rows" if same_rows else "replications"
        averages.append(f"{count_range(table['reps'])} {noun}")
    if table.groupby("problem")["n"].nunique().max() > 1:
        averages.append(f"{table['n'].nunique()} sample sizes")
    mean = f", mean over {' and '.join(averages)}" if averages else ""
    words = {
        "point": "Dots: estimates",
        "lower": "ticks with an arrow to the right: lower bounds",
        "upper": "ticks with an arrow to the left: upper bounds",
        "interval": "thin bars: intervals",
    }
    kinds = set(table["kind"])
    marks = "; ".join(text for kind, text in words.items() if kind in kinds)
    ends = " (of an interval: of each end)" if "interval" in kinds else ""
    return (
        f"{marks[0].upper()}{marks[1:]}, one per problem{mean}. "
        f"Strokes: the median over the problems{ends}."
    )


def count_range(values: pd.Series) -> str:
    """Return the range of some counts, as '5' or '5 to 1,000'."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
