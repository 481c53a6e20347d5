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
from harness.evaluation.arena.statements import RATE
from harness.evaluation.comparison import OWN, geometric_mean
from harness.evaluation.latex import latex
from harness.figures import figure_files
from harness.pages.templating import environment, inline

RULES_OF_GROUPS = (
    "A setting is one problem under one notion, at one n, for one estimand. Regret is the RMSE of "
    "an estimator divided by the RMSE of the best published estimator in the setting, which is "
    "chosen on the other half of the replications. Each RMSE is taken as at least a tenth of the "
    "sampling error of a mean: 0.1 / sqrt(n), and 0.1 / n for squared quantities. Settings whose "
    "truth is 0 have no regret and do not enter the verdicts.",
    "At each n, the published rival is the estimator with the smallest mean regret on the "
    "development families. Verdicts are about the other families, as long as there are any. The "
    "log ratio of the RMSEs is averaged over the settings of a family. A t test over families asks "
    "whether its mean is 0. The error rate of all verdicts together is 5 % (Holm). With fewer than "
    "five families there is no verdict. Numbers on single families are descriptions, not tests.",
    arena.RULE,
)
RULES_OF_A_PROBLEM = (
    "Regret is the RMSE of an estimator divided by the RMSE of the best published estimator, which "
    "is chosen on the other half of the replications. Each RMSE is taken as at least a tenth of "
    "the sampling error of a mean. Where the truth is 0, there is no regret.",
    "An estimator may be the best (*) unless another one is significantly more accurate. The test "
    "compares the log ratio of the RMSEs with its jackknife error over replications, at the 5 % "
    "level with Bonferroni's correction for the number of other estimators.",
    arena.RULE,
)
MOST_EXTREMES = 6
MOST_ROWS = 12  # rows of the table on a user's problem


def headlines(statements: pd.DataFrame, board: pd.DataFrame, own: str) -> list[str]:
    """Return the verdicts on an estimator, one sentence for each notion and estimand.

    `statements` is the result of `comparison.statements`, `board` that of `arena.leaderboard`.
    """
    texts = []
    for (notion, estimand), part in statements.groupby(["notion", "estimand"], sort=True):
        ranks = board[board["notion"].eq(notion) & board["estimand"].eq(estimand)]
        rank = ranks.loc[ranks["estimator"].eq(own), "rank"]
        known = len(rank) and math.isfinite(rank.iloc[0])
        place = f" Its rank is {rank.iloc[0]:.0f} of {_ranked(ranks)}." if known else ""
        verdicts = " ".join(_verdict(row, own) for row in part.itertuples(index=False))
        texts.append(
            f"{NOTIONS[str(notion)].capitalize()} {axis_name(str(estimand))}: {verdicts}{place}"
        )
    return texts


def _verdict(row: Any, own: str) -> str:
    """Return the verdict of one statement as a sentence."""
    names = set(row.rivals.values())
    rival = names.pop() if len(names) == 1 else "the best published estimator of each n"
    if row.opponent != OWN and rival in row.rivals.values():
        rival += ", the best published estimator"
    ratio = f"its RMSE is {format_factor(row.ratio)} times as large (95 %: {_range(row)})"
    families = _count_families(row.families)
    if row.about == "these families":
        return f"{own} is not judged against {rival} from {families} alone; {ratio}."
    verdict = {
        "better": f"is more accurate than {rival}",
        "worse": f"is less accurate than {rival}",
        "undecided": f"is neither better nor worse than {rival}, as far as these samples show",
    }[row.verdict]
    return f"{own} {verdict}: over {families}, {ratio}."


def describe_rivals(row: Any) -> str:
    """Name the opponent of a row of `comparison.statements`, with its n if it differs by n."""
    if row.opponent == OWN:
        return OWN
    names = [row.rivals[n] for n in sorted(row.rivals)]
    if len(set(names)) == 1:
        return f"{names[0]}, the best published estimator"
    by_n = ", ".join(f"{row.rivals[n]} at n = {n:,}" for n in sorted(row.rivals))
    return f"the best published estimators ({by_n})"


def _count_families(count: int) -> str:
    return f"{count:,} {'family' if count == 1 else 'families'}"


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


def sentences(
    settings: pd.DataFrame, statements: pd.DataFrame, families: pd.DataFrame, own: str, reps: int
) -> list[str]:
    """Summarise an estimator's results in the arena, in one sentence per notion and estimand.

    Parameters
    ----------
    settings, statements : DataFrame
        Results of `arena.settings` and `comparison.statements`.
    families : DataFrame
        The result of `comparison.groups` by family.
    own, reps : str, int
        Id of the estimator, and number of replications.
    """
    texts = []
    settings = settings[settings["estimator"].eq(own) & settings["regret"].notna()]
    for (notion, estimand), part in families.groupby(["notion", "estimand"], sort=True):
        mine = settings[settings["notion"].eq(notion) & settings["estimand"].eq(estimand)]
        worst = part.loc[part["regret"].idxmax()]
        regret = math.exp(np.log(part["regret"]).mean())
        of_board = statements["notion"].eq(notion) & statements["estimand"].eq(estimand)
        ratios = [
            f"{format_factor(row.ratio)} times (95 %: {_range(row)}) that of {describe_rivals(row)}"
            for row in statements[of_board].itertuples(index=False)
        ]
        compared = f" Its RMSE is {', and '.join(ratios)}." if ratios else ""
        texts.append(
            f"For the {NOTIONS[str(notion)]} {axis_name(str(estimand))} on "
            f"{format_count(mine['problem'].nunique(), 'problem')} of calharness's arena "
            f"(n = {join_numbers(sorted(mine['n'].unique()))}; {reps} replications), the RMSE of "
            f"{own} is {format_factor(regret)} times that of the best published estimator of each "
            "setting, as a geometric mean over "
            f"{_count_families(len(part))}. The worst family is "
            f"{worst['family']}, with a factor of {format_factor(worst['regret'])}.{compared} An "
            f"estimate takes {format_seconds(geometric_mean(mine['cpu_seconds']))} of CPU time."
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


def family_table(families: pd.DataFrame, own: str) -> pd.DataFrame:
    """Return a table of texts with one row per notion, estimand and family.

    `families` is the result of `comparison.groups` by family.
    """
    rows = [
        {
            "notion": NOTIONS[row.notion], "estimand": row.estimand, "family": row.family,
            "mean regret": format_factor(row.regret),
            "RMSE ratio to best": _ratio(row.ratio_best),
            "RMSE ratio to best published": _ratio(row.ratio_published),
            "best published": row.rival or DASH, "settings": f"{row.settings:,}",
            "CPU time": format_seconds(row.cpu_seconds),
        }
        for row in families.itertuples(index=False)
    ]  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "family"])
    table.columns.name = f"{own} in each family of the arena"
    return table


def _ratio(value: float) -> str:
    return format_factor(value) if math.isfinite(value) else DASH


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
            "regret": _ratio(row.regret), "time": format_seconds(row.cpu_seconds),
        }
        for (notion, estimand, n), part in groups
        for rank, row in enumerate(part.head(MOST_ROWS).itertuples(index=False), 1)
    ]  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "n", "rank"])
    table.columns.name = f"the most accurate estimators on {name} (* may be the best)"
    return table


def extremes(families: pd.DataFrame, best: bool) -> list[str]:
    """Describe the families in which an estimator does best, or worst, against the published ones.

    `families` is the result of `comparison.groups` by family. Ratios on the wrong side of 1 are
    left out.
    """
    ratio = families["ratio_published"]
    rows = families[ratio.lt(1.0) if best else ratio.gt(1.0)]
    rows = rows.sort_values("ratio_published", ascending=best)
    return [
        f"{row.family}, {NOTIONS[row.notion]} {axis_name(row.estimand)}: "
        f"{format_factor(row.ratio_published)} times the RMSE of {row.rival}"
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
