"""The page of a comparison, and what it says: sentences to be quoted, tables, files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.common.version import VERSION
from harness.common.wording import (
    DASH,
    NOTIONS,
    axis_name,
    format_count,
    format_factor,
    format_seconds,
    join_numbers,
)
from harness.common.writing import whole_file
from harness.evaluation import arena
from harness.evaluation.comparison import RATE, geometric_mean
from harness.evaluation.latex import latex
from harness.figures import figure_files
from harness.pages.templating import environment, inline

RULES_OF_GROUPS = (
    "A setting is one problem under one notion, at one n, for one estimand. Regret is the RMSE over that of the best published "
    "estimator of the setting, each at least a tenth of the sampling error of a mean (0.1 / sqrt(n), of squared quantities "
    "0.1 / n). The best of many noisy RMSEs is rather low, so regret is rather high.",
    "Wins: more accurate than every published estimator of that cell (largest of the one-sided p-values). Loses: less "
    "accurate than at least one (smallest p-value, times their number). "
    "The p-values are of the log ratio of the RMSEs, with the jackknife over "
    "replications that both had; statements on cells and on families each have a false discovery rate of 5 % (Benjamini and "
    "Hochberg). They are about the arena's problems: replications are random, problems are not.",
    arena.RULE,
)
RULES_OF_A_PROBLEM = (
    "Regret is the RMSE over the least of the published estimators, each at least a tenth of the sampling error of a mean.",
    "An estimator may be the best (*) unless another one is more accurate at the 5 % level, Bonferroni over the others, by the "
    "log ratio of their RMSEs with the jackknife over replications.",
    arena.RULE,
)


def sentences(settings: pd.DataFrame, cells: pd.DataFrame, own: str, reps: int) -> list[str]:
    """What may be quoted, one sentence per notion and estimand."""
    found = []
    for (notion, estimand), part in cells.groupby(["notion", "estimand"], sort=True):
        mine = settings[
            settings["estimator"].eq(own)
            & settings["notion"].eq(notion)
            & settings["estimand"].eq(estimand)
        ]
        mine = mine[mine["regret"].notna()]
        wins, loses = (int(part["verdict"].eq(word).sum()) for word in ("wins", "loses"))
        regret = math.exp(float(np.log(part["regret"].to_numpy(float)).mean()))
        worst = part.loc[part["regret"].idxmax()]
        found.append(
            f"For the {NOTIONS[notion]} {axis_name(estimand)} on {format_count(mine['problem'].nunique(), 'problem')} "
            f"of calharness's arena (n = {join_numbers(sorted(mine['n'].unique()))}; {reps} replications), the RMSE of {own} is "
            f"on geometric average {format_factor(regret)} times that of the best of {int(part['rivals'].max())} published "
            "estimators in each setting "
            f"(at worst {format_factor(worst['regret'])}: {worst['family']}, n = {worst['n']:,}, k = {worst['k']}); "
            f"it is more accurate than all of them in {wins} and less accurate than at least one in {loses} of {len(part)} "
            f"cells (family, n, k), with a false discovery rate of {RATE:.0%} over all such statements, at "
            f"{format_seconds(geometric_mean(mine['cpu_seconds']))} of CPU time per estimate."
        )
    return found


def problem_sentences(judged: pd.DataFrame, name: str, reps: int) -> list[str]:
    """The same of an own problem, from `best_of`: one sentence per notion and estimand."""
    found = []
    for (notion, estimand), part in judged.groupby(["notion", "estimand"], sort=True):
        clauses = []
        for n, of in part.groupby("n", sort=True):
            may = list(of.loc[of["may_be_best"], "estimator"])
            first = of.iloc[0]
            more = f", not distinguished from {len(may) - 1} more" if len(may) > 1 else ""
            clauses.append(f"at n = {n:,} {first['estimator']} (RMSE {first['rmse']:.2g}{more})")
        found.append(
            f"On {name} (k = {part['k'].iloc[0]}, true {NOTIONS[notion]} {axis_name(estimand)} "
            f"{part['truth'].iloc[0]:.3g}; {reps} replications) the most accurate of {part['estimator'].nunique()} published "
            f"estimators is {'; '.join(clauses)}; the best one is missing from a list with a chance of at most {RATE:.0%}."
        )
    return found


def family_table(families: pd.DataFrame, cells: pd.DataFrame, own: str) -> pd.DataFrame:
    """The table of the page and of the paper: by notion, estimand and family."""
    rows = []
    for one in families.itertuples(index=False):
        of = cells[
            (cells["notion"] == one.notion)
            & (cells["estimand"] == one.estimand)
            & (cells["family"] == one.family)
        ]
        counts = of["verdict"].value_counts()
        known = one.rival is not None and math.isfinite(one.ratio)
        rows.append(
            {
                "notion": NOTIONS[one.notion], "estimand": one.estimand, "family": one.family,
                "mean regret": format_factor(one.regret), "verdict": one.verdict, "best published": one.rival if known else DASH,
                "RMSE ratio to it (95 %)": _ratio(one) if known else DASH,
                "cells won, lost": f"{counts.get('wins', 0)}, {counts.get('loses', 0)} of {len(of)}",
                "CPU time": format_seconds(one.cpu_seconds),
                "its CPU time": format_seconds(one.rival_cpu_seconds) if known else DASH,
            }
        )  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "family"])
    table.columns.name = f"{own} against the published estimators of the arena, by family"
    return table


def problem_table(judged: pd.DataFrame, name: str, most: int = 12) -> pd.DataFrame:
    """RMSE and regret of the estimators on an own problem, best first; those that may be the best have a star."""
    rows = []
    for (notion, estimand, n), part in judged.groupby(["notion", "estimand", "n"], sort=True):
        for rank, one in enumerate(part.head(most).itertuples(index=False), 1):
            rows.append(
                {
                    "notion": NOTIONS[notion], "estimand": estimand, "n": f"{n:,}", "rank": str(rank),
                    "estimator": f"{one.estimator}{' *' if one.may_be_best else ''}",
                    "bias": f"{one.bias:+.2g}", "RMSE": f"{one.rmse:.2g}",
                    "regret": format_factor(one.regret), "time": format_seconds(one.cpu_seconds),
                }
            )  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "n", "rank"])
    table.columns.name = f"the most accurate estimators on {name} (* may be the best)"
    return table


def extremes(cells: pd.DataFrame, word: str, most: int = 6) -> list[str]:
    """The clearest wins or losses, in words."""
    chosen = (
        cells[cells["verdict"].eq(word)].sort_values("ratio", ascending=word == "wins").head(most)
    )
    return [
        f"{one.family}, k = {one.k}, n = {one.n:,}, {NOTIONS[one.notion]} {axis_name(one.estimand)}: "
        f"{format_factor(one.ratio)} times the RMSE of {one.rival} ({format_factor(one.low)}–{format_factor(one.high)}), "
        f"at {format_seconds(one.cpu_seconds)} against {format_seconds(one.rival_cpu_seconds)}"
        for one in chosen.itertuples(index=False)
    ]


def _ratio(row: Any) -> str:
    return f"{format_factor(row.ratio)} ({format_factor(row.low)}–{format_factor(row.high)})"


def save(
    stem: Path,
    title: str,
    drawn: Any,
    table: pd.DataFrame,
    frames: dict[str, pd.DataFrame],
    said: Sequence[str],
    **more: Any,
) -> list[Path]:
    """Write the verdict: figure (png, svg, pdf), LaTeX table, frames as CSV, the sentences, and the page, which is the last path.

    Parameters
    ----------
    stem : Path
        Folder and name of the files.
    title : str
        Of the page.
    drawn : Figure
        Its label is the caption.
    table : DataFrame
        Of texts, for page and LaTeX; the columns' name is its heading.
    frames : dict
        {end of the file name: frame} of what is written as CSV.
    said : sequence of str
        The sentences that may be quoted.
    **more
        What the template is given: notes, lists, rules, contract, limits.
    """

    caption = drawn.get_label()
    paths = figure_files.save(drawn, stem)
    svg = next(path for path in paths if path.suffix == ".svg").read_text()
    texts = {".tex": latex(table), ".txt": "\n\n".join(said) + "\n"}
    texts |= {
        f"{end}.csv": frame.to_csv(index=False, float_format="%.6g")
        for end, frame in frames.items()
    }
    for end, text in texts.items():
        paths.append(stem.with_name(stem.name + end))
        with whole_file(paths[-1]) as temporary:
            temporary.write_text(text)
    rows = [
        (row if isinstance(row, tuple) else (row,), list(values))
        for row, values in zip(table.index, table.to_numpy())
    ]
    page = environment().get_template("comparison.html.j2").render(
        title=title, version=VERSION, sentences=said, svg=inline(svg, "caption"), caption=caption, heading=table.columns.name,
        names=list(table.index.names), columns=list(table.columns), rows=rows,
        links=[path.name for path in paths], **more,
    )  # fmt: skip
    paths.append(stem.with_name(f"{stem.name}.html"))
    with whole_file(paths[-1]) as temporary:
        temporary.write_text(page)
    return paths
