"""Where an own estimator stands among the arena's: where it wins, where it loses, by how much, at what cost.

Of an own estimator o and a published one e, in a setting (problem, notion, n, estimand),

    l_e = log max(RMSE_o, floor) / max(RMSE_e, floor)

over the replications that both have, cells without an answer counted by the arena's rule. Its error comes from the jackknife over
replications, which both drew alike. A group (a family, or a family at one n and k) has the mean of l_e over its settings: over
the problems of a (family, n, k), then over these. Samples of one problem are nested (a small n is a prefix of a larger), so the
jackknife leaves a replication out at all n at once; problems are independent.

    wins    more accurate than every published estimator: the largest of the one-sided p-values (an intersection-union test)
    loses   less accurate than some published estimator: the least of the one-sided p-values, times their number (Bonferroni)

Of all such statements on a page the share that is expected to be false is at most 5 % (Benjamini and Hochberg). They are about
the arena's problems: only the replications are random.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.evaluation import arena
from harness.figures.style import ESTIMAND_NAMES

if TYPE_CHECKING:
    import pandas as pd

RATE = 0.05  # of false statements among those that are made
LEAST_REPS = 4  # that two estimators must have in common in a setting
# of the degrees of freedom: squared errors have long tails, and their variances are known less well than those of normal
# numbers. With 20 replications of normal, biased or t5 errors p <= 0.001 then has a chance of 0.0007 to 0.001; with all of them
# 0.002 to 0.003.
OF_FREEDOM = 0.5
CELL = ("family", "n", "k")
NOTIONS = {"binary": "binary", "top_label": "top-label", "classwise": "classwise", "canonical": "canonical"}
COLUMNS = [
    "notion", "estimand", "family", "n", "k", "settings", "problems", "regret", "worst", "rival", "ratio", "low", "high",
    "p_wins", "p_loses", "verdict", "cpu_seconds", "rival_cpu_seconds", "rivals", "undefined", "failed",
]  # fmt: skip


def groups(settings: pd.DataFrame, own: str, by: Sequence[str] = CELL, rate: float = RATE) -> pd.DataFrame:
    """An own estimator against all published ones, group by group.

    Parameters
    ----------
    settings : DataFrame
        As of `harness.evaluation.arena.settings`, of which the own estimator is none of the published.
    own : str
        Its id.
    by : sequence of str
        What makes a group, of family, n, k; notions and estimands are always apart.
    rate : float
        False discovery rate of all verdicts together.

    Returns
    -------
    DataFrame
        One row per group: settings, problems; regret (geometric mean over the group) and worst (of a setting); rival, the
        published estimator with the least mean log RMSE of the group; ratio, the own RMSE over the rival's, with its 95 %
        interval low, high; p_wins, p_loses and the verdict wins | loses | undecided; CPU seconds of a cell of both (geometric
        means); rivals, how many published estimators were compared; undefined and failed cells of the own one.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    judged = settings[settings["regret"].notna()]
    for (notion, estimand), part in judged.groupby(["notion", "estimand"], sort=True):
        mine = part[part["estimator"].eq(own)].reset_index(drop=True)
        if len(mine):
            rows += _of_estimand(part, mine, own, notion, estimand, by)
    found = pd.DataFrame(rows, columns=COLUMNS)
    p = found[["p_wins", "p_loses"]].to_numpy(float)
    sure = discoveries(p.ravel(), rate).reshape(p.shape)
    found["verdict"] = np.where(sure[:, 0], "wins", np.where(sure[:, 1], "loses", "undecided"))
    return found


def discoveries(p: Any, rate: float) -> Any:
    """Benjamini and Hochberg: which of the hypotheses with these p-values are rejected at a false discovery rate; none of NaN.

    Examples
    --------
    >>> discoveries([0.001, 0.2, 0.03, float("nan")], 0.05).tolist()
    [True, False, True, False]
    """
    p = np.asarray(p, dtype=float)
    known = np.sort(p[~np.isnan(p)])
    passing = np.flatnonzero(known <= rate * np.arange(1, len(known) + 1) / max(len(known), 1))
    return np.nan_to_num(p, nan=np.inf) <= (known[passing[-1]] if len(passing) else -1.0)


def _of_estimand(part, mine, own, notion, estimand, by):
    """The rows of one notion and estimand."""
    rivals = sorted(name for name in part["estimator"].unique() if name != own and arena.is_published(name))
    log, phi, have = log_ratios(part, mine, rivals)
    weight = 1.0 / mine.groupby(list(CELL))["problem"].transform("size").to_numpy(float)
    cost = dict(zip(zip(part["estimator"], part["problem"], part["n"]), part["cpu_seconds"]))
    rows = []
    for group, own_rows in mine.groupby(list(by), sort=True):
        at = own_rows.index.to_numpy()
        w = weight[at] / weight[at].sum()
        told = dict(zip(by, group))
        row = {
            "notion": notion, "estimand": estimand, "family": None, "n": None, "k": None, **told,
            "settings": len(at), "problems": own_rows["problem"].nunique(), "worst": own_rows["regret"].max(),
            "regret": math.exp(float(w @ np.log(own_rows["regret"].to_numpy(float)))),
            "cpu_seconds": _geometric(own_rows["cpu_seconds"]), "rivals": 0,
            "undefined": int(own_rows["undefined"].sum()), "failed": int(own_rows["failed"].sum()),
            "p_wins": np.nan, "p_loses": np.nan,
        }  # fmt: skip
        complete = np.flatnonzero(~np.isnan(log[at]).any(axis=0))
        if len(complete):
            mean, error, freedom = _mean_log(
                log[at][:, complete], phi[at][:, complete], have[at][:, complete], w, own_rows["problem"]
            )
            p_better, p_worse = _p_values(mean, error, freedom)
            best = int(mean.argmax())
            half = _quantile(freedom[best]) * error[best]
            rival = rivals[complete[best]]
            of_rival = [cost.get((rival, problem, n)) for problem, n in zip(own_rows["problem"], own_rows["n"])]
            row |= {
                "rival": rival, "rivals": len(complete),
                "p_wins": p_better.max(), "p_loses": min(1.0, len(complete) * p_worse.min()),
                "ratio": math.exp(mean[best]), "low": math.exp(mean[best] - half), "high": math.exp(mean[best] + half),
                "rival_cpu_seconds": _geometric(of_rival),
            }  # fmt: skip
        rows.append(row)
    return rows


def log_ratios(part: pd.DataFrame, mine: pd.DataFrame, rivals: Sequence[str]) -> tuple[Any, Any, Any]:
    """Of every setting of `mine` and every rival log RMSE ratio, (S, E), NaN where fewer than LEAST_REPS replications are
    common; what each replication adds to it by the jackknife, (S, E, R), of mean 0; and which replications are common, (S, E,
    R)."""
    own = np.stack(mine["errors"].to_list()) ** 2
    position = {key: i for i, key in enumerate(zip(mine["problem"], mine["n"]))}
    column = {name: i for i, name in enumerate(rivals)}
    other = np.full((len(mine), len(rivals), own.shape[1]), np.nan)
    for problem, n, name, errors in zip(part["problem"], part["n"], part["estimator"], part["errors"]):
        if name in column and (problem, n) in position:
            other[position[problem, n], column[name]] = errors**2
    have = ~np.isnan(other) & ~np.isnan(own)[:, None, :]
    count = have.sum(axis=2, keepdims=True).astype(float)
    least = np.array([arena.floor(estimand, n) for estimand, n in zip(mine["estimand"], mine["n"])])[:, None, None] ** 2
    log, without = 0.0, 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        for sign, squared in ((1.0, np.broadcast_to(own[:, None, :], other.shape)), (-1.0, other)):
            held = np.where(have, squared, 0.0)
            total = held.sum(axis=2, keepdims=True)
            log = log + sign * 0.5 * np.log(np.maximum(total / count, least))
            without = without + sign * 0.5 * np.log(np.maximum((total - held) / (count - 1.0), least))
        without = np.where(have, without, 0.0)
        phi = np.where(have, (count - 1.0) * (without.sum(axis=2, keepdims=True) / count - without), 0.0)
    enough = count[:, :, 0] >= LEAST_REPS
    return np.where(enough, log[:, :, 0], np.nan), np.where(enough[:, :, None], phi, 0.0), have


def _mean_log(log, phi, have, weight, problems):
    """Weighted mean over settings, its error and degrees of freedom (Satterthwaite), by rival."""
    variance, spread = np.zeros(log.shape[1]), np.zeros(log.shape[1])
    for problem in dict.fromkeys(problems):
        own = problems.eq(problem).to_numpy()
        added = np.einsum("s,ser->er", weight[own], phi[own])
        reps = have[own].any(axis=0).sum(axis=1)
        one = (added**2).sum(axis=1) / (reps * (reps - 1.0))
        variance += one
        spread += one**2 / (reps - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.where(spread > 0.0, np.maximum(OF_FREEDOM * variance**2 / spread, 1.0), 1.0)
    return weight @ log, np.sqrt(variance), freedom


def _p_values(mean, error, freedom):
    """One-sided p-values that the own one is better, and worse; both 1 where the two are alike in every replication."""
    from scipy import stats

    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(error > 0.0, mean / error, np.sign(mean) * np.inf)
    same = (error == 0.0) & (mean == 0.0)
    t = np.where(same, 0.0, t)
    return np.where(same, 1.0, stats.t.cdf(t, freedom)), np.where(same, 1.0, stats.t.sf(t, freedom))


def _quantile(freedom):
    from scipy import stats

    return float(stats.t.ppf(0.975, freedom))


def _geometric(values):
    fine = np.array([value for value in values if value is not None and math.isfinite(value)])
    return float(np.exp(np.log(np.maximum(fine, 1e-7)).mean())) if len(fine) else math.nan


def best_of(settings: pd.DataFrame, level: float = 1.0 - RATE) -> pd.DataFrame:
    """Which estimators may be the best in each setting, of an own problem for instance.

    An estimator is not among them where another one is more accurate at the level, Bonferroni over the others: the best one is
    missing from its setting's list with a chance of at most 1 - level.

    Returns
    -------
    DataFrame
        The rows of `settings` that have a regret and are of published estimators, by setting and RMSE, with `may_be_best`.
    """
    import pandas as pd

    parts = []
    judged = settings[settings["regret"].notna() & settings["estimator"].map(arena.is_published)]
    for _, part in judged.groupby(["problem", "notion", "n", "estimand"], sort=True):
        part = part.sort_values("rmse", kind="stable").reset_index(drop=True)
        names = list(part["estimator"])
        may = []
        for i, name in enumerate(names):
            others = [other for other in names if other != name]
            log, phi, have = log_ratios(part, part.iloc[[i]].reset_index(drop=True), others)
            known = np.flatnonzero(~np.isnan(log[0]))
            if not len(known):
                may.append(True)
                continue
            one = _mean_log(log[:, known], phi[:, known], have[:, known], np.ones(1), part["problem"].iloc[[i]])
            may.append(bool(len(known) * _p_values(*one)[1].min() > 1.0 - level))
        parts.append(part.assign(may_be_best=may))
    return pd.concat(parts, ignore_index=True) if parts else judged.assign(may_be_best=False)


# In words


def sentences(settings: pd.DataFrame, cells: pd.DataFrame, own: str, reps: int) -> list[str]:
    """What may be quoted, one sentence per notion and estimand."""
    found = []
    for (notion, estimand), part in cells.groupby(["notion", "estimand"], sort=True):
        mine = settings[settings["estimator"].eq(own) & settings["notion"].eq(notion) & settings["estimand"].eq(estimand)]
        mine = mine[mine["regret"].notna()]
        wins, loses = (int(part["verdict"].eq(word).sum()) for word in ("wins", "loses"))
        regret = math.exp(float(np.log(part["regret"].to_numpy(float)).mean()))
        worst = part.loc[part["regret"].idxmax()]
        found.append(
            f"For the {NOTIONS[notion]} {name_of(estimand)} on {counted(mine['problem'].nunique(), 'problem')} of calharness's "
            "arena "
            f"(n = {listed(sorted(mine['n'].unique()))}; {reps} replications), the RMSE of {own} is on geometric average "
            f"{factor(regret)} times that of the best of {int(part['rivals'].max())} published estimators in each setting "
            f"(at worst {factor(worst['regret'])}: {worst['family']}, n = {worst['n']:,}, k = {worst['k']}); it is more "
            "accurate than "
            f"all of them in {wins} and less accurate than at least one in {loses} of {len(part)} cells (family, n, k), with a "
            "false "
            f"discovery rate of {RATE:.0%} over all such statements, at {seconds(_geometric(mine['cpu_seconds']))} of CPU time "
            "per estimate."
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
            f"On {name} (k = {part['k'].iloc[0]}, true {NOTIONS[notion]} {name_of(estimand)} {part['truth'].iloc[0]:.3g}; {reps} "
            f"replications) the most accurate of {part['estimator'].nunique()} published estimators is {'; '.join(clauses)}; "
            "the best one "
            f"is missing from a list with a chance of at most {RATE:.0%}."
        )
    return found


def name_of(estimand: str, formula: bool = False) -> str:
    """An estimand in words; a figure takes formulas."""
    name = ESTIMAND_NAMES.get(estimand, estimand)
    return name if formula else name.replace("$", "").replace("_", "").replace("\\infty", "∞")


def listed(values: Collection[Any]) -> str:
    """'200, 1,000 and 5,000'."""
    texts = [f"{value:,}" for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def counted(number: int, what: str) -> str:
    """'1 problem', '12 problems'."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def factor(value: float) -> str:
    """A ratio to two digits or so: 0.87, 1.62, 19.6, 230."""
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def seconds(value: float) -> str:
    """'0.2 ms', '3.1 s'."""
    return "an unknown amount" if not math.isfinite(value) else f"{value * 1e3:.2g} ms" if value < 0.5 else f"{value:.2g} s"


def family_table(families: pd.DataFrame, cells: pd.DataFrame, own: str) -> pd.DataFrame:
    """The table of the page and of the paper: by notion, estimand and family."""
    import pandas as pd

    rows = []
    for one in families.itertuples(index=False):
        of = cells[(cells["notion"] == one.notion) & (cells["estimand"] == one.estimand) & (cells["family"] == one.family)]
        counts = of["verdict"].value_counts()
        known = one.rival is not None and math.isfinite(one.ratio)
        rows.append(
            {
                "notion": NOTIONS[one.notion], "estimand": one.estimand, "family": one.family,
                "mean regret": factor(one.regret), "verdict": one.verdict, "best published": one.rival if known else "–",
                "RMSE ratio to it (95 %)": f"{factor(one.ratio)} ({factor(one.low)}–{factor(one.high)})" if known else "–",
                "cells won, lost": f"{counts.get('wins', 0)}, {counts.get('loses', 0)} of {len(of)}",
                "CPU time": seconds(one.cpu_seconds), "its CPU time": seconds(one.rival_cpu_seconds) if known else "–",
            }
        )  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "family"])
    table.columns.name = f"{own} against the published estimators of the arena, by family"
    return table


def problem_table(judged: pd.DataFrame, name: str, most: int = 12) -> pd.DataFrame:
    """RMSE and regret of the estimators on an own problem, best first; those that may be the best have a star."""
    import pandas as pd

    rows = []
    for (notion, estimand, n), part in judged.groupby(["notion", "estimand", "n"], sort=True):
        for rank, one in enumerate(part.head(most).itertuples(index=False), 1):
            rows.append(
                {
                    "notion": NOTIONS[notion], "estimand": estimand, "n": f"{n:,}", "rank": str(rank),
                    "estimator": f"{one.estimator}{' *' if one.may_be_best else ''}",
                    "bias": f"{one.bias:+.2g}", "RMSE": f"{one.rmse:.2g}",
                    "regret": factor(one.regret), "time": seconds(one.cpu_seconds),
                }
            )  # fmt: skip
    table = pd.DataFrame(rows).set_index(["notion", "estimand", "n", "rank"])
    table.columns.name = f"the most accurate estimators on {name} (* may be the best)"
    return table


def extremes(cells: pd.DataFrame, word: str, most: int = 6) -> list[str]:
    """The clearest wins or losses, in words."""
    chosen = cells[cells["verdict"].eq(word)].sort_values("ratio", ascending=word == "wins").head(most)
    return [
        f"{one.family}, k = {one.k}, n = {one.n:,}, {NOTIONS[one.notion]} {name_of(one.estimand)}: {factor(one.ratio)} times "
        "the RMSE of "
        f"{one.rival} ({factor(one.low)}–{factor(one.high)}), at {seconds(one.cpu_seconds)} against "
        f"{seconds(one.rival_cpu_seconds)}"
        for one in chosen.itertuples(index=False)
    ]


# Drawn


def figure(cells: pd.DataFrame, board: pd.DataFrame, own: str) -> Any:
    """Regret by family, notion, k and n, with + and - where it wins and loses; and regret against cost among all estimators."""
    from harness.figures.style import COLOURS, WIDTH, pyplot

    plt = pyplot()
    shown = list(dict.fromkeys(name for name in (*arena.MAIN, *cells["estimand"]) if name in set(cells["estimand"])))[:2]
    families = sorted(cells["family"].unique())
    columns = sorted({*zip(cells["notion"], cells["k"], cells["n"])}, key=lambda one: (list(NOTIONS).index(one[0]), *one[1:]))
    drawn, axes = plt.subplots(
        len(shown), 2, figsize=(WIDTH, len(shown) * (1.3 + 0.17 * max(len(families), 6))), layout="constrained", squeeze=False,
        width_ratios=[max(1.4, 0.11 * len(columns)), 1.0],
    )  # fmt: skip
    image = None
    for (heat, scatter), estimand in zip(axes, shown):
        part = cells[cells["estimand"].eq(estimand)]
        image = _heat(heat, part, families, columns)
        heat.set_title(f"regret, {name_of(estimand, formula=True)}")
        _scatter(scatter, board[board["estimand"].eq(estimand)], own, COLOURS)
    bar = drawn.colorbar(image, ax=[row[0] for row in axes], location="bottom", shrink=0.6, aspect=40, pad=0.02)
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["1/4", "1/2", "1", "2", "4"])
    bar.set_label("RMSE over that of the best published estimator")
    drawn.set_label(
        f"Left: the RMSE of {own} over that of the best published estimator of each setting, geometric mean over the problems "
        "of a "
        "family at one n and k; + where it is more accurate than all of them, \u2212 where it is less accurate than at least "
        "one "
        f"(false discovery rate {RATE:.0%}). Right: mean regret against CPU time of an estimate, over the same settings."
    )
    return drawn


def _heat(ax, part, families, columns):
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("regret", ["#0072B2", "#FFFFFF", "#D55E00"])
    ax.set_facecolor("#E0E0E0")  # nothing is there
    grid = np.full((len(families), len(columns)), np.nan)
    for one in part.itertuples(index=False):
        i, j = families.index(one.family), columns.index((one.notion, one.k, one.n))
        grid[i, j] = math.log2(one.regret)
        ax.text(j, i, {"wins": "+", "loses": "\u2212"}.get(one.verdict, ""), ha="center", va="center", fontsize=7)
    image = ax.imshow(grid, cmap=colours, vmin=-2, vmax=2, aspect="auto")
    ax.grid(False)
    ax.set_yticks(range(len(families)), families)
    starts = [j for j, column in enumerate(columns) if j == 0 or columns[j - 1][:2] != column[:2]]
    many = len(columns) > 9
    ax.set_xticks(range(len(columns)), [f"{n:,}" for _, _, n in columns], fontsize=5.5, rotation=90 if many else 0)
    for start, end in zip(starts, [*starts[1:], len(columns)]):
        if start:
            ax.axvline(start - 0.5, color="black", linewidth=0.6)
        notion, k, _ = columns[start]
        label = f"k = {k}" if notion == "binary" else f"{NOTIONS[notion]}\nk = {k}"
        middle = (start + end - 1) / 2.0
        ax.annotate(
            label, (middle, 0), xycoords=("data", "axes fraction"), xytext=(0, -24 if many else -14), textcoords="offset points",
            ha="center", va="top", fontsize=5.5,
        )  # fmt: skip
    return image


def _scatter(ax, board, own, colours):
    if not len(board):
        ax.set_axis_off()
        return
    notion = board.loc[board["estimator"].eq(own)].sort_values("settings", ascending=False)["notion"].iloc[0]
    part = board[board["notion"].eq(notion) & board["cpu_seconds"].gt(0)]
    others = part[part["estimator"].ne(own) & part["estimator"].map(arena.is_published)]
    ax.plot(others["cpu_seconds"], others["regret"], "o", color=colours[7], markersize=3)
    edge = others.iloc[arena.frontier(list(others["cpu_seconds"]), list(others["regret"]))]
    ax.step(edge["cpu_seconds"], edge["regret"], where="post", color=colours[7], linewidth=0.8)
    for one in edge.itertuples(index=False):
        ax.annotate(one.estimator, (one.cpu_seconds, one.regret), xytext=(2, 3), textcoords="offset points", fontsize=5)
    mine = part[part["estimator"].eq(own)]
    ax.errorbar(
        mine["cpu_seconds"], mine["regret"], yerr=[mine["regret"] - mine["low"], mine["high"] - mine["regret"]], fmt="D",
        color=colours[1], markersize=4,
    )  # fmt: skip
    for one in mine.itertuples(index=False):
        ax.annotate(
            own, (one.cpu_seconds, one.regret), xytext=(3, -8), textcoords="offset points", fontsize=6.5, color=colours[1]
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("CPU seconds of an estimate")
    ax.set_title(f"mean regret, {NOTIONS[notion]}")


def problem_figure(judged: pd.DataFrame, name: str, most: int = 6) -> Any:
    """RMSE against n of the best estimators on an own problem, and of 15 bins; a panel per notion and estimand."""
    from harness.figures.style import WIDTH, grid_shape, pyplot, series_style

    plt = pyplot()
    panels = list(judged.groupby(["notion", "estimand"], sort=True))
    rows, across = grid_shape(len(panels), 2)
    drawn, axes = plt.subplots(rows, across, figsize=(WIDTH, 2.4 * rows), layout="constrained", squeeze=False)
    for ax in axes.ravel()[len(panels) :]:
        ax.set_axis_off()
    for ax, ((notion, estimand), part) in zip(axes.ravel(), panels):
        order = part.groupby("estimator")["regret"].agg(lambda r: float(np.log(r).mean())).sort_values().index
        for i, estimator in enumerate([*order[:most], *(["binned15"] if "binned15" in order[most:] else [])]):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            ax.errorbar(line["n"], line["rmse"], yerr=2 * line["rmse_se"], label=estimator, **series_style(i))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("n")
        ax.set_ylabel("RMSE")
        ax.set_title(f"{NOTIONS[notion]}, {name_of(estimand, formula=True)}")
        ax.legend(fontsize=6)
    drawn.set_label(
        f"RMSE on {name} of the {most} estimators with the least mean regret and of 15 bins; bars: 2 Monte Carlo errors."
    )
    return drawn


# Written

RULES_OF_GROUPS = (
    "A setting is one problem under one notion, at one n, for one estimand. Regret is the RMSE over that of the best published "
    "estimator of the setting, each at least a tenth of the sampling error of a mean (0.1 / sqrt(n), of squared quantities 0.1 "
    "/ n). "
    "The best of many noisy RMSEs is rather low, so regret is rather high.",
    "Wins: more accurate than every published estimator of that cell (largest of the one-sided p-values). Loses: less accurate "
    "than at "
    "least one (smallest p-value, times their number). The p-values are of the log ratio of the RMSEs, with the jackknife over "
    "replications that both had; statements on cells and on families each have a false discovery rate of 5 % (Benjamini and "
    "Hochberg). "
    "They are about the arena's problems: replications are random, problems are not.",
    arena.RULE,
)
RULES_OF_A_PROBLEM = (
    "Regret is the RMSE over the least of the published estimators, each at least a tenth of the sampling error of a mean.",
    "An estimator may be the best (*) unless another one is more accurate at the 5 % level, Bonferroni over the others, by the "
    "log "
    "ratio of their RMSEs with the jackknife over replications.",
    arena.RULE,
)
TONES = {"wins": "good", "loses": "bad", "undecided": "open"}


def save(
    stem: Path, title: str, drawn: Any, table: pd.DataFrame, frames: dict[str, pd.DataFrame], said: Sequence[str], **more: Any
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
    from harness.common.version import VERSION
    from harness.common.writing import whole_file
    from harness.evaluation.latex import latex
    from harness.figures import figure_files
    from harness.pages.page import environment, inline

    caption = drawn.get_label()
    paths = figure_files.save(drawn, stem)
    svg = next(path for path in paths if path.suffix == ".svg").read_text()
    texts = {".tex": latex(table), ".txt": "\n\n".join(said) + "\n"}
    texts |= {f"{end}.csv": frame.to_csv(index=False, float_format="%.6g") for end, frame in frames.items()}
    for end, text in texts.items():
        paths.append(stem.with_name(stem.name + end))
        with whole_file(paths[-1]) as temporary:
            temporary.write_text(text)
    rows = [(row if isinstance(row, tuple) else (row,), list(values)) for row, values in zip(table.index, table.to_numpy())]
    page = environment().get_template("verdict.html.j2").render(
        title=title, version=VERSION, sentences=said, svg=inline(svg, "caption"), caption=caption, heading=table.columns.name,
        names=list(table.index.names), columns=list(table.columns), rows=rows, tones=TONES,
        links=[path.name for path in paths], **more,
    )  # fmt: skip
    paths.append(stem.with_name(f"{stem.name}.html"))
    with whole_file(paths[-1]) as temporary:
        temporary.write_text(page)
    return paths
