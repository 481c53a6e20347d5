"""What the items on simulated and real predictions share: the authors' unit, curves over n, our numbers beside the reported ones.

Unit. The authors write one class as two columns, (1 - g, g). Their squared error of a class is therefore twice our estimand
`l2_squared`, and so is their sharpness; their refinement, -mean F(r) with F(r) = r^2 + (1 - r)^2, is twice ours less 1. KL is the
same on one column and on two. Everything in this folder is shown in their unit.
"""

import numpy as np
import pandas as pd

from harness.report import reproduction
from harness.report.evaluation import evaluate
from harness.report.plots import COLOURS, MARKERS
from harness.report.tables import label

AUTHORS = "_popordanoska2024"  # estimators whose ids end so give the authors' unit already,
ONE_COLUMN = ("classwise_ece_popordanoska2024",)  # but for their bins, which are of one column
UNIT = {"l2_squared": (2.0, 0.0), "sharpness_l2_squared": (2.0, 0.0), "refinement_l2_squared": (2.0, -1.0)}  # factor, shift
SHORT = {"kl": "KL", "l2_squared": "squared L2"}
AXIS = {"kl": "KL calibration error", "l2_squared": "squared $L_2$ calibration error"}
AGAIN = "authors' code, run again"
STYLES = {  # one look per estimator in all figures: colour, marker, line
    "kde_risk_schedule_popordanoska2024": (0, "-"), "kde_popordanoska2024": (0, "-"),
    "kde_direct_schedule_popordanoska2024": (1, "-"), "kde_direct_popordanoska2024": (1, "-"),
    "kde": (2, "-"), "kde_likelihood": (5, "-"), "binned_kl_popordanoska2024": (3, "-"), "binned15": (4, "-"),
    "debiased15": (6, "-"),
}  # fmt: skip


def in_two_columns(records):
    """The records, values and truths, in the authors' unit; those of the canonical notion are as they were."""
    frame = records.copy()
    for estimand, (factor, shift) in UNIT.items():
        mine = frame["estimand"].eq(estimand) & frame["notion"].ne("canonical")
        plain = mine & (~frame["estimator"].str.endswith(AUTHORS) | frame["estimator"].isin(ONE_COLUMN))
        for rows, columns in ((plain, ["value", "low", "high"]), (mine, ["truth"])):
            frame.loc[rows, columns] = frame.loc[rows, columns] * factor + shift
        frame.loc[mine, "truth_error"] *= factor
    return frame


def numbers(records, estimands=tuple(SHORT)):
    """evaluate() of these estimands in the authors' unit, with `relative`, the bias in per cent of the truth, and its error."""
    table = evaluate(in_two_columns(records[records["status"].eq("ok") & records["estimand"].isin(estimands)]))
    nonzero = table["truth"].where(table["truth"].ne(0.0))
    return table.assign(relative=100 * table["bias"] / nonzero, relative_se=100 * table["se"] / nonzero)


def summary(records, config):
    """evaluate(), in the authors' unit, with the labels beside the ids."""
    frame = evaluate(in_two_columns(records))
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(config, group, name) for name in frame[group]])
    return frame.assign(
        unit=["two columns" if e in UNIT and n != "canonical" else "" for e, n in zip(frame.estimand, frame.notion)]
    )


def gap(records, estimand, first, second):
    """|bias of first| - |bias of second| by (problem, n), with the standard error of the paired difference over the reps (both
    estimators see the same samples); positive where the second is closer to the truth."""
    mine = in_two_columns(records[records["status"].eq("ok") & records["estimand"].eq(estimand)])
    mine = mine[mine["estimator"].isin([first, second])].assign(error=lambda f: f["value"] - f["truth"])
    wide = (
        mine.pivot(index=["problem", "n", "rep"], columns="estimator", values="error").reindex(columns=[first, second]).dropna()
    )
    rows = {}
    for key, part in wide.groupby(level=["problem", "n"], sort=False):
        sign = np.sign(part.mean())
        d = sign[first] * part[first] - sign[second] * part[second]
        rows[key] = {"gap": d.mean(), "se": d.std() / np.sqrt(len(d)) if len(d) > 1 else np.nan}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["gap", "se"])


def of(config, names):
    """The estimators of this run among `names`, in the order of `names`."""
    return [name for name in names if name in config["estimator"]]


def curve(ax, part, config, estimators, value="mean", error="se"):
    """Mean +- standard error over the reps against n, log axis, one line per estimator."""
    for i, name in enumerate(estimators):
        line = part[part["estimator"] == name].sort_values("n")
        colour, style = STYLES.get(name, (i % 8, "-"))
        if len(line):
            ax.errorbar(
                line["n"], line[value], yerr=line[error], label=label(config, "estimator", name), capsize=1.5, elinewidth=0.7,
                color=COLOURS[colour], marker=MARKERS[colour], linestyle=style, zorder=3,
            )  # fmt: skip
    ax.set_xscale("log")


def marks(ax, item, column, prefix="", text=AGAIN, marker="D", shift=1.09):
    """Reported numbers of an item as open grey marks with their standard errors, a little to the right of their n."""
    found = reproduction.reported("popordanoska2024", [item])
    found = found[found["column"].eq(column) & found["row"].str.startswith(f"{prefix}n = ")]
    n = found["row"].str.extract(r"n = (\d+)$")[0].astype(float)
    if len(found):
        ax.errorbar(
            n * shift, found["value"], yerr=found["plus_minus"], color="0.45", marker=marker, markerfacecolor="white",
            markersize=3.2, capsize=1.2, elinewidth=0.6, linestyle="none", label=text, zorder=2,
        )  # fmt: skip


def truth_line(ax, part, text="true value"):
    known = part["truth"].dropna()
    if len(known):
        ax.axhline(known.iloc[0], color="0.2", linestyle="--", linewidth=1.0, label=text, zorder=1)


def legend(figure, axes, columns=4):
    """One legend above all panels, every text once."""
    entries = {text: handle for ax in np.ravel(axes) for handle, text in zip(*ax.get_legend_handles_labels())}
    entries = dict(sorted(entries.items(), key=lambda entry: entry[0] == AGAIN))
    figure.legend(
        entries.values(), entries.keys(), loc="outside upper center", ncols=min(columns, len(entries)), handlelength=2.0,
        columnspacing=1.2,
    )  # fmt: skip


def reproduced_rows(records, config, estimands=SHORT):
    """Our numbers with row '<problem label>, n = <n>' and column '<estimator label>, <estimand>', in the authors' unit; cells
    without a number leave their reason."""
    table = numbers(records, tuple(estimands))
    rows = [f"{label(config, 'problem', p)}, n = {n}" for p, n in zip(table["problem"], table["n"])]
    columns = [f"{label(config, 'estimator', e)}, {estimands[s]}" for e, s in zip(table["estimator"], table["estimand"])]
    named = {
        "row": rows,
        "column": columns,
        "value": table["mean"],
        "error": table["se"],
        "reps": table["reps"],
        "bias": table["bias"],
    }
    return pd.concat([pd.DataFrame(named), lost(records, config, estimands, set(zip(rows, columns)))], ignore_index=True)


def lost(records, config, estimands, answered):
    """Rows with the reason (`why`) of the cells that gave no number, but for the pairs (row, column) that are `answered`."""
    without = records[~records["status"].eq("ok")].drop_duplicates(["problem", "n", "estimator"])
    found = [
        (f"{label(config, 'problem', r.problem)}, n = {r.n}", f"{label(config, 'estimator', r.estimator)}, {name}",
         reproduction.why_without(r))
        for r in without.itertuples()
        for name in estimands.values()
    ]  # fmt: skip
    frame = pd.DataFrame(found, columns=["row", "column", "why"]).drop_duplicates(["row", "column"])
    return frame[[pair not in answered for pair in zip(frame["row"], frame["column"])]]


def answer(items, ours):
    """The rows for every item of `compare`."""
    return pd.concat([ours.assign(item=item) for item in items], ignore_index=True)


def entry(value, error=np.nan, digits=4):
    """'0.0366 ± 0.0010', or a dash."""
    if value != value:
        return "–"
    return f"{value:.{digits}f}" + (f" ± {error:.{digits}f}" if error == error else "")
