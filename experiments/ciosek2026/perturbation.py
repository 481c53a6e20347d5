"""What the perturbation costs in AUROC, against its width h: the paper's table of three networks, on other predictions.

decrease = AUROC of the scores as they are, less that of the perturbed scores of the same rows, mean over the perturbation's
draws. Of networks that were trained with the perturbation: less their AUROC, perturbed, so that what training changes is counted
too."""

import re

import numpy as np
import pandas as pd

from harness.report import items, panels
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
NEAREST = {  # row of the paper's table: (panel, series), and why ours is of something else
    "CIFAR, ViT": (("cifar10", None), "other networks on CIFAR-10, one class against the others; none is a ViT"),
    "Spam, BERT": (
        ("mlp", "spambase"),
        "another network and spam data: 57 columns of counts (spambase), trained with the perturbation",
    ),
}


def decreases(records):
    """One row per base problem, width and training: panel, series, h, aware, raw (AUROC of the scores as they are), decrease,
    draws and its standard error over them."""
    fine = items.with_number(records, "auroc")
    names = fine["problem"].str.extract(f"^{NAME.pattern}$")
    h = np.array([_width(text) for text in names["width"]], dtype=float)
    fine = fine.assign(base=names["base"], aware=names["aware"].notna(), h=h, value=fine["value"].astype(float))
    raw = fine[fine["h"].isna()].groupby("base")["value"].mean()
    moved = fine[fine["h"].notna() & fine["base"].isin(raw.index)]
    table = items.means(moved, ["base", "aware", "h"]).rename(columns={"reps": "draws", "se": "error"})
    table["raw"] = table["base"].map(raw).astype(float)
    where = [_place(base) for base in table["base"]]
    table = table.assign(panel=[panel for panel, _ in where], series=[series for _, series in where])
    return table.assign(decrease=table["raw"] - table["mean"])


def curves(records):
    """Mean over the members of a series (classes, tables or seeds) and its standard error over them (over the draws for one)."""
    found, by = decreases(records), ["panel", "series", "aware", "h"]
    table = items.means(found, by, "decrease").rename(columns={"reps": "members"})
    rest = found.groupby(by, sort=False)[["raw", "error"]].mean().reset_index(drop=True)
    table = table.assign(raw=rest["raw"], se=np.where(table["members"] > 1, table["se"], rest["error"]))
    return table.sort_values("h", kind="stable")


def render(records, config):
    """One panel per kind of predictions; solid: trained with the perturbation, dashed: perturbed afterwards. Below 0.001 the axis
    is linear."""
    found = curves(records)
    drawn = [name for name in PANELS if found["panel"].eq(name).any()]
    if not drawn:
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    height = 2.55 * -(-len(drawn) // 2) - 0.6
    figure, axes = panels.panels(len(drawn), 2, height / -(-len(drawn) // 2), None, sharex=True, sharey=True)
    for panel, ax in zip(drawn, axes):
        mine = found[found["panel"].eq(panel)]
        for i, series in enumerate(sorted(mine["series"].unique())):
            for aware in (False, True):
                full = aware or not mine["aware"].any()
                look = panels.look(i, full, "-" if full else (0, (3, 2)), markeredgewidth=0.7)
                text = label(config, "problem", series) if full else None
                panels.curve(ax, mine[mine["series"].eq(series) & mine["aware"].eq(aware)], "h", label=text, **look)
        ax.axhspan(-1.0, LIMIT, color="0.5", alpha=0.12, linewidth=0)
        for width in (CLAIMED, NOTABLE):
            ax.axvline(width, color="0.4", linewidth=0.7, linestyle=":")
        ax.set_title(PANELS[panel])
        ax.legend(loc="upper left", fontsize=6.5, handlelength=2.2)
    widths, low = sorted(found["h"].unique()), min(0.0, (found["mean"] - found["se"].fillna(0.0)).min())
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks(widths, [f"$2^{{{np.log2(h):g}}}$" for h in widths])
    axes[0].set_yscale("symlog", linthresh=LIMIT, linscale=0.7)
    axes[0].set_ylim(1.5 * low - 1e-4, 0.5)
    axes[0].set_yticks([t for t in (-0.01, -0.001, 0.0, 0.001, 0.01, 0.1) if t >= 1.5 * low - 1e-4])
    figure.supxlabel("width $h$ of the perturbation", fontsize=8)
    figure.supylabel("decrease of the AUROC", fontsize=8)
    return figure


def table(records, config):
    """Rows (predictions, training): AUROC as it is, its decrease at every width, and whether it is below 0.001 at h = 2^-6."""
    found, rows = curves(records), {}
    for (panel, series, aware), part in found.groupby(["panel", "series", "aware"], sort=False):
        claim = part[part["h"].eq(CLAIMED)]
        row = {"AUROC": f"{part['raw'].iloc[0]:.4f}"} | {
            f"h = 2^{np.log2(r.h):g}": f"{r.mean:.4f} ± {r.se:.4f}" for r in part.itertuples()
        }
        row["below 0.001 at 2^-6"] = judged(claim["mean"].iloc[0], claim["se"].iloc[0]) if len(claim) else "–"
        trained = "with the perturbation" if aware else "without"
        rows[PANELS.get(panel, panel), label(config, "problem", series), trained] = row
    rows = rows or {("–", "–", "–"): {"AUROC": "none: there are no predictions"}}
    order, widths = [*PANELS.values(), "–"], [f"h = 2^{np.log2(h):g}" for h in sorted(found["h"].unique())]
    heading = "decrease of the AUROC: mean ± standard error over classes, tables or seeds"
    frame = items.wide(rows, ["predictions", "of", "trained"], heading, ["AUROC", *widths])
    return frame.sort_index(level=0, key=lambda names: names.map(order.index) if names.name == "predictions" else names)


def judged(mean, se):
    """Whether a decrease of mean +- se is below 0.001: yes or no beyond two standard errors, else open."""
    if mean + 2 * se < LIMIT:
        return "yes"
    return "no" if mean - 2 * se > LIMIT else "open"


def reproduced(records, config):
    """The paper's three networks are not at hand. Beside its limits stand the means of the nearest predictions that are: CIFAR-10
    for its CIFAR, the networks trained here on spambase for its spam detection."""
    found, rows = curves(records), []
    for asked in items.printed(config).itertuples():
        name, _, width = asked.row.partition(", h = ")
        (panel, series), why = NEAREST.get(name, ((None, None), "no network on IMDB reviews is at hand"))
        mine = found[found["panel"].eq(panel) & found["h"].eq(_width(width))]
        mine = mine[mine["series"].eq(series) & mine["aware"]] if series else mine
        if panel and not len(mine):
            why = items.first_reason(records) or why
        mean = mine["mean"].mean(), mine["se"].mean() / np.sqrt(len(mine) or np.nan), mine["members"].sum()
        keys = tuple(key for keys in mine.get("keys", ()) for key in keys)
        rows.append((asked.item, asked.row, asked.column, *mean, why, keys))
    return pd.DataFrame(rows, columns=items.ANSWER)


def _place(base):
    """(panel, series) of a base problem's id; its own panel where it is of no known kind."""
    for pattern, panel, series in KINDS:
        found = pattern.fullmatch(base)
        if found:
            return panel.format(**found.groupdict()), series.format(**found.groupdict())
    return base, base


def _width(text):
    if text != text:
        return np.nan
    base, _, exponent = text.partition("^")
    return float(base) ** float(exponent) if exponent else float(base)
