"""Result tables: the long summary (CSV, Parquet) and the wide one with the paper's labels (LaTeX, HTML)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from harness.common.wording import DASH
from harness.common.writing import whole_file, write_csv
from harness.evaluation.latex import latex
from harness.evaluation.selection import OWN_RANDOMNESS, estimators, label, shown_estimands
from harness.evaluation.summary import are_of, evaluated_once
from harness.records.schema import WITH_NUMBER, has_number

BOUNDS = {"upper": "≤ ", "lower": "≥ "}
SMALLEST_SPREAD = 1e-12  # a smaller one is rounding of equal numbers
MIDDLE = 5e-5  # how far a value may be from the middle of its interval, which then says it: half of the last printed digit
SUBSETS = "spread over random subsets of the rows"  # which share rows, and so are no samples


def summary(records, settings):
    """`harness.evaluate` of the records with the labels beside the ids."""
    frame = evaluated_once(records, settings.files)
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(settings, group, name) for name in frame[group]])
    return frame


def wide(records, settings, apart=()):
    """The table for people: one row per problem and n, one column per estimator, and the truth.

    Parameters
    ----------
    records : DataFrame
        As of `harness.load_records`.
    settings : Settings
        The configuration; with `files`, the pairs (problem, n) of rows of a file, where replications are no samples, and
        `subsets`, those of them with some of the rows only.
    apart : sequence of str
        Further columns of the records that make levels of the rows; they stand first.

    Returns
    -------
    DataFrame of str
        Levels of the rows: `apart`, problem, notion if there are several, estimand if several, n. The name of the columns says
        what the entries are:

        * '0.0713 ± 0.0021', the mean of point estimates with its standard error; with the means of their bounds where they have
          an interval, '0.0713 [0.0612, 0.0809]', or one bound, '0.0713 (≥ 0.0300)';
        * '≤ 0.2100', '≥ 0.0300' and '[0.0612, 0.0809]', the means of bounds, and of intervals without a point, which have no
          RMSE that counts and no regret; '[0.0612, 0.0809] (value 0.0700)' where the value is not the middle;
        * on rows of a file '0.0713 (spread 0.0008)': there is no standard error, and the spread is the estimator's own over runs
          on the same rows, or that over subsets of the rows;
        * the status of a cell that has no number, and a dash for what is not estimated.
    """
    shown = shown_estimands(records, settings)
    files = set(map(tuple, settings.files))
    frame = evaluated_once(records, files, apart)
    levels = [*apart, *_levels(frame, shown)]
    rows: dict[tuple, dict] = {}
    for key, estimator, r in entries_of(frame, shown, levels, settings):
        entry = rows.setdefault(key, {})
        if r is not None and r["status"] in WITH_NUMBER:
            entry[label(settings, "estimator", estimator)] = _entry(
                r, (r["problem"], r["n"]) in files
            )
            if r["truth"] == r["truth"]:
                entry["truth"] = f"{r['truth']:.4f}"
        elif r is not None:
            entry.setdefault(label(settings, "estimator", estimator), r["status"])
    columns = ["truth", *(label(settings, "estimator", e) for e in estimators(records, settings))]
    index = pd.MultiIndex.from_arrays(
        [list(part) for part in zip(*rows)] or [[]] * len(levels), names=levels
    )
    table = pd.DataFrame(
        [[entry.get(c, DASH) for c in columns] for entry in rows.values()],
        index,
        columns,
        dtype=object,
    )
    if (table["truth"] == DASH).all():
        table = table.drop(columns="truth")
    problems = dict.fromkeys([*settings.problem, *records["problem"].unique()])
    ranks = {
        "problem": {label(settings, "problem", p): i for i, p in enumerate(problems)},
        "estimand": {name: i for i, name in enumerate(shown)},
    }
    table = table.sort_index(
        level=list(range(len(levels))),
        key=lambda level: level.map(ranks[level.name]) if level.name in ranks else level,
    )
    of = frame[has_number(frame) & frame["estimand"].isin(shown)]
    name = ("" if len(shown) > 1 else f"{shown[0]}: ") + _entries_are(of, files, settings.subsets)
    table.columns.name = name.replace("[interval]", f"[{_level(records, shown)}interval]")
    return table


def _level(records, shown):
    """'95% ' where all intervals of the shown estimands are of that level."""
    both = (
        records["low"].notna()
        & records["high"].notna()
        & has_number(records)
        & records["estimand"].isin(shown)
    )
    levels = records.loc[both, "level"].unique() if "level" in records else []
    return f"{100 * levels[0]:g}% " if len(levels) == 1 and levels[0] == levels[0] else ""


def _levels(frame, shown):
    several = frame["notion"].nunique() > 1
    return [
        "problem",
        *(["notion"] if several else []),
        *(["estimand"] if len(shown) > 1 else []),
        "n",
    ]


def entries_of(frame, shown, levels, settings):
    """(row of the wide table, estimator, row of `frame` or None) of all that the wide table has a place for: a number where there
    is one, else the reason of a cell as a whole."""
    for r in frame.to_dict("records"):
        problem = label(settings, "problem", r["problem"])
        for estimand in [r["estimand"]] if r["estimand"] in shown else shown:
            place = {**r, "problem": problem, "estimand": estimand, "n": int(r["n"])}
            of_it = r["estimand"] in ("", estimand)
            yield tuple(place[level] for level in levels), r["estimator"], r if of_it else None


def _entry(r, of_file):
    """One entry of the wide table."""
    low, high = (f"{r[side]:.4f}" if r[side] == r[side] else "" for side in ("low", "high"))
    spread = ""
    if of_file and r["reps"] > 1 and r["sd"] > SMALLEST_SPREAD:
        spread = f" (spread {r['sd']:.4f})" if r["sd"] >= 5e-5 else f" (spread {r['sd']:.0e})"
    if r["kind"] == "interval":
        value = f" (value {r['mean']:.4f})" if _off_middle(r) else ""
        return f"[{low or '−∞'}, {high or '∞'}]{value}{spread}"
    text = (
        BOUNDS.get(r["kind"], "")
        + f"{r['mean']:.4f}"
        + (f" ± {r['se']:.4f}" if r["se"] == r["se"] else "")
    )
    if r["kind"] == "point":
        both = low and high
        text += (
            f" [{low}, {high}]"
            if both
            else f" (≥ {low})"
            if low
            else f" (≤ {high})"
            if high
            else ""
        )
    return text + spread


def _off_middle(r) -> bool:
    """Whether the value of an interval, or of any of a table, is another than the middle of its ends."""
    return bool(np.any(np.abs(r["mean"] - (r["low"] + r["high"]) / 2.0) > MIDDLE))


def _entries_are(table, files, subsets) -> str:
    """What the entries of the wide table are, composed of what is there."""
    same = pd.Series(are_of(table, files), index=table.index, dtype=bool)
    own, of_file = table[~same], table[same]
    parts = [_means(own)] if len(own) or not len(of_file) else []
    if len(of_file):
        spread = are_of(of_file[(of_file["reps"] > 1) & (of_file["sd"] > SMALLEST_SPREAD)], subsets)
        said = [SUBSETS] * (True in spread) + [OWN_RANDOMNESS] * (False in spread)
        parts.append(("of files: " if parts else "") + ", ".join(["value" + _ends(of_file), *said]))
    return "; ".join(parts)


def _means(table):
    points = table[table["kind"].ne("interval")]
    mean = (
        "mean ± standard error"
        if points["se"].notna().any()
        else "mean"
        if (table["reps"] > 1).any()
        else "estimate"
    )
    return mean + _ends(table)


def _ends(table):
    point = table["kind"].eq("point")
    low, high = (side.notna() & point for side in (table["low"], table["high"]))
    parts = []
    if (low & high).any() or table["kind"].eq("interval").any():
        parts.append(" [interval]")
    if table["kind"].eq("interval").any():
        off = _off_middle(table[table["kind"].eq("interval")])
        parts.append(
            "intervals without a point" + (", (value) where it is not the middle" if off else "")
        )
    if table["kind"].eq("lower").any() or (low & ~high).any():
        parts.append("≥ lower bound")
    if table["kind"].eq("upper").any() or (high & ~low).any():
        parts.append("≤ upper bound")
    return (parts.pop(0) if parts and parts[0] == " [interval]" else "") + "".join(
        f", {part}" for part in parts
    )


def save(summary_frame, wide_frame, stem: Path) -> list[Path]:
    """Write the summary to <stem>.csv and <stem>.parquet, and the wide table to <stem>.tex."""
    paths = [stem.with_name(stem.name + end) for end in (".csv", ".parquet", ".tex")]
    writers = (
        lambda path: write_csv(summary_frame, path),
        lambda path: summary_frame.to_parquet(path, index=False),
        lambda path: path.write_text(latex(wide_frame)),
    )
    for path, write in zip(paths, writers):
        with whole_file(path) as temporary:
            write(temporary)
    return paths
