"""Counts of <results>/<paper>/reproduction.csv: printed numbers by what came of them.

README, the documentation, the site, the index of all results and `calharness list papers` take
their counts from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from harness.configure import options
from harness.evaluation import reproduction

OUTCOMES = {
    "recomputed and agreeing": "computed here from predictions or simulated samples, and equal or within error",
    "given and agreeing": "equal, but an average of the authors' own published rows, or the value of a formula such as ln 10",
    "differing": "the difference is larger than rounding and Monte Carlo error explain",
    "not judged": "no number of ours, one of other data, or an agreement that would prove nothing",
}


def rows(folder: Path, paper: str) -> pd.DataFrame | None:
    """Return the rows of a paper's reproduction.csv, None without the file."""
    path = folder / paper / "reproduction.csv"
    return pd.read_csv(path, low_memory=False) if path.is_file() else None


def once(rows: pd.DataFrame, experiments: Iterable[str] | None = None) -> pd.DataFrame:
    """Return each reported number once: by the first experiment that judges it, or that has it.

    `experiments` gives the order, by default that of the rows; others are left out.
    """
    order = list(rows["experiment"].unique() if experiments is None else experiments)
    mine = rows[rows["experiment"].isin(order)]
    unjudged = mine["verdict"].eq(reproduction.UNJUDGED)
    rank = mine["experiment"].map(order.index).astype(int) + len(order) * unjudged
    return mine.loc[rank.sort_values(kind="stable").index].drop_duplicates(reproduction.KEY)


def others(rows: pd.DataFrame) -> dict[str, int]:
    """Return {verdict: rows} of the numbers that are neither printed in the paper nor claims."""
    part = rows[~rows["source"].isin([reproduction.PRINTED, reproduction.CLAIM])]
    return {verdict: n for verdict, n in reproduction.counts(part).items() if n}


def outcomes(rows: pd.DataFrame | None, paper: str) -> dict[str, int]:
    """Count the printed numbers of a paper per entry of OUTCOMES, each once.

    `rows` is the paper's reproduction.csv. Without it (None) nothing is judged. Our number is
    *given* where reported.csv says that a formula gives it, or where the experiment reads the
    authors' rows (`records_from`) and computes nothing.
    """
    printed = pd.read_csv(
        reproduction.reported_path(paper), dtype=dict.fromkeys(reproduction.KEY, str)
    )
    printed = printed[printed["source"].eq(reproduction.PRINTED)]
    printed = printed.reindex(columns=[*reproduction.KEY, "given_by"])
    if rows is None:
        return {**dict.fromkeys(OUTCOMES, 0), "not judged": len(printed)}
    judged = once(rows)[[*reproduction.KEY, "experiment", "verdict"]].astype(str)
    table = printed.merge(judged, on=reproduction.KEY, how="left")
    reads = {name for name in table["experiment"].dropna().unique() if _reads_rows(name)}
    given = table["given_by"].notna() | table["experiment"].isin(reads)
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
    >>> outcomes = ("recomputed and agreeing", "given and agreeing", "differing", "not judged")
    >>> sentence(dict(zip(outcomes, (2, 3, 1, 1004))))
    "Of 1,010 printed numbers 2 were recomputed and agree, 3 agree ... 1 differs, and 1,004 are not judged..."
    """
    recomputed, given, differing, unjudged = (counts.get(name, 0) for name in OUTCOMES)
    return (
        f"Of {sum(counts.values()):,} printed numbers {recomputed:,} were recomputed and agree, {given:,} agree but follow from "
        f"the authors' own rows or a formula, {differing:,} differ{'s' if differing == 1 else ''}, and {unjudged:,} are not "
        "judged: the data are not at hand, or an agreement would prove nothing"
    )
