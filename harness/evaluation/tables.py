"""Result tables: the long summary (CSV, Parquet) and the wide one with labels (LaTeX, HTML)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.wording import DASH
from harness.common.writing import whole_file, write_csv
from harness.configure.settings import Settings
from harness.evaluation.latex import latex
from harness.evaluation.selection import OWN_RANDOMNESS, estimators, label, shown_estimands
from harness.evaluation.summary import are_of, evaluate
from harness.records.schema import WITH_NUMBER, has_number

BOUNDS = {"upper": "≤ ", "lower": "≥ "}
SMALLEST_SPREAD = 1e-12  # a smaller spread is rounding of equal numbers
MIDDLE = 5e-5  # half of the last printed digit: closer to its middle, an interval says its value
SUBSETS = "spread over random subsets of the rows"  # they share rows, and so are no samples
Key = tuple[Any, ...]


def summary(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return `harness.evaluate` of the records with the labels beside the ids."""
    return with_labels(evaluate(records, settings.files), settings)


def with_labels(frame: pd.DataFrame, settings: Settings, position: int = 0) -> pd.DataFrame:
    """Insert problem_label and estimator_label at a position."""
    for group in ("estimator", "problem"):
        labels = [label(settings, group, name) for name in frame[group]]
        frame.insert(position, f"{group}_label", labels)
    return frame


def wide(records: pd.DataFrame, settings: Settings, apart: Sequence[str] = ()) -> pd.DataFrame:
    """Return the table for people: a row per problem and n, a column per estimator, and the truth.

    Parameters
    ----------
    records : DataFrame
        As `harness.load_records` returns them.
    settings : Settings
        The configuration. `files` are the pairs (problem, n) of rows of a file, where replications
        are no samples, and `subsets` those with only some of the rows.
    apart : sequence of str
        Further columns of the records that make levels of the rows; they come first.

    Returns
    -------
    DataFrame of str
        Levels of the rows: `apart`, problem, notion if there are several, estimand if several, n.
        The name of the columns explains the entries:

        * '0.0713 ± 0.0021': mean of point estimates with its standard error; with the means of
          their bounds '0.0713 [0.0612, 0.0809]', or one bound, '0.0713 (≥ 0.0300)';
        * '≤ 0.2100', '≥ 0.0300', '[0.0612, 0.0809]': means of bounds, and of intervals without a
          point, which have no RMSE that counts and no regret; '[0.0612, 0.0809] (value 0.0700)'
          where the value is not the middle;
        * '0.0713 (spread 0.0008)' on rows of a file: there is no standard error. The spread is the
          estimator's own over runs on the same rows, or that over subsets of the rows;
        * the status of a cell without a number, and a dash for what is not estimated.
    """
    shown = shown_estimands(records, settings)
    files = set(settings.files)
    frame = evaluate(records, files, apart)
    levels = [
        *apart,
        "problem",
        *(["notion"] if frame["notion"].nunique() > 1 else []),
        *(["estimand"] if len(shown) > 1 else []),
        "n",
    ]
    rows: dict[Key, dict[str, str]] = {}
    for place, r in places(frame, shown):
        names = place | {"problem": label(settings, "problem", place["problem"])}
        row = rows.setdefault(tuple(names[level] for level in levels), {})
        column = label(settings, "estimator", place["estimator"])
        if r is not None and r["status"] in WITH_NUMBER:
            row[column] = _entry(r, (r["problem"], r["n"]) in files)
            if not math.isnan(r["truth"]):
                row["truth"] = f"{r['truth']:.4f}"
        elif r is not None:
            row.setdefault(column, r["status"])
    columns = [label(settings, "estimator", name) for name in estimators(records, settings)]
    if any("truth" in row for row in rows.values()):
        columns = ["truth", *columns]
    data = [[row.get(column, DASH) for column in columns] for row in rows.values()]
    index = pd.MultiIndex.from_frame(pd.DataFrame(list(rows), columns=levels))
    table = pd.DataFrame(data, index, columns, dtype=object)

    problems = dict.fromkeys([*settings.problem, *records["problem"].unique()])
    orders = {"problem": [label(settings, "problem", p) for p in problems], "estimand": shown}
    ranks = {name: {v: i for i, v in enumerate(values)} for name, values in orders.items()}
    table = table.sort_index(
        level=list(range(len(levels))),
        key=lambda level: level.map(ranks[level.name]) if level.name in ranks else level,
    )
    drawn = frame[has_number(frame) & frame["estimand"].isin(shown)]
    heading = "" if len(shown) > 1 else f"{shown[0]}: "
    table.columns.name = heading + _heading(drawn, settings, _level(records, shown))
    return table


def _level(records: pd.DataFrame, shown: Sequence[str]) -> str:
    """Return '95% ' if all intervals of the shown estimands have that level, else ''."""
    both = records["low"].notna() & records["high"].notna() & has_number(records)
    levels = records.reindex(columns=["level"])[both & records["estimand"].isin(shown)]
    distinct = levels["level"].unique()
    return f"{100 * distinct[0]:g}% " if len(distinct) == 1 and pd.notna(distinct[0]) else ""


def places(
    frame: pd.DataFrame, shown: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield (place in the wide table, row of `evaluate` or None) of everything that has a place.

    A number has one place, a row without an estimand explains the places of all shown estimands,
    and a number of another estimand leaves these places empty.
    """
    for r in frame.to_dict("records"):
        for estimand in [r["estimand"]] if r["estimand"] in shown else shown:
            place = {**r, "estimand": estimand, "n": int(r["n"])}
            yield place, r if r["estimand"] in ("", estimand) else None


def _entry(r: Mapping[str, Any], on_file: bool) -> str:
    """Return one entry of the wide table."""
    low, high = ("" if math.isnan(r[side]) else f"{r[side]:.4f}" for side in ("low", "high"))
    spread = ""
    if on_file and r["reps"] > 1 and r["sd"] > SMALLEST_SPREAD:
        spread = f" (spread {r['sd']:.4f})" if r["sd"] >= 5e-5 else f" (spread {r['sd']:.0e})"
    if r["kind"] == "interval":
        off_middle = abs(r["mean"] - (r["low"] + r["high"]) / 2.0)
        value = f" (value {r['mean']:.4f})" if off_middle > MIDDLE else ""
        return f"[{low or '−∞'}, {high or '∞'}]{value}{spread}"
    error = "" if math.isnan(r["se"]) else f" ± {r['se']:.4f}"
    text = f"{BOUNDS.get(r['kind'], '')}{r['mean']:.4f}{error}"
    if r["kind"] == "point" and low and high:
        text += f" [{low}, {high}]"
    elif r["kind"] == "point" and (low or high):
        text += f" (≥ {low})" if low else f" (≤ {high})"
    return text + spread


def _heading(table: pd.DataFrame, settings: Settings, level: str) -> str:
    """Explain the entries of the wide table."""
    on_file = are_of(table, settings.files)
    samples, rows = table[~on_file], table[on_file]
    parts = []
    if len(samples) or rows.empty:
        points = samples[samples["kind"].ne("interval")]
        if points["se"].notna().any():
            mean = "mean ± standard error"
        else:
            mean = "mean" if samples["reps"].gt(1).any() else "estimate"
        parts.append(mean + _ends(samples, level))
    if len(rows):
        spread = rows[rows["reps"].gt(1) & rows["sd"].gt(SMALLEST_SPREAD)]
        subsets = are_of(spread, settings.subsets)
        words = [
            "value" + _ends(rows, level),
            *([SUBSETS] if subsets.any() else []),
            *([OWN_RANDOMNESS] if not subsets.all() else []),
        ]
        parts.append(("of files: " if parts else "") + ", ".join(words))
    return "; ".join(parts)


def _ends(table: pd.DataFrame, level: str) -> str:
    """Explain the intervals and bounds of a table."""
    point = table["kind"].eq("point")
    low, high = table["low"].notna(), table["high"].notna()
    marks = (
        (table["kind"].eq("interval") | (point & low & high), f" [{level}interval]"),
        (table["kind"].eq("lower") | (point & low & ~high), ", ≥ lower bound"),
        (table["kind"].eq("upper") | (point & high & ~low), ", ≤ upper bound"),
    )
    return "".join(text for mask, text in marks if mask.any())


def save(summary_frame: pd.DataFrame, wide_frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the summary to <stem>.csv and <stem>.parquet, and the wide table to <stem>.tex."""
    paths = [stem.with_name(f"{stem.name}{ending}") for ending in (".csv", ".parquet", ".tex")]
    with whole_file(paths[0]) as path:
        write_csv(summary_frame, path)
    with whole_file(paths[1]) as path:
        summary_frame.to_parquet(path, index=False)
    with whole_file(paths[2]) as path:
        path.write_text(latex(wide_frame))
    return paths
