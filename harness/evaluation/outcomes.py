"""Outcomes of the numbers that a paper prints, kept in <results>/<paper>/reproduction.csv.

An outcome is a key of OUTCOMES. README, the documentation, the site, the index of all results and
`calharness list papers` take their counts from this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from harness.common.writing import whole_file, write_csv
from harness.configure import options
from harness.evaluation import reproduction, verdicts

OUTCOMES = {
    "recomputed and agreeing": (
        "computed here from predictions or simulated samples, and equal or within error"
    ),
    "from the authors' rows": "equal, but computed as an average of the authors' published rows",
    "constants": "equal, but the value of a formula or a known truth, such as ln 10",
    "differing": "rounding and Monte Carlo error do not explain the difference",
    "within seeds": (
        "judged by networks trained again here: inside the 95 % prediction interval of the seeds"
    ),
    "outside seeds": "judged by networks trained again here: outside that interval",
    "seeds too far apart": (
        "networks were trained again here, but the interval of the seeds is wider than the spread "
        "of the paper's own numbers"
    ),
    "ours of other data": "our number comes from other predictions or other hardware",
    "no number of ours": "we have no number, for instance because data or weights are missing",
    "no test": (
        "an agreement proves nothing: the number is 0, or a difference of more than half of it "
        "would have been accepted"
    ),
}


def read_rows(folder: Path, paper: str) -> pd.DataFrame | None:
    """Read the reproduction.csv of a paper from a results folder; None if there is no file."""
    path = folder / paper / "reproduction.csv"
    return pd.read_csv(path, low_memory=False) if path.is_file() else None


def drop_repeats(rows: pd.DataFrame, experiments: Iterable[str] | None = None) -> pd.DataFrame:
    """Keep one row for each reported number.

    Several experiments may compare the same number. The row of the first experiment with a verdict
    is kept, else that of the first with a number of ours, else that of the first. `experiments` is
    the order, by default that of the rows. Rows of experiments that it does not name are dropped.
    """
    order = list(rows["experiment"].unique() if experiments is None else experiments)
    mine = rows[rows["experiment"].isin(order)]
    lacks = mine["verdict"].eq(verdicts.UNJUDGED).astype(int) + mine["ours"].isna()
    rank = mine["experiment"].map(order.index).astype(int) + len(order) * lacks
    return mine.loc[rank.sort_values(kind="stable").index].drop_duplicates(reproduction.KEY)


def count_by_source(compared: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Count the rows of a reproduction.csv by source and verdict.

    Return {source: {verdict: number of rows}} in the order of SOURCES and VERDICTS, without zeros.
    """
    counts = {source: verdicts.count(rows) for source, rows in compared.groupby("source")}
    return {source: counts[source] for source in reproduction.SOURCES if source in counts}


def count_others(rows: pd.DataFrame | None) -> dict[str, int]:
    """Count the verdicts on numbers that are neither printed in the paper nor claims.

    Such numbers are for instance read off a figure or recomputed with the authors' code. Return
    {verdict: number of rows}; `rows` is the paper's reproduction.csv or None.
    """
    if rows is None:
        return {}
    stated = [reproduction.PRINTED, reproduction.CLAIM]
    return verdicts.count(drop_repeats(rows[~rows["source"].isin(stated)]))


def count_outcomes(rows: pd.DataFrame | None, paper: str) -> dict[str, int]:
    """Count a paper's printed numbers by outcome (the keys of OUTCOMES).

    `rows` is the paper's reproduction.csv, or None if nothing was computed here.
    """
    counts = printed_outcomes(rows, paper)["outcome"].value_counts()
    return {name: int(counts.get(name, 0)) for name in OUTCOMES}


def printed_outcomes(rows: pd.DataFrame | None, paper: str) -> pd.DataFrame:
    """Return a paper's printed numbers, one row for each, with the `outcome` (a key of OUTCOMES).

    `rows` is the paper's reproduction.csv, or None if nothing was computed here. A number is a
    constant if reported.csv says that a formula gives it. It is from the authors' rows if the
    experiment only reads the authors' published rows (`records_from`). Further columns: item, row,
    column; and experiment, verdict, ours and of (the cells) of the row that counts.
    """
    path = reproduction.reported_path(paper)
    printed = pd.read_csv(path, dtype=dict.fromkeys(reproduction.KEY, str))
    printed = printed[printed["source"].eq(reproduction.PRINTED)]
    printed = printed.reindex(columns=[*reproduction.KEY, "given_by"])
    if rows is None:
        return printed.assign(outcome="no number of ours")
    counted = [*reproduction.KEY, "experiment", "verdict", "ours", "of", "low", "high"]
    judged = drop_repeats(rows).reindex(columns=counted)
    judged = judged.astype(dict.fromkeys(reproduction.KEY, str))
    table = printed.merge(judged, on=reproduction.KEY, how="left")
    readers = [name for name in table["experiment"].dropna().unique() if _reads_rows(name)]
    agrees = table["verdict"].isin(["identical", "within error"])
    again = table["low"].notna() & table["high"].notna()
    table["outcome"] = np.select(
        [
            agrees & table["given_by"].notna(),
            agrees & table["experiment"].isin(readers),
            agrees,
            table["verdict"].eq("differs"),
            table["verdict"].eq("within seeds"),
            table["verdict"].eq("outside seeds"),
            table["verdict"].eq("no test") & again,
            table["verdict"].eq("no test"),
            table["ours"].notna(),
        ],
        [
            "constants",
            "from the authors' rows",
            "recomputed and agreeing",
            "differing",
            "within seeds",
            "outside seeds",
            "seeds too far apart",
            "no test",
            "ours of other data",
        ],
        "no number of ours",
    )
    return table


def _reads_rows(experiment: str) -> bool:
    """Return True if the experiment computes nothing and only reads records from outside."""
    return experiment in options.ids("experiment") and bool(
        options.option("experiment", experiment).config.get("records_from")
    )


def sentence(counts: Mapping[str, int]) -> str:
    """Describe the number of printed numbers of each outcome in words.

    Examples
    --------
    >>> sentence(dict(zip(OUTCOMES, (2, 3, 1, 4, 800, 204, 5))))
    "Of 1,019 printed numbers, 2 were recomputed here and agree, and 4 differ. Another 3 agree ..."
    """
    n = {name: counts.get(name, 0) for name in OUTCOMES}
    authors = n["from the authors' rows"]
    unjudged = n["ours of other data"] + n["no number of ours"] + n["no test"]
    again = n["within seeds"] + n["outside seeds"] + n["seeds too far apart"]
    trained = (
        f"For {again:,}, networks were trained again: {n['outside seeds']:,} lie outside their "
        f"spread, {n['within seeds']:,} inside, {n['seeds too far apart']:,} cannot be tested. "
    )
    return (
        f"Of {sum(n.values()):,} printed numbers, {n['recomputed and agreeing']:,} were recomputed "
        f"here and agree, and {n['differing']:,} differ. Another {authors:,} "
        f"agree as averages of the authors' own rows, and {n['constants']:,} as constants such as "
        f"ln 10. {trained if again else ''}The other {unjudged:,} are not judged. Among these, "
        f"{n['ours of other data']:,} have a number of ours on other data, and "
        f"{n['no number of ours']:,} have none. For {n['no test']:,}, an agreement would prove "
        "nothing"
    )


def save_comparison(compared: pd.DataFrame, experiment: str, folder: Path) -> list[Path]:
    """Write the comparison of an experiment to the paper's results folder, and return the paths.

    Rows of other experiments in these files are kept.

    reproduction.csv            the comparison, without single runs
    reproduction_runs.csv       the comparison of single runs of the authors (items *_runs)
    reproduction_cells.parquet  the cells behind every number. Columns: experiment, item, row,
                                column, and the key of a cell in the records.
    """
    single = compared["item"].str.contains("_runs")
    cells = compared[[*reproduction.KEY, "keys"]].explode("keys").dropna(subset="keys")
    tables = {
        "reproduction.csv": compared[~single].drop(columns="keys"),
        "reproduction_runs.csv": compared[single].drop(columns="keys"),
        "reproduction_cells.parquet": cells.rename(columns={"keys": "key"}),
    }
    return [
        _replace_rows(rows, experiment, folder / name) for name, rows in tables.items() if len(rows)
    ]


def _replace_rows(rows: pd.DataFrame, experiment: str, path: Path) -> Path:
    """Replace the rows of one experiment in a CSV or Parquet file, and keep all others."""
    csv = path.suffix == ".csv"
    rows = rows.assign(experiment=experiment)[["experiment", *rows]]
    if path.is_file():
        before = pd.read_csv(path) if csv else pd.read_parquet(path)
        others = before.reindex(columns=list(rows))[before["experiment"] != experiment]
        rows = pd.concat([others, rows], ignore_index=True) if len(others) else rows
    rows = rows.sort_values(["experiment"], kind="stable")
    with whole_file(path) as temporary:
        if csv:
            write_csv(rows, temporary)
        else:
            rows.to_parquet(temporary, index=False)
    return path
