"""What <results>/<paper>/reproduction.csv holds, counted: by source and verdict, and the printed numbers by what came of them.

README, the documentation, the site, the index of all results and `calharness list papers` take their counts from here."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.configure import options
from harness.evaluation import reproduction

UNJUDGED = "not reproducible here"
OUTCOMES = {
    "recomputed and agreeing": "computed here from predictions or simulated samples, and equal or within error",
    "given and agreeing": "equal, but an average of the authors' own published rows, or the value of a formula such as ln 10",
    "differing": "the difference is larger than rounding and Monte Carlo error explain",
    "not judged": "no number of ours, one of other data, or an agreement that would prove nothing",
}


def rows(folder: Path, paper: str):
    """The rows of a paper's reproduction.csv, or None where there is none."""
    path = folder / paper / "reproduction.csv"
    if not path.is_file():
        return None
    found = pd.read_csv(path, low_memory=False)
    return found if "source" in found else found.assign(source="")


def once(found, experiments=None):
    """Each reported number once: by the first of the experiments (default those of the file, in its order) that judges it, else
    by the first that has it."""
    order = list(dict.fromkeys(found["experiment"])) if experiments is None else list(experiments)
    mine = found[found["experiment"].isin(order)]
    rank = mine["experiment"].map({name: i for i, name in enumerate(order)}).astype(int) + len(
        order
    ) * mine["verdict"].eq(UNJUDGED)
    return mine.loc[rank.sort_values(kind="stable").index].drop_duplicates(reproduction.KEY)


def by_source(found) -> dict[str, dict[str, int]]:
    """{source: {verdict: rows}} of what there is; a file of before, without sources, has one that is called reported."""
    sources, verdicts = (
        found["source"].fillna("").replace("", "reported"),
        list(reproduction.VERDICTS),
    )
    counted = {
        (source, verdict): int(n)
        for (source, verdict), n in found.groupby([sources, "verdict"]).size().items()
    }
    order = [source for source in (*reproduction.SOURCES, "reported") if source in set(sources)]
    return {
        source: {v: counted[source, v] for v in verdicts if (source, v) in counted}
        for source in order
    }


def others(found) -> dict[str, int]:
    """{verdict: rows} of the numbers that are neither printed in the paper nor claims."""
    part = found[~found["source"].isin([reproduction.PRINTED, reproduction.CLAIM])]
    return {verdict: n for verdict, n in reproduction.counts(part).items() if n}


def outcomes(found, paper: str) -> dict[str, int]:
    """Number of the printed numbers of `paper` per entry of OUTCOMES, each printed number once.

    `found` is the paper's reproduction.csv, None without one: then nothing is judged. Our number is *given* where reported.csv
    says that a formula gives it, or where the experiment reads the authors' rows (`records_from`) and computes nothing.
    """
    known = pd.read_csv(
        reproduction.EXPERIMENTS / paper / "reported.csv",
        dtype=dict.fromkeys(reproduction.KEY, str),
    )
    known = known[known["source"].eq(reproduction.PRINTED)].reindex(
        columns=[*reproduction.KEY, "given_by"]
    )
    if found is None:
        return {**dict.fromkeys(OUTCOMES, 0), "not judged": len(known)}
    judged = once(found)[[*reproduction.KEY, "experiment", "verdict"]].astype(str)
    rows = known.merge(judged, on=reproduction.KEY, how="left")
    agrees = rows["verdict"].isin(["identical", "within error"])
    given = rows["given_by"].notna() | rows["experiment"].map(_reads_rows, na_action="ignore").eq(
        True
    )
    numbers = [agrees & ~given, agrees & given, rows["verdict"].eq("differs")]
    counted = [int(part.sum()) for part in numbers]
    return dict(zip(OUTCOMES, [*counted, len(rows) - sum(counted)]))


def _reads_rows(experiment: str) -> bool:
    """True if the experiment computes nothing and reads records from outside."""
    return experiment in options.ids("experiment") and bool(
        options.option("experiment", experiment).config.get("records_from")
    )


def sentence(counts: dict[str, int]) -> str:
    """The outcomes in words.

    Examples
    --------
    >>> sentence({"recomputed and agreeing": 2, "given and agreeing": 3, "differing": 1, "not judged": 1004})
    "Of 1,010 printed numbers 2 were recomputed and agree, 3 agree ... 1 differs, and 1,004 are not judged..."
    """
    recomputed, given, differing, unjudged = (counts.get(name, 0) for name in OUTCOMES)
    return (
        f"Of {sum(counts.values()):,} printed numbers {recomputed:,} were recomputed and agree, {given:,} agree but follow from "
        f"the authors' own rows or a formula, {differing:,} differ{'s' if differing == 1 else ''}, and {unjudged:,} are not "
        "judged: the data are not at hand, or an agreement would prove nothing"
    )
