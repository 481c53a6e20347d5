"""Result tables: the long summary (CSV, Parquet) and the wide table with labels (LaTeX, HTML)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.wording import DASH
from harness.common.writing import whole_file, write_csv
from harness.configure.settings import Settings
from harness.evaluation import convergence
from harness.evaluation.convergence import add_errors
from harness.evaluation.latex import latex
from harness.evaluation.selection import OWN_RANDOMNESS, estimators, label, shown_estimands
from harness.evaluation.summary import evaluate, mask_pairs
from harness.records.schema import WITH_NUMBER, has_number

BOUNDS = {"upper": "≤ ", "lower": "≥ "}
SMALLEST_SPREAD = 1e-12  # a smaller spread comes from rounding
# Half of the last printed digit. An interval shows its value only if the value is farther than this
# from the middle.
MIDDLE = 5e-5
SLOPE_ROW = "slope"  # in place of n, in the rows of slopes
SUBSETS = "spread over random subsets of the rows"
Key = tuple[Any, ...]


def summary(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return `harness.evaluate` of the records, with labels next to the ids."""
    frame = add_errors(evaluate(records, settings.files), records, settings)
    return with_labels(frame, settings)


def with_labels(frame: pd.DataFrame, settings: Settings, position: int = 0) -> pd.DataFrame:
    """Insert the columns problem_label and estimator_label at a position."""
    for group in ("estimator", "problem"):
        labels = [label(settings, group, name) for name in frame[group]]
        frame.insert(position, f"{group}_label", labels)
    return frame


def wide(records: pd.DataFrame, settings: Settings, apart: Sequence[str] = ()) -> pd.DataFrame:
    """Return the table of texts for readers, with one column per estimator.

    Parameters
    ----------
    records : DataFrame
        Records as `harness.load_records` returns them.
    settings : Settings
        Settings of the run. `settings.files` and `settings.subsets` list pairs (problem, n) whose
        replications are runs on all rows, or on random subsets, of a file. Such runs share rows
        and are not independent samples.
    apart : sequence of str
        Further columns of the records that become levels of the rows, in front of the others.

    Returns
    -------
    DataFrame of str
        One row per problem and n; notion and estimand are further levels if there are several. If
        a true value is known, the first column is `truth`. The name of the columns explains the
        entries, which are

        * '0.0713 ± 0.0021': the mean of point estimates with its standard error;
        * '0.0713 [0.0612, 0.0809]' or '0.0713 (≥ 0.0300)': a mean with the means of the bounds;
        * '≤ 0.2100' or '≥ 0.0300': the mean of an upper or lower bound;
        * '[0.0612, 0.0809]': the means of the ends of an interval without a point estimate. The
          value is added, as in '(value 0.0700)', if it is not the middle;
        * '0.0713 (spread 0.0008)': a value on rows of a file, which has no standard error. The
          spread is the standard deviation over runs on the same rows, or over subsets of the rows;
        * '0.0132 [0.0101, 0.0171]': with `figure.y`, the error with its interval. The slope against
          n has a row 'slope' below the sizes, unless rows are kept apart;
        * the status of a cell without a number;
        * a dash where there is no cell.
    """
    shown = shown_estimands(records, settings)
    files = set(settings.files)
    frame = add_errors(evaluate(records, files, apart), records, settings, apart)
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
            on_file = (r["problem"], r["n"]) in files
            row[column] = _error(r) if settings.figure.y else _entry(r, on_file)
            if not apart and not math.isnan(r.get("slope", math.nan)):
                below = tuple((names | {"n": SLOPE_ROW})[level] for level in levels)
                text = _with_ends(r["slope"], r["slope_low"], r["slope_high"], 2)
                rows.setdefault(below, {})[column] = text
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
        key=lambda level: (
            level.map(ranks[level.name]) if level.name in ranks else level.map(_rank_size)
        ),
    )
    drawn = frame[has_number(frame) & frame["estimand"].isin(shown)]
    heading = "" if len(shown) > 1 else f"{shown[0]}: "
    if settings.figure.y:
        table.columns.name = heading + convergence.heading(settings.figure.y)
        return table
    table.columns.name = heading + _heading(drawn, settings, _level(records, shown))
    return table


def _level(records: pd.DataFrame, shown: Sequence[str]) -> str:
    """Return the common level of the intervals of the shown estimands as '95% ', or ''.

    It is '' if the intervals have no level or different levels.
    """
    both = records["low"].notna() & records["high"].notna() & has_number(records)
    levels = records.reindex(columns=["level"])[both & records["estimand"].isin(shown)]
    distinct = levels["level"].unique()
    return f"{100 * distinct[0]:g}% " if len(distinct) == 1 and pd.notna(distinct[0]) else ""


def places(
    frame: pd.DataFrame, shown: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield each entry of the wide table as a pair (place, row of `evaluate` or None).

    `frame` is a result of `evaluate`, `shown` lists the estimands of the wide table, and `place`
    holds problem, notion, n, estimand and estimator.

    A row with a shown estimand yields one pair. A row without an estimand (the cells have no
    number) yields one pair per shown estimand. So does a row with another estimand, with None in
    place of the row.
    """
    for r in frame.to_dict("records"):
        for estimand in [r["estimand"]] if r["estimand"] in shown else shown:
            place = {**r, "estimand": estimand, "n": int(r["n"])}
            yield place, r if r["estimand"] in ("", estimand) else None


def _rank_size(value: Any) -> Any:
    return math.inf if value == SLOPE_ROW else value


def _error(r: Mapping[str, Any]) -> str:
    """Format the error of one entry of the wide table with its interval."""
    return DASH if math.isnan(r["y"]) else _with_ends(r["y"], r["y_low"], r["y_high"], 4)


def _with_ends(value: float, low: float, high: float, digits: int) -> str:
    ends = "" if math.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{ends}"


def _entry(r: Mapping[str, Any], on_file: bool) -> str:
    """Format one entry of the wide table from a row of `evaluate`."""
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
    """Return the text above the columns that explains the entries of the wide table."""
    on_file = mask_pairs(table, settings.files)
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
        subsets = mask_pairs(spread, settings.subsets)
        words = [
            "value" + _ends(rows, level),
            *([SUBSETS] if subsets.any() else []),
            *([OWN_RANDOMNESS] if not subsets.all() else []),
        ]
        parts.append(("of files: " if parts else "") + ", ".join(words))
    return "; ".join(parts)


def _ends(table: pd.DataFrame, level: str) -> str:
    """Return the text that explains the intervals and bounds in a table, '' if it has none."""
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
