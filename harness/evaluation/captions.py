"""Figures in words: what is averaged, what the bars are, what the marks mean."""

from __future__ import annotations

import numpy as np

from harness.evaluation.selection import OWN_RANDOMNESS, has_bounds
from harness.evaluation.summary import are_of


def of_figure(table, settings, drawn: str) -> str:
    """The caption of a figure.

    Parameters
    ----------
    table : DataFrame
        `harness.evaluate` of what is drawn.
    settings : Settings
        The configuration, with `files` and `subsets`: the pairs (problem, n) whose replications are no samples.
    drawn : str
        Which figure it is: convergence, side_by_side or across_problems (the functions of harness.figures.plots).
    """
    if not len(table):
        return "No cell gave a number to draw."
    files, subsets = (
        np.array(are_of(table, getattr(settings, name)), dtype=bool)
        for name in ("files", "subsets")
    )
    whole = files & ~subsets
    if drawn == "across_problems":
        return of_distribution(table, whole)
    sentences = of_means(table[~files], table[whole], table[subsets], dots=drawn == "side_by_side")
    bounds = table[has_bounds(table, settings)]
    if len(bounds):
        sentences.append(of_bounds_of_estimates(bounds))
    sentences += of_bounds(table, upright=drawn == "convergence")
    if table["truth"].notna().any():
        band = ", its band the error of the truth" if (table["truth_error"] > 0).any() else ""
        sentences.append(f"Dashed: the true value{band}.")
    return " ".join(sentences)


def of_means(own, same, subsets, dots):
    """Sentences on what is averaged, and on error bars: `own` of replications, `same` of all rows of a file again, `subsets` of
    some of them."""
    sentences = []
    if len(own):
        reps = count_range(own["reps"])
        bars = own[own["kind"].ne("interval")]["se"]
        if own["reps"].max() == 1:
            sentences.append("One replication, so no error bars.")
        else:
            error = "; bars: one standard error" if (bars > 0).any() else ""
            sentences.append(f"Mean over {reps} replications{error}.")
    if len(same):
        where = "On a file" if same["problem"].nunique() == 1 else "On files"
        if same["reps"].max() > 1:
            again = f"{where}, mean over {count_range(same['reps'])} runs on the same rows"
            sentences.append(
                f"{again}: their {OWN_RANDOMNESS} is no standard error, and there are no error bars of it."
            )
        else:
            sentences.append(f"{where}, one run on all rows, without error bars.")
    if len(subsets):
        where = (
            "On random subsets of a file's rows"
            if subsets["problem"].nunique() == 1
            else "On random subsets of files' rows"
        )
        several = subsets["reps"].max() > 1
        runs = (
            f"mean over {count_range(subsets['reps'])} of them, whose spread is no standard error"
            if several
            else "one of them"
        )
        sentences.append(f"{where}, {runs}, without error bars.")
    held = [frame for frame in (own, same, subsets) if len(frame)]
    points = [
        frame for frame in held if frame["reps"].max() > 1 and frame["kind"].ne("interval").any()
    ]
    if dots and points:
        sentences.append("Dots: the single replications." if len(own) else "Dots: the single runs.")
    return sentences


def of_bounds_of_estimates(bounds):
    """The sentence on the bounds that estimates have besides: an interval may leave its estimate outside."""
    low, high = bounds["low"].notna(), bounds["high"].notna()
    if (low & high).all():
        return f"Pale bars: the intervals of the estimates{_averaged(bounds)}."
    sides = "lower bound" if not high.any() else "upper bound" if not low.any() else "bounds"
    return f"Pale bars: from an estimate to its own {sides}{_averaged(bounds)}."


def of_bounds(table, upright):
    kinds = set(table["kind"])
    up, down = ("up", "down") if upright else ("to the right", "to the left")
    sentences = []
    if "lower" in kinds:
        sentences.append(f"Tick with an arrow {up}: a lower bound, the truth is at least this.")
    if "upper" in kinds:
        sentences.append(f"Tick with an arrow {down}: an upper bound, the truth is at most this.")
    if "interval" in kinds:
        sentences.append(
            f"Bars with end caps: intervals{_averaged(table[table['kind'].eq('interval')])}."
        )
    return sentences


def _averaged(table):
    return " (means)" if table["reps"].max() > 1 else ""


def of_distribution(table, files):
    """The caption of across_problems."""
    over = (
        [
            f"{count_range(table['reps'])} {'runs on the same rows' if files.all() else 'replications'}"
        ]
        if table["reps"].max() > 1
        else []
    )
    over += (
        [f"{table['n'].nunique()} sample sizes"]
        if table.groupby("problem")["n"].nunique().max() > 1
        else []
    )
    mean = f", mean over {' and '.join(over)}" if over else ""
    kinds = set(table["kind"])
    marks = [
        *(["Dots: estimates"] if "point" in kinds else []),
        *(["ticks with an arrow to the right: lower bounds"] if "lower" in kinds else []),
        *(["ticks with an arrow to the left: upper bounds"] if "upper" in kinds else []),
        *(["thin bars: intervals"] if "interval" in kinds else []),
    ]
    text = "; ".join(marks)
    ends = " (of an interval: of each end)" if "interval" in kinds else ""
    return f"{text[0].upper()}{text[1:]}, one per problem{mean}. Strokes: the median over the problems{ends}."


def count_range(values):
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
