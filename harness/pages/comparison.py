"""Page of a comparison of an estimator with the arena: sentences to quote, tables and files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import NOTIONS, axis_name
from harness.common.wording import (
    DASH,
    format_count,
    format_factor,
    format_seconds,
    join_numbers,
    last_line,
)
from harness.common.writing import whole_file, without_formulas
from harness.evaluation import arena
from harness.evaluation.comparison import RATE, geometric_mean
from harness.evaluation.latex import latex
from harness.figures import figure_files
from harness.pages.templating import environment, inline

RULES_OF_GROUPS = (
    "A setting is one problem under one notion, at one n, for one estimand. Regret is the RMSE of "
    "an estimator divided by the RMSE of the best published estimator in the setting. Each RMSE is "
    "taken as at least a tenth of the sampling error of a mean: 0.1 / sqrt(n), and 0.1 / n for "
    "squared quantities. The smallest of many noisy RMSEs is too small by chance, so regret is "
    "biased upwards.",
    "An estimator wins a group (family, n, k) if it is more accurate than every published "
    "estimator there; the p-value is the largest of the one-sided p-values. It loses if it is less "
    "accurate than at least one; the p-value is the smallest p-value times their number. The "
    "p-values test the log ratio of the RMSEs, with the jackknife over common replications. "
    "Verdicts on groups, and verdicts on families, have a false discovery rate of 5 % (Benjamini "
    "and Hochberg). They hold for the arena's problems: replications are random, problems are not.",
    arena.RULE,
)
RULES_OF_A_PROBLEM = (
    "Regret is the RMSE of an estimator divided by the smallest RMSE of a published estimator. "
    "Each RMSE is taken as at least a tenth of the sampling error of a mean.",
    "An estimator may be the best (*) unless another one is significantly more accurate. The test "
    "compares the log ratio of the RMSEs with its jackknife error over replications, at the 5 % "
    "level with Bonferroni's correction for the number of other estimators.",
    arena.RULE,
)
MOST_EXTREMES = 6
MOST_ROWS = 12  # rows of the table on a user's problem


def headlines(overall: pd.DataFrame, board: pd.DataFrame, own: str) -> list[str]:
    """Return the verdict on an estimator, one sentence for each notion and estimand.

    `overall` is the result of `comparison.groups` with one group, `board` that of
    `arena.leaderboard`.
    """
    texts = []
    for row in overall[overall["rivals"].gt(0)].itertuples(index=False):
        mine = board["estimator"].eq(own) & board["notion"].eq(row.notion)
        ranks = board[board["notion"].eq(row.notion) & board["estimand"].eq(row.estimand)]
        rank = board.loc[mine & board["estimand"].eq(row.estimand), "rank"].iloc[0]
        times = f"{format_factor(row.ratio)} times (95 %: {_range(row)})"
        rival, them = row.rival, f"the {row.rivals} published estimators"
        verdict = {
            "wins": f"is more accurate than {them}. Its RMSE is {times} that of the best of them, "
            f"{rival}",
            "loses": f"is less accurate than {rival}, the best of {them}. Its RMSE is {times} that "
            f"of {rival}",
            "undecided": f"is neither better nor worse than {rival}, the best of {them}, as far as "
            f"these samples show. Its RMSE is {times} that of {rival}",
        }[row.verdict]
        place = "" if math.isnan(rank) else f", and its rank is {rank:.0f} of {_ranked(ranks)}"
        texts.append(
            f"{NOTIONS[row.notion].capitalize()} {axis_name(row.estimand)}: {own} {verdict}{place}."
        )
    return texts


def _ranked(board: pd.DataFrame) -> int:
    return int(board["rank"].notna().sum())


def describe_lost_cells(records: pd.DataFrame) -> list[str]:
    """Return one sentence each on the failed and on the undefined cells of an estimator.

    `records` are the records of the estimator.
    """
    cells = records.loc[records["status"].ne("skipped"), "key"].nunique()
    texts = []
    for status in ("failed", "undefined"):
        lost = records[records["status"].eq(status)].drop_duplicates("key")
        if not len(lost):
            continue
        reasons = lost["reason"].astype(object).map(last_line).value_counts()
        more = f"; {format_count(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
        row = lost.iloc[0]
        texts.append(
            f"{status} in {len(lost):,} of {cells:,} cells, the first {row['problem']} "
            f"(n = {row['n']:,}, rep {row['rep']}): {reasons.index[0]}{more}. Such a cell counts "
            "with a large error, as the rules say"
        )
    return texts


def describe_left_out(absent: Mapping[str, str]) -> list[str]:
    """Return one text for each reason for which problems are left out.

    `absent` is {problem: reason}.
    """
    problems: dict[str, list[str]] = {}
    for name, reason in absent.items():
        problems.setdefault(reason.rstrip("."), []).append(name)
    return [f"{', '.join(names)}: {reason}." for reason, names in problems.items()]


def sentences(settings: pd.DataFrame, cells: pd.DataFrame, own: str, reps: int) -> list[str]:
    """Summarise an estimator's results in the arena, in one sentence per notion and estimand.

    `own` is the id of the estimator, and `reps` the number of replications. `settings` is the
    result of `arena.settings`, `cells` that of `comparison.groups`.
    """
    texts = []
    settings = settings[settings["estimator"].eq(own) & settings["regret"].notna()]
    for (notion, estimand), part in cells.groupby(["notion", "estimand"], sort=True):
        mine = settings[settings["notion"].eq(notion) & settings["estimand"].eq(estimand)]
        verdicts = part["verdict"].value_counts()
        worst = part.loc[part["regret"].idxmax()]
        regret = math.exp(np.log(part["regret"]).mean())
        texts.append(
            f"For the {NOTIONS[notion]} {axis_name(estimand)} on "
            f"{format_count(mine['problem'].nunique(), 'problem')} of calharness's arena "
            f"(n = {join_numbers(sorted(mine['n'].unique()))}; {reps} replications), the RMSE of "
            f"{own} is {format_factor(regret)} times that of the best of "
            f"{int(part['rivals'].max())} published estimators in each setting, as a geometric "
            f"mean. The worst factor is {format_factor(worst['regret'])} ({worst['family']}, "
            f"n = {worst['n']:,}, k = {worst['k']}). {own} is more accurate than all published "
            f"estimators in {verdicts.get('wins', 0)} and less accurate than at least one in "
            f"{verdicts.get('loses', 0)} of {len(part)} groups (family, n, k), with a false "
            f"discovery rate of {RATE:.0%}. An estimate takes "
            f"{format_seconds(geometric_mean(mine['cpu_seconds']))} of CPU time."
        )
    return texts


def problem_sentences(judged: pd.DataFrame, name: str, reps: int) -> list[str]:
    """Return one sentence to quote for each notion and estimand, on a user's problem.

    `judged` is the result of `comparison.find_best_candidates`.
    """
    texts = []
    for (notion, estimand), part in judged.groupby(["notion", "estimand"], sort=True):
        clauses = []
        for n, rows in part.groupby("n", sort=True):
            first, others = rows.iloc[0], int(rows["may_be_best"].sum()) - 1
            more = f", not distinguished from {others} more" if others > 0 else ""
            clauses.append(f"at n = {n:,} {first['estimator']} (RMSE {first['rmse']:.2g}{more})")
        texts.append(
            f"On {name} (k = {part['k'].iloc[0]}, true {NOTIONS[notion]} {axis_name(estimand)} "
            f"{part['truth'].iloc[0]:.3g}; {reps} replications) the most accurate of "
            f"{part['estimator'].nunique()} published estimators is {'; '.join(clauses)}. At each "
            "n, the probability that the truly best one is not among those named or counted is at "
            f"most {RATE:.0%}."
        )
    return texts


def family_table(families: pd.DataFrame, cells: pd.DataFrame, own: str) -> pd.DataFrame:
    """Return a table of texts with one row per notion, estimand and family.

    Both `families` and `cells` are results of `comparison.groups`. In `families`, a group is a
    family. In `cells`, it is a combination of family, n and number of classes k.
    """
    by = ["notion", "estimand", "family"]
    verdicts = cells.groupby(by)["verdict"]
    rows = []
    for row in families.itertuples(index=False):
        counts = verdicts.get_group((row.notion, row.estimand, row.family)).value_counts()
        known = row.rival is not None and math.isfinite(row.ratio)
        wins, loses = (counts.get(verdict, 0) for verdict in ("wins", "loses"))
        rows.append(
            {
                "notion": NOTIONS[row.notion], "estimand": row.estimand, "family": row.family,
                "mean regret": format_factor(row.regret), "verdict": row.verdict,
                "best published": row.rival if known else DASH,
                "RMSE ratio to it (95 %)":
                    f"{format_factor(row.ratio)} ({_range(row)})" if known else DASH,
                "groups won, lost": f"{wins}, {loses} of {counts.sum()}",
                "CPU time": format_seconds(row.cpu_seconds),
                "CPU time of best published":
                    format_seconds(row.rival_cpu_seconds) if known else DASH,
            }
        )  # fmt: skip
    table = pd.DataFrame(rows).set_index(by)
    table.columns.name = f"{own} against the published estimators of the arena, by family"
    return table


def problem_table(judged: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return a table of the RMSE and regret of the estimators on a user's problem, best first.

    Estimators that may be the best have a star.
    """
    groups = judged.groupby(["notion", "estimand", "n"], sort=True)
    rows = [
        {
            "notion": NOTIONS[notion], "estimand": estimand, "n": f"{n:,}", "rank": str(rank),
            "estimator": f"{row.estimator}{' *' if row.may_be_best else ''}",
            "bias": f"{row.bias:+.2g}", "RMSE": f"{row.rmse:.2g}",
            "regret": format_factor(row.regret), "time": format_seconds(row.cpu_seconds),
        }
        for (notion, estimand, n), part in groups
        for rank, row in enumerate(part.head(MOST_ROWS).itertuples(index=False), 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "n", "rank"])
    table.columns.name = f"the most accurate estimators on {name} (* may be the best)"
    return table


def extremes(cells: pd.DataFrame, verdict: str) -> list[str]:
    """Describe the clearest wins, or losses, of an estimator, one text per group.

    `verdict` is "wins" or "loses".
    """
    rows = cells[cells["verdict"].eq(verdict)].sort_values("ratio", ascending=verdict == "wins")
    return [
        f"{row.family}, k = {row.k}, n = {row.n:,}, {NOTIONS[row.notion]} "
        f"{axis_name(row.estimand)}: {format_factor(row.ratio)} times the RMSE of {row.rival} "
        f"({_range(row)}); CPU time {format_seconds(row.cpu_seconds)} against "
        f"{format_seconds(row.rival_cpu_seconds)}"
        for row in rows.head(MOST_EXTREMES).itertuples(index=False)
    ]


def _range(row: Any) -> str:
    return f"{format_factor(row.low)}–{format_factor(row.high)}"


def save(
    stem: Path,
    title: str,
    drawing: Figure,
    table: pd.DataFrame,
    frames: Mapping[str, pd.DataFrame],
    quotes: Sequence[str],
    **more: Any,
) -> list[Path]:
    """Write the files of a comparison, and return their paths, the page last.

    The files are the figure (png, svg, pdf), the table in LaTeX, the frames as CSV, the sentences
    as a text file, and the HTML page.

    Parameters
    ----------
    stem : Path
        Folder and name of the files, without ending.
    title : str
        Title of the page.
    drawing : Figure
        The figure. Its label is the caption.
    table : DataFrame
        A table of texts for the page and for LaTeX. The name of its columns is the heading.
    frames : mapping
        {end of the file name: frame}.
    quotes : sequence of str
        Sentences to quote.
    **more
        Further values for the template: headlines, notes, lists, rules, left_out, contract,
        limits, quick, doc.
    """
    caption = drawing.get_label()
    paths = figure_files.save(drawing, stem)
    svg = next(path for path in paths if path.suffix == ".svg").read_text()
    texts = {".tex": latex(table), ".txt": "\n\n".join(quotes) + "\n"}
    for end, frame in frames.items():
        texts[f"{end}.csv"] = without_formulas(frame).to_csv(index=False, float_format="%.6g")
    links = [path.name for path in paths] + [f"{stem.name}{end}" for end in texts]
    texts[".html"] = environment().get_template("comparison.html.j2").render(
        title=title, sentences=quotes, svg=inline(svg, "caption"), caption=caption, table=table,
        links=links, **more,
    )  # fmt: skip
    for end, text in texts.items():
        paths.append(stem.with_name(stem.name + end))
        with whole_file(paths[-1]) as temporary:
            temporary.write_text(text)
    return paths
