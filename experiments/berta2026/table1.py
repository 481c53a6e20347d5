"""Table 1: the share of the largest estimated calibration error that each classifier recovers, over many models of many tables.

Every task is one model's held-out predictions: a data set, a fold and a configuration of the model. The authors' protocol: drop
tasks of at most 300 samples; average a classifier's estimates over the tasks (folds) and replications of a group (data set,
configuration); clip at 0; keep the groups whose largest L1 (binary) or L2 (multiclass) is above 0.02, for the squared columns
too; divide by the group's largest; average over the groups. Seconds are per 1,000 samples, over all groups.
"""

import json

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.math.aggregation import group_means, mean_and_errors, shares_of_largest
from harness.report import items, panels, reproduction
from harness.report.shown import label
from harness.report.style import COLOURS

COLUMNS = {
    "binary L1 (%)": ("binary", "l1"), "binary squared (%)": ("binary", "l2_squared"),
    "multiclass L2 (%)": ("canonical", "l2"), "multiclass squared (%)": ("canonical", "l2_squared"),
}  # fmt: skip
PRIMARY = {"binary": "l1", "canonical": "l2"}
TIME = "seconds per 1,000"
SMALLEST = 300  # tasks with at most that many samples are left out
LEAST = 0.02  # groups whose largest primary error is at most that are left out
GROUPS = {"binary": 696, "canonical": 241}  # the paper's, before that filter
PAPER, MEANS, APART = "as in the paper", "mean of dataset means", "folds apart"
BY = {PAPER: ["dataset", "config"], APART: ["dataset", "fold", "config"]}


def render(records, config):
    """The four percentages: dot and thin bar mean +- standard error over the groups, pale bar the error clustered by data set,
    open diamond the paper's value with its error."""
    found, theirs = summary(records, config).query("grouping == @PAPER"), _printed()
    names = list(dict.fromkeys(found["classifier"]))
    figure, (axes,) = panels.grid(1, len(COLUMNS), 0.95 + 0.27 * len(names), sharex=True, sharey=True)
    for ax, column in zip(axes, COLUMNS):
        read = theirs[theirs["row"].isin(names) & theirs["column"].eq(column)]
        ours = found[found["column"].eq(column)].assign(at=range(len(names)))
        look = panels.look(3, filled=False, label="paper", capsize=0.0) | {"color": COLOURS[1]}
        panels.marks(ax, [names.index(row) + 0.22 for row in read["row"]], read, "value", "plus_minus", **look)
        for at in ours.loc[ours["groups"].eq(0), "at"]:
            ax.text(0.03, at - 0.18, "no number", transform=ax.get_yaxis_transform(), va="center", fontsize=6, color="0.45")
        ours = ours[ours["groups"].gt(0)]
        for r in ours.itertuples():
            ends, pale = [r.mean - r.se_clustered, r.mean + r.se_clustered], {"linewidth": 4.5, "solid_capstyle": "butt"}
            ax.plot(ends, [r.at - 0.18] * 2, color=COLOURS[0], alpha=0.3, label="clustered error", **pale)
        panels.marks(ax, ours["at"] - 0.18, ours, **panels.look(0, label="ours", capsize=0.0, elinewidth=0.9))
        right = max(100.0, ax.get_xlim()[1])
        ax.set(title=column, xticks=np.arange(0.0, right + 1.0, 25.0), xlim=(0.0, right))
        panels.name_rows(ax, names, 0.55, 0.6)
    figure.supxlabel("% of the largest estimate\n" + _counts(records, config), fontsize=7, color="0.25")
    paper = "paper, on its own data" if set(COLUMNS) & set(config["reasons"]) else "paper"
    texts = {"ours": "ours ± standard error over groups", "clustered error": "± error clustered by data set", "paper": paper}
    panels.legend(figure, axes, 3, texts, texts=texts)
    return figure


def summary(records, config):
    """One row per grouping, classifier and column: mean_and_errors(), the classifiers in the order of the mean of the four
    percentages; `groups` is 0 where there is no number."""
    cells, reference = measured(records, config)
    names = [label(config, "estimator", e) for e in config["estimator"] if e in set(records["estimator"])]
    frames = []
    for grouping, by in BY.items():
        for column, values in columns_of(cells, reference, by).items():
            found = mean_and_errors(values.reindex(columns=names), values.index.get_level_values("dataset"))
            frames.append(found.rename_axis("classifier").reset_index().assign(grouping=grouping, column=column))
    long = pd.concat(frames, ignore_index=True)
    four = long[long["grouping"].eq(PAPER) & long["column"].isin(COLUMNS)].groupby("classifier")["mean"].mean()
    order = sorted(names, key=lambda name: (np.isnan(four[name]), -four[name] if four[name] == four[name] else names.index(name)))
    ranks = [long["grouping"].map(list(BY).index), long["classifier"].map(order.index)]
    long = long.assign(a=ranks[0], b=ranks[1]).sort_values(["a", "b"], kind="stable", ignore_index=True)
    return long[
        ["grouping", "classifier", "column", *(c for c in long if c not in ("grouping", "classifier", "column", "a", "b"))]
    ]


def measured(records, config):
    """(cells, reference): one row per cell with dataset, fold, config, sample, estimator (its label), notion, the three estimands
    and seconds per 1,000 samples, NaN where it gave no number; the classifiers of this run that make the paper's maximum."""
    used = records[records["notion"].isin(PRIMARY) & records["n"].gt(SMALLEST)]
    if not len(used):
        raise BadInputError(
            f"no cell has a binary or canonical notion and more than {SMALLEST} samples; Table 1 is of such only."
        )
    fine = used[used["status"].eq("ok")]
    values = fine.pivot(index="key", columns="estimand", values="value").reindex(columns=["l1", "l2", "l2_squared"])
    cells = used.drop_duplicates("key")[["key", "problem", "notion", "n", "rep", "estimator", "seconds"]]
    cells = cells.merge(_tasks(used), on="problem").join(values, on="key")
    cells[TIME] = (cells["seconds"] * 1000 / cells["n"]).where(cells["key"].isin(fine["key"]))
    cells["sample"] = cells["problem"] + "|" + cells["notion"] + "|" + cells["n"].astype(str) + "|" + cells["rep"].astype(str)
    cells["estimator"] = [label(config, "estimator", e) for e in cells["estimator"]]
    reference = [name for name in dict.fromkeys(_printed()["row"]) if name in set(cells["estimator"])]
    if not reference:
        raise BadInputError("no estimator of this run is one of Table 1's classifiers, whose largest estimate is its 100 %.")
    return cells, reference


def columns_of(cells, reference, by):
    """{column: frame (groups, classifiers)} of the table's columns, the percentages of the groups kept and the seconds of all."""
    found = {}
    for column, (notion, estimand) in COLUMNS.items():
        mine = cells[cells["notion"].eq(notion)]
        kept = _largest(cells, reference, notion, by)
        kept = kept.index[kept > LEAST]
        found[column] = shares_of_largest(group_means(mine.assign(value=mine[estimand]), by).reindex(kept), reference)
    found[TIME] = group_means(cells.assign(value=cells[TIME]), by)
    return found


def table(records, config):
    """Rows (grouping, classifier): ours as mean +- standard error (error clustered by data set), the paper's number beside it,
    and the number of groups behind every entry of ours (of data sets, for the mean of their means)."""
    theirs = reproduction.reported("berta2026", ["table1", "table1_sensitivity"]).set_index(["row", "column"])
    rows, columns = {}, (*COLUMNS, TIME)
    for r in _three_ways(summary(records, config)).itertuples():
        row = rows.setdefault((r.grouping, r.classifier), {})
        digits = 3 if r.column == TIME else 1
        clustered = f" ({r.clustered:.{digits}f})" if r.clustered == r.clustered else ""
        row[r.column] = items.entry(r.value, r.error, digits) + clustered
        asked = (r.classifier if r.grouping == PAPER else f"{r.classifier}, {r.grouping}", r.column)
        known = asked in theirs.index
        row[f"{r.column}, paper"] = items.entry(*theirs.loc[asked, ["value", "plus_minus"]], 1) if known else "–"
        row["groups"] = f"{row['groups']} / {r.number}" if "groups" in row else str(r.number)
    heading = "share of the largest estimate: mean ± standard error over groups (clustered by data set)"
    first = [name for column in columns for name in (column, f"{column}, paper")]
    return items.wide(rows, ["grouping", "classifier"], heading, [*first, "groups"])


def reproduced(records, config):
    """Our numbers for the items of `compare`. A number of ours is not judged where config["reasons"] names its column, where the
    largest is over fewer classifiers than the paper's, or where the groups are fewer."""
    cells, reference = measured(records, config)
    ours = _three_ways(summary(records, config))
    lost = records[~records["status"].eq("ok")].drop_duplicates("estimator")
    lost = {label(config, "estimator", r.estimator): reproduction.why_without(r) for r in lost.itertuples()}
    other = {column: config["reasons"].get(column) or _unlike(cells, reference, column) for column in (*COLUMNS, TIME)}
    most = ours.groupby(["grouping", "column"])["number"].max()
    ours["why"] = [
        _absent(r, lost) if not r.number else other[r.column] or _fewer(r, most[r.grouping, r.column]) for r in ours.itertuples()
    ]
    ours["keys"] = _keys(cells, ours)
    rows = {
        "table1": ours[ours["grouping"].eq(PAPER)].assign(suffix=""),
        "table1_sensitivity": ours.assign(suffix=", " + ours["grouping"].replace(PAPER, "unrounded")),
    }
    found = [rows[item].assign(item=item) for item in config["compare"]]
    found = pd.concat(found, ignore_index=True).rename(columns={"number": "reps"})
    return found.assign(row=found["classifier"] + found["suffix"])[items.ANSWER]


def _three_ways(long):
    """The summary as rows grouping, classifier, column, value, error, clustered, number: the paper's grouping, and, of the
    percentages, the mean of its data sets' means and folds apart."""
    plain, percent = long["grouping"].eq(PAPER), long["column"].isin(COLUMNS)
    means = long[plain & percent].assign(grouping=MEANS, se_clustered=np.nan)
    means = means.assign(mean=means["cluster_mean"], se=means["cluster_se"], groups=means["clusters"])
    parts = [long[plain], means, long[~plain & percent]]
    names = {"mean": "value", "se": "error", "se_clustered": "clustered", "groups": "number"}
    frame = pd.concat(parts, ignore_index=True).rename(columns=names)
    return frame[["grouping", "classifier", "column", *names.values()]]


def _keys(cells, ours):
    """The keys of the cells behind every row: the classifier's cells of the column's notion."""
    made = cells.dropna(subset=TIME)
    keys = made.groupby(["estimator", "notion"])["key"].agg(tuple).to_dict()
    return [
        tuple(k for notion in ((COLUMNS[column][0],) if column in COLUMNS else PRIMARY) for k in keys.get((name, notion), ()))
        for name, column in zip(ours["classifier"], ours["column"])
    ]


def _absent(row, lost):
    return lost.get(row.classifier, "no group has its estimates in full")


def _fewer(row, most):
    return f"over {row.number} of {most} groups: it lacks some of their estimates" if row.number < most else None


def _unlike(cells, reference, column):
    """Why a column of ours is of something else than the paper's, or None."""
    ten = _printed()["row"].nunique()
    for notion in PRIMARY if column == TIME else (COLUMNS[column][0],):
        mine = len(_largest(cells, reference, notion, BY[PAPER]))
        if mine < GROUPS[notion]:
            return f"ours is over {mine} groups, the paper's over {GROUPS[notion]} (before small errors are left out)"
    if column != TIME:
        of_notion = cells[cells["notion"].eq(COLUMNS[column][0])]
        means = group_means(of_notion.assign(value=of_notion[COLUMNS[column][1]]), BY[PAPER]).reindex(columns=reference)
        short = int(means.isna().any(axis=1).sum())
        if len(_with_numbers(cells, reference)) == ten and short:
            return f"in {short} groups ours is relative to the largest of fewer than {ten} classifiers"
    if column != TIME and len(_with_numbers(cells, reference)) < ten:
        return f"ours is relative to the largest of {len(_with_numbers(cells, reference))} classifiers, theirs of {ten}"
    return None


def _largest(cells, reference, notion, by):
    """The largest primary error of every group, over the classifiers that make the maximum."""
    mine = cells[cells["notion"].eq(notion)]
    means = group_means(mine.assign(value=mine[PRIMARY[notion]]), by)
    return means.reindex(columns=reference).max(axis=1).dropna()


def _with_numbers(cells, reference):
    found = set(cells.dropna(subset=TIME)["estimator"])
    return [name for name in reference if name in found]


def _counts(records, config):
    """What the figure rests on."""
    cells, reference = measured(records, config)
    texts = []
    for notion, name in (("binary", "binary"), ("canonical", "multiclass")):
        largest = _largest(cells, reference, notion, BY[PAPER])
        texts.append(f"{name} {(largest > LEAST).sum()} of {len(largest)}")
    small = records.loc[records["n"].le(SMALLEST), "problem"].nunique()
    left_out = f"\n{small} tasks with at most {SMALLEST} samples left out" if small else ""
    classifiers = len(_with_numbers(cells, reference))
    return f"groups with an error above {LEAST}: {', '.join(texts)}; largest of {classifiers} classifiers{left_out}"


def _tasks(records):
    """problem -> dataset, fold, config, as the problems' own parameters have them."""
    once = records.drop_duplicates("problem")
    known = [json.loads(text) for text in once["problem_parameters"]]
    for problem, parameters in zip(once["problem"], known):
        absent = [name for name in BY[APART] if name not in parameters]
        if absent:
            raise BadInputError(f"problem {problem!r} has no {', '.join(absent)}; Table 1 is over tasks of a TabRepo repository.")
    return pd.DataFrame({"problem": once["problem"], **{name: [p[name] for p in known] for name in BY[APART]}})


def _printed():
    return reproduction.reported("berta2026", ["table1"])
