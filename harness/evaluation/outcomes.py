"""Outcomes of the printed numbers of a paper, counted from <results>/<paper>/reproduction.csv.

README, the documentation, the site, the index of all results and `calharness list papers` take
their counts from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from harness.configure import options
from harness.evaluation import reproduction, verdicts

OUTCOMES = {
    "recomputed and agreeing": (
        "computed here from predictions or simulated samples, and equal or within error"
    ),
    "given and agreeing": (
        "equal, but an average of the authors' own published rows, or the value of a formula such "
        "as ln 10"
    ),
    "differing": "the difference is larger than rounding and Monte Carlo error explain",
    "not judged": (
        "no number of ours, one of other data, or an agreement that would prove nothing"
    ),
}


def read_rows(folder: Path, paper: str) -> pd.DataFrame | None:
    """Return the rows of a paper's reproduction.csv, None without the file."""
    path = folder / paper / "reproduction.csv"
    return pd.read_csv(path, low_memory=False) if path.is_file() else None


def drop_repeats(rows: pd.DataFrame, experiments: Iterable[str] | None = None) -> pd.DataFrame:
    """Return each reported number once: by the first experiment that judges it, or that has it.

    `experiments` gives the order, by default that of the rows; others are left out.
    """
    order = list(rows["experiment"].unique() if experiments is None else experiments)
    mine = rows[rows["experiment"].isin(order)]
    unjudged = mine["verdict"].eq(verdicts.UNJUDGED)
    rank = mine["experiment"].map(order.index).astype(int) + len(order) * unjudged
    return mine.loc[rank.sort_values(kind="stable").index].drop_duplicates(reproduction.KEY)


def count_by_source(compared: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return {source: {verdict: number of rows}} without zeros, in order of SOURCES, VERDICTS."""
    counts = {source: verdicts.count(rows) for source, rows in compared.groupby("source")}
    return {source: counts[source] for source in reproduction.SOURCES if source in counts}


def count_others(rows: pd.DataFrame | None) -> dict[str, int]:
    """Return {verdict: rows} of the numbers that are neither printed in the paper nor claims."""
    if rows is None:
        return {}
    stated = [reproduction.PRINTED, reproduction.CLAIM]
    return verdicts.count(drop_repeats(rows[~rows["source"].isin(stated)]))


def count_outcomes(rows: pd.DataFrame | None, paper: str) -> dict[str, int]:
    """Count the printed numbers of a paper per entry of OUTCOMES, each once.

    `rows` is the paper's reproduction.csv. Without it (None) nothing is judged. Our number is
    *given* where reported.csv says that a formula gives it, or where the experiment reads the
    authors' rows (`records_from`) and computes nothing.
    """
    path = reproduction.reported_path(paper)
    printed = pd.read_csv(path, dtype=dict.fromkeys(reproduction.KEY, str))
    printed = printed[printed["source"].eq(reproduction.PRINTED)]
    printed = printed.reindex(columns=[*reproduction.KEY, "given_by"])
    if rows is None:
        return {**dict.fromkeys(OUTCOMES, 0), "not judged": len(printed)}
    judged = drop_repeats(rows)[[*reproduction.KEY, "experiment", "verdict"]].astype(str)
    table = printed.merge(judged, on=reproduction.KEY, how="left")
    readers = [name for name in table["experiment"].dropna().unique() if _reads_rows(name)]
    given = table["given_by"].notna() | table["experiment"].isin(readers)
    agrees = table["verdict"].isin(["identical", "within error"])
    masks = (agrees & ~given, agrees & given, table["verdict"].eq("differs"))
    counts = [int(mask.sum()) for mask in masks]
    return dict(zip(OUTCOMES, [*counts, len(table) - sum(counts)]))


def _reads_rows(experiment: str) -> bool:
    """Return True if the experiment computes nothing and reads records from outside."""
    return experiment in options.ids("experiment") and bool(
        options.option("experiment", experiment).config.get("records_from")
    )


def sentence(counts: Mapping[str, int]) -> str:
    """Return the outcomes in words.

    Examples
    --------
    >>> sentence(dict(zip(OUTCOMES, (2, 3, 1, 1004))))
    "Of 1,010 printed numbers 2 were recomputed and agree, 3 agree ... 1 differs, and 1,004 are ..."
    """
    recomputed, given, differing, unjudged = (counts.get(name, 0) for name in OUTCOMES)
    return (
        f"Of {sum(counts.values()):,} printed numbers {recomputed:,} were recomputed and agree, "
        f"{given:,} agree but follow from the authors' own rows or a formula, {differing:,} "
        f"differ{'s' if differing == 1 else ''}, and {unjudged:,} are not judged: the data are not "
        "at hand, or an agreement would prove nothing"
    )
