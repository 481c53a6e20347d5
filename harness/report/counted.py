"""What <results>/<paper>/reproduction.csv holds, counted by source and verdict, for the index and `calharness list papers`."""

from __future__ import annotations

from pathlib import Path

from harness.report import reproduction

UNJUDGED = "not reproducible here"


def rows(folder: Path, paper: str):
    """The rows of a paper's reproduction.csv, or None where there is none."""
    import pandas as pd

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
    rank = mine["experiment"].map({name: i for i, name in enumerate(order)}).astype(int) + len(order) * mine["verdict"].eq(
        UNJUDGED
    )
    return mine.loc[rank.sort_values(kind="stable").index].drop_duplicates(reproduction.KEY)


def by_source(found) -> dict[str, dict[str, int]]:
    """{source: {verdict: rows}} of what there is; a file of before, without sources, has one that is called reported."""
    sources, verdicts = found["source"].fillna("").replace("", "reported"), list(reproduction.VERDICTS)
    counted = {(source, verdict): int(n) for (source, verdict), n in found.groupby([sources, "verdict"]).size().items()}
    order = [source for source in (*reproduction.SOURCES, "reported") if source in set(sources)]
    return {source: {v: counted[source, v] for v in verdicts if (source, v) in counted} for source in order}


def printed_and_others(found) -> dict[str, dict[str, int]]:
    """{printed: {verdict: rows}, others: {verdict: rows}}: those that stand in the paper, and all others but claims."""
    printed, claims = found["source"].eq(reproduction.PRINTED), found["source"].eq(reproduction.CLAIM)
    parts = {"printed": found[printed], "others": found[~printed & ~claims]}
    return {name: {v: n for v, n in reproduction.counts(part).items() if n} for name, part in parts.items()}
