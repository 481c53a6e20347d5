"""What the perturbation costs in AUROC, against its width h: the paper's table of three networks, on other predictions.

decrease = AUROC of the scores as they are, less that of the perturbed scores of the same rows, mean over the perturbation's
draws. Of networks that were trained with the perturbation: less their AUROC, perturbed, so that what training changes is counted
too."""

import re

import numpy as np
import pandas as pd

from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

LIMIT = 0.001  # "< 0.001" at h = 2^-6
CLAIMED, NOTABLE = 2.0**-6, 2.0**-4
NAME = re.compile(r"(?P<base>.+?)(?:/(?P<aware>aware_)?h(?P<width>2\^-?\d+|[\d.e-]+))?")
KINDS = (  # how ids are read: what is averaged over, in brackets, and the panel
    (re.compile(r"perturbed_networks/(?P<table>\w+)_(?P<model>logistic|mlp)_(seed\d+)"), "{model}", "{table}"),
    (re.compile(r"cifar10_one_vs_rest/(?P<network>.+)/(class\d+)"), "cifar10", "{network}"),
    (re.compile(r"(?P<table>\w+)/(\d+)/(?P<family>[^_]+)_.*"), "tabular", "{family}"),
)
PANELS = {
    "cifar10": "CIFAR-10, class against the others", "tabular": "tables, out-of-fold predictions",
    "logistic": "logistic regressions trained here", "mlp": "networks trained here",
}  # fmt: skip


def decreases(records):
    """One row per base problem, width and training: panel, series, h, aware, raw (AUROC of the scores as they are), decrease,
    draws and its standard error over them."""
    fine = records[records["status"].eq("ok") & records["estimand"].eq("auroc")]
    names = fine["problem"].str.extract(f"^{NAME.pattern}$")
    h = np.array([_width(text) for text in names["width"]], dtype=float)
    fine = fine.assign(base=names["base"], aware=names["aware"].notna(), h=h, value=fine["value"].astype(float))
    raw = fine[fine["h"].isna()].groupby("base")["value"].mean()
    moved = fine[fine["h"].notna() & fine["base"].isin(raw.index)]
    table = moved.groupby(["base", "aware", "h"], sort=False)["value"].agg(mean="mean", sd="std", draws="size").reset_index()
    table["raw"] = table["base"].map(raw).astype(float)
    table["decrease"] = table["raw"] - table["mean"]
    table["error"] = table["sd"] / np.sqrt(table["draws"])
    where = [_place(base) for base in table["base"]]
    return table.assign(panel=[panel for panel, _ in where], series=[series for _, series in where])


def curves(records):
    """Mean over the members of a series (classes, tables or seeds) and its standard error over them (over the draws for one)."""
    found = decreases(records)
    by = ["panel", "series", "aware", "h"]
    table = found.groupby(by, sort=False).agg(
        raw=("raw", "mean"), mean=("decrease", "mean"), sd=("decrease", "std"), members=("decrease", "size"),
        own=("error", "mean"),
    )  # fmt: skip
    table["se"] = np.where(table["members"] > 1, table["sd"] / np.sqrt(table["members"]), table["own"])
    return table.reset_index().sort_values("h", kind="stable")


def render(records, config):
    """One panel per kind of predictions; solid: trained with the perturbation, dashed: perturbed afterwards. Below 0.001 the axis
    is linear."""
    plt = pyplot()
    found = curves(records)
    panels = [name for name in PANELS if found["panel"].eq(name).any()]
    if not panels:
        figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
        ax.set_axis_off()
        ax.text(0.5, 0.5, "there are no predictions to draw; the page says how to get them", ha="center", va="center")
        return figure
    rows = -(-len(panels) // 2)
    shape = {"squeeze": False, "sharex": True, "sharey": True, "layout": "constrained"}
    figure, axes = plt.subplots(rows, min(2, len(panels)), figsize=(WIDTH, 2.55 * rows), **shape)
    for panel, ax in zip(panels, axes.flat):
        mine = found[found["panel"].eq(panel)]
        for i, series in enumerate(sorted(mine["series"].unique())):
            for aware in (False, True):
                line = mine[mine["series"].eq(series) & mine["aware"].eq(aware)]
                both = mine["aware"].any()
                text = label(config, "problem", series) if aware or not both else None
                ax.errorbar(
                    line["h"], line["mean"], yerr=line["se"], color=COLOURS[i], marker=MARKERS[i], elinewidth=0.7, capsize=1.5,
                    linestyle="-" if aware or not both else (0, (3, 2)), label=text if len(line) else None,
                    markerfacecolor=COLOURS[i] if aware or not both else "white", markeredgewidth=0.7,
                )  # fmt: skip
        ax.axhspan(-1.0, LIMIT, color="0.5", alpha=0.12, linewidth=0)
        ax.axvline(CLAIMED, color="0.4", linewidth=0.7, linestyle=":")
        ax.axvline(NOTABLE, color="0.4", linewidth=0.7, linestyle=":")
        ax.set_title(PANELS[panel])
        ax.legend(loc="upper left", fontsize=6.5, handlelength=2.2)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    widths = sorted(found["h"].unique())
    top = axes[0, 0]
    top.set_xscale("log", base=2)
    top.set_xticks(widths, [f"$2^{{{np.log2(h):g}}}$" for h in widths])
    top.set_yscale("symlog", linthresh=LIMIT, linscale=0.7)
    low = min(0.0, (found["mean"] - found["se"].fillna(0.0)).min())
    top.set_ylim(1.5 * low - 1e-4, 0.5)
    top.set_yticks([t for t in (-0.01, -0.001, 0.0, 0.001, 0.01, 0.1) if t >= 1.5 * low - 1e-4])
    figure.supxlabel("width $h$ of the perturbation", fontsize=8)
    figure.supylabel("decrease of the AUROC", fontsize=8)
    return figure


def table(records, config):
    """Rows (predictions, training): AUROC as it is, its decrease at every width, and whether it is below 0.001 at h = 2^-6."""
    found = curves(records)
    heading = "decrease of the AUROC: mean ± standard error over classes, tables or seeds"
    widths = sorted(found["h"].unique())
    rows = {}
    for (panel, series, aware), part in found.groupby(["panel", "series", "aware"], sort=False):
        part = part.set_index("h")
        trained = "with the perturbation" if aware else "without"
        row = {"AUROC": f"{part['raw'].iloc[0]:.4f}"}
        row |= {f"h = 2^{np.log2(h):g}": _entry(part, h) for h in widths}
        row["below 0.001 at 2^-6"] = judged(part.loc[CLAIMED, "mean"], part.loc[CLAIMED, "se"]) if CLAIMED in part.index else "–"
        rows[PANELS.get(panel, panel), label(config, "problem", series), trained] = row
    rows = rows or {("–", "–", "–"): {"AUROC": "none: there are no predictions"}}
    order = [*PANELS.values(), "–"]
    index = pd.MultiIndex.from_tuples(rows, names=["predictions", "of", "trained"])
    frame = pd.DataFrame(list(rows.values()), index, dtype=object)
    frame = frame.sort_index(level=0, key=lambda names: names.map(order.index) if names.name == "predictions" else names)
    frame.columns.name = heading
    return frame


def judged(mean, se):
    """Whether a decrease of mean +- se is below 0.001: yes or no beyond two standard errors, else open."""
    if mean + 2 * se < LIMIT:
        return "yes"
    return "no" if mean - 2 * se > LIMIT else "open"


def reproduced(records, config):
    """The paper's three networks are not at hand. Beside its limits stand the means of the nearest predictions that are: CIFAR-10
    for its CIFAR, the networks trained here on spambase for its spam detection."""
    found = curves(records)
    nearest = {
        "CIFAR, ViT": (found["panel"].eq("cifar10"), "other networks on CIFAR-10, one class against the others; none is a ViT"),
        "Spam, BERT": (
            found["panel"].eq("mlp") & found["series"].eq("spambase") & found["aware"],
            "another network and spam data: 57 columns of counts (spambase), trained with the perturbation",
        ),
    }
    rows = []
    for item in config["compare"]:
        for asked in reproduction.reported("ciosek2026", [item]).itertuples():
            name, _, width = asked.row.partition(", h = ")
            chosen, why = nearest.get(name, (None, "no network on IMDB reviews is at hand"))
            mine = found[chosen & found["h"].eq(_width(width))] if chosen is not None else found[:0]
            lost = records[~records["status"].eq("ok")]
            if chosen is not None and not len(mine) and len(lost):
                why = reproduction.why_without(lost.iloc[0])
            value = (mine["mean"].mean(), mine["se"].mean() / np.sqrt(len(mine)), int(mine["members"].sum())) if len(mine) else ()
            rows.append((item, asked.row, asked.column, *(value or (np.nan, np.nan, 0)), why))
    return pd.DataFrame(rows, columns=["item", "row", "column", "value", "error", "reps", "why"])


def _place(base):
    """(panel, series) of a base problem's id; its own panel where it is of no known kind."""
    for pattern, panel, series in KINDS:
        found = pattern.fullmatch(base)
        if found:
            return panel.format(**found.groupdict()), series.format(**found.groupdict())
    return base, base


def _entry(part, h):
    if h not in part.index:
        return "–"
    return f"{part.loc[h, 'mean']:.4f} ± {part.loc[h, 'se']:.4f}"


def _width(text):
    if text != text:
        return np.nan
    base, _, exponent = text.partition("^")
    return float(base) ** float(exponent) if exponent else float(base)
