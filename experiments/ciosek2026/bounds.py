"""What the items on certified bounds share: names and looks, how far a bound is from the truth, log-log slopes, our means beside
an independent prototype's."""

import json

import numpy as np
import pandas as pd

from harness.report import reproduction
from harness.report.evaluation import evaluate
from harness.report.plots import COLOURS
from harness.report.tables import label

PAPER_STYLE = ("nw_kfold_first_order", "tv_kfold", "lip_bkt")
PAIRS = (  # derived, paper-style
    ("nw_jensen", "nw_kfold_first_order"), ("nw_jensen", "nw_kfold_ciosek2026"), ("tv_insample", "tv_kfold"),
    ("bv_window", "tv_kfold"), ("lip_bkt_jensen", "lip_bkt"),
)  # fmt: skip
NAMES = {
    "nw_kfold_first_order": "NW, K folds, 1st order", "nw_kfold_ciosek2026": r"NW, K folds, $3/(2h^2)$",
    "nw_kfold": r"NW, K folds, $1/(2h^2)$", "nw_jensen": "NW, Jensen", "nw_jensen_histogram": "NW, Jensen, histogram",
    "nw_jensen_wide": "NW, Jensen, wide", "nw_kfold_wide": "NW, K folds, wide",
    "tv_kfold": "TV, K folds", "tv_kfold_basic": "TV, K folds, basic", "tv_insample": "TV, in-sample", "bv_window": "BV window",
    "bv_window_wide": "BV window, wide", "bv_window_wider": "BV window, wider", "lip_bkt_wide": "Lip+Bkt, wide",
    "lip_bkt_jensen_wide": "Lip+Bkt, Jensen, wide", "lip_bkt": "Lip+Bkt", "lip_bkt_jensen": "Lip+Bkt, Jensen",
    "lower_preq": "lower bound", "certified_interval": "interval (BV)", "certified_interval_perturbed": "interval (NW)",
    "binned15": "ECE, 15 bins",
}  # fmt: skip
STYLES = {  # colour by family; the paper's form is solid with full markers
    "nw_kfold_first_order": (0, "-", "o"), "nw_kfold_ciosek2026": (0, "-.", "^"), "nw_kfold": (0, ":", "v"),
    "nw_jensen": (5, "--", "o"), "nw_jensen_histogram": (5, ":", "P"),
    "tv_kfold": (1, "-", "s"), "tv_kfold_basic": (1, "-.", "s"), "tv_insample": (4, "--", "s"), "bv_window": (3, "--", "X"),
    "lip_bkt": (2, "-", "D"), "lip_bkt_jensen": (2, "--", "D"), "lower_preq": (6, ":", "*"),
    "binned15": (7, ":", "P"),
}  # fmt: skip
FUNCTIONS = {
    "score_calibrated": "calibrated", "score_sine": "sine", "score_sigmoid": "sigmoid", "score_steps": "steps",
    "score_waves": "waves", "score_saturated": "saturated",
}  # fmt: skip
THE_FOUR = ("score_sine", "score_sigmoid", "score_steps", "score_waves")
JENSEN = "before_transfer"  # the part that only bounds of the form kl+(...) have


def name(estimator: str, config) -> str:
    """How an estimator is called in figures and tables: as configured, else as here, else by its id."""
    given = label(config, "estimator", estimator)
    return given if given != estimator else NAMES.get(estimator, estimator)


def plain(text: str) -> str:
    """A name without the mathematics of figures, for tables."""
    return text.replace("$", "").replace("h^2", "h²").replace("^{1/3}", "^(1/3)")


def function(problem: str, config) -> str:
    """How a problem is called: as configured, else 'sine' and 'sine, perturbed', else by its id."""
    given = label(config, "problem", problem)
    if given != problem:
        return given
    base = problem.removesuffix("_perturbed")
    text = FUNCTIONS.get(base, base.removeprefix("score_").replace("_", " "))
    return text + ", perturbed" * (base != problem)


def style(estimator: str, i: int = 0) -> dict:
    """Colour, line and marker of an estimator, open where the line is not solid; `i` numbers those without a look of their
    own."""
    colour, line, marker = STYLES.get(estimator, (i % 8, (0, (1, 1)), "P"))
    face = COLOURS[colour] if line == "-" else "white"
    return {"color": COLOURS[colour], "linestyle": line, "marker": marker, "markerfacecolor": face, "markeredgewidth": 0.8}


def measured(records):
    """The L1 records that carry a number, with `excess`: bound - CE of an upper bound, CE - bound of a lower one, |estimate - CE|
    of another, and `vacuous`: the bound says no more than 0 <= CE <= 1."""
    fine = records[records["status"].eq("ok") & records["estimand"].eq("l1")].copy()
    upper, lower = fine["kind"].eq("upper"), fine["kind"].eq("lower")
    difference = fine["value"] - fine["truth"]
    fine["excess"] = np.where(upper, difference, np.where(lower, -difference, difference.abs()))
    fine["vacuous"] = (upper & fine["value"].ge(1.0 - 1e-9)) | (lower & fine["value"].le(0.0))
    return fine


def shown(config, records):
    """The estimators to draw, in their order: those of `figure.estimators`, else all, as far as they gave a number."""
    have = set(records["estimator"])
    return [e for e in (config["figure"]["estimators"] or list(config["estimator"])) if e in have]


def problems(config, records):
    """The problems that gave a number, in the order of the configuration."""
    have = set(records["problem"])
    return [p for p in config["problem"] if p in have]


def slopes(records, config):
    """By problem and estimator: the slope of log10(mean excess) on log10 n by least squares.

    Sizes at which a sample's bound is vacuous are left out, and where fewer than three remain, or a mean excess is not positive,
    the slope is NaN. se is by the jackknife over the replications, whose samples of different n share their beginnings. first,
    last: the slope over the first and the last decade of those sizes (the nearest size at least ten times away).
    """
    rows = []
    for (problem, estimator), part in measured(records).groupby(["problem", "estimator"], sort=False):
        good = part.groupby("n")["vacuous"].transform("any").eq(False) & part["truth"].notna()
        wide = part[good].pivot(index="rep", columns="n", values="excess").dropna(axis=0)
        rows.append({"problem": problem, "estimator": estimator, **_slope(wide), "left_out": part.loc[~good, "n"].nunique()})
    columns = ["problem", "estimator", "slope", "se", "first", "last", "n_min", "n_max", "reps", "left_out"]
    frame = pd.DataFrame(rows, columns=columns)
    return ordered(frame, config)


def ordered(frame, config):
    """The rows by problem and estimator in the order of the configuration, otherwise as they were."""
    ranks = [{name: i for i, name in enumerate(config[group])} for group in ("problem", "estimator")]
    keys = [[r.get(x, len(r)) for x in frame[c]] for r, c in zip(ranks, ("problem", "estimator"))]
    return frame.iloc[np.lexsort(keys[::-1])].reset_index(drop=True)


def _slope(wide):
    n, count = wide.columns.to_numpy(float), len(wide)
    found = {"slope": np.nan, "se": np.nan, "first": np.nan, "last": np.nan, "reps": count}
    found |= {"n_min": n.min() if len(n) else np.nan, "n_max": n.max() if len(n) else np.nan}
    if len(n) < 3 or not count or not (wide.mean() > 0.0).all():
        return found
    x = np.log10(n)
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    values = wide.to_numpy()
    y = np.log10(values.mean(axis=0))
    found |= {"slope": weights @ y, "first": _decade(x, y, 0), "last": _decade(x[::-1], y[::-1], 0)}
    if count > 1:
        others = (values.sum(axis=0) - values) / (count - 1)
        if (others > 0.0).all():
            each = np.log10(others) @ weights
            found["se"] = np.sqrt((count - 1) / count * ((each - each.mean()) ** 2).sum())
    return found


def _decade(x, y, start):
    far = np.flatnonzero(np.abs(x - x[start]) >= 1.0 - 1e-3)  # 3,162 is not quite half a decade
    return (y[far[0]] - y[start]) / (x[far[0]] - x[start]) if len(far) else np.nan


def parts(records):
    """The named parts of every record, one column each."""
    made = [json.loads(text) if isinstance(text, str) else {} for text in records["diagnostics"]]
    return pd.DataFrame(made, index=records.index)


def means(records, config, end=""):
    """Our mean bounds: rows '<problem id>, n = <n>', columns the estimator's id and `end`, with standard error; cells that gave
    none leave their reason."""
    table = evaluate(records[records["status"].eq("ok") & records["estimand"].eq("l1")])
    rows = [f"{p}, n = {n}" for p, n in zip(table["problem"], table["n"])]
    found = {"row": rows, "column": table["estimator"] + end, "value": table["mean"], "error": table["se"], "reps": table["reps"]}
    without = records[~records["status"].eq("ok")].drop_duplicates(["problem", "n", "estimator"])
    lost = pd.DataFrame(
        {
            "row": [f"{r.problem}, n = {r.n}" for r in without.itertuples()],
            "column": without["estimator"].to_numpy() + end,
            "why": [reproduction.why_without(r) for r in without.itertuples()],
        }
    )
    seen = set(zip(rows, found["column"]))
    lost = lost[[pair not in seen for pair in zip(lost["row"], lost["column"])]]
    return pd.concat([pd.DataFrame(found), lost], ignore_index=True)


def answer(items, ours):
    """The rows for every item of `items`, their numbers as such also where there is none."""
    ours = ours.astype({c: float for c in ("value", "error", "reps") if c in ours})
    frames = [ours.assign(item=item) for item in items]
    return pd.concat(frames, ignore_index=True) if frames else ours.assign(item=None)


def entry(value, error=np.nan, digits=4):
    """'0.0366 ± 0.0010', or a dash."""
    if value != value:
        return "–"
    return f"{value:.{digits}f}" + (f" ± {error:.{digits}f}" if error == error else "")


def frame(rows: dict, names: list[str], title: str):
    """A table of texts from {index: {column: text}}; what is missing is a dash."""
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    index = pd.MultiIndex.from_tuples([key if isinstance(key, tuple) else (key,) for key in rows], names=names)
    made = pd.DataFrame([[row.get(c, "–") for c in columns] for row in rows.values()], index, columns, dtype=object)
    made.columns.name = title
    return made


def legend(figure, axes, columns=4):
    """One legend above all panels, every text once."""
    entries = {text: handle for ax in np.ravel(axes) for handle, text in zip(*ax.get_legend_handles_labels())}
    if entries:
        figure.legend(
            entries.values(), entries.keys(), loc="outside upper center", ncols=min(columns, len(entries)), handlelength=2.4,
            columnspacing=1.0,
        )  # fmt: skip


def nothing(text="no cell gave a number to draw; the page says why"):
    """A figure that says that there is none."""
    from harness.report.plots import WIDTH, pyplot

    plt = pyplot()
    figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    return figure


def grid(count, per_row=3, height=2.0, **more):
    """(figure, axes of the panels): `count` panels, the rest hidden."""
    from harness.report.plots import WIDTH, pyplot

    columns = max(1, min(per_row, count))
    rows = -(-count // columns)
    figure, axes = pyplot().subplots(
        rows, columns, figsize=(WIDTH, 0.6 + height * rows), squeeze=False, layout="constrained", **more
    )
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for j in range(columns):
        last = max(i for i in range(rows) if i * columns + j < count)
        axes[last, j].tick_params(labelbottom=True)
        axes[last, j].set_xlabel("number of samples $n$")
    return figure, list(axes.flat[:count])
