"""What the perturbation costs in AUROC, against its width h: the paper's table of three networks, on other predictions.

decrease = AUROC of the scores as they are, less that of the perturbed scores of the same rows, mean over the perturbation's
draws. For networks trained with the perturbation it is less their own perturbed AUROC: what training changes counts too."""

import re

import numpy as np
import pandas as pd

from harness.math.sech_noise import width_of
from harness.problems.perturbations import parts_of_id
from harness.report import items, panels, rates
from harness.report.shown import label

LIMIT = 0.001  # "< 0.001" at h = 2^-6
CLAIMED, NOTABLE = 2.0**-6, 2.0**-4
KINDS = (  # how a base's id is read; the panel of the third is `tabular`
    r"perturbed_networks/(?P<series>\w+)_(?P<panel>logistic|mlp)_seed\d+",
    r"(?P<panel>cifar10)_one_vs_rest/(?P<series>.+)/class\d+",
    r"\w+/\d+/(?P<series>[^_]+)_.*",
)
PANELS = {
    "cifar10": "CIFAR-10, class against the others", "tabular": "tables, out-of-fold predictions",
    "logistic": "logistic regressions trained here", "mlp": "networks trained here",
}  # fmt: skip
NEAREST = {"CIFAR, ViT": "panel == 'cifar10'", "Spam, BERT": "panel == 'mlp' and series == 'spambase' and aware"}


def curves(records):
    """By panel, series, training and h: mean decrease over the members of a series (classes, tables or seeds), its error over
    them (over the draws for one), and `raw`, the AUROC of the scores as they are."""
    fine = items.with_number(records, "auroc")
    named = pd.DataFrame(map(parts_of_id, fine["problem"]), fine.index, ["base", "aware", "h"])
    fine = fine.join(named.astype({"h": float, "aware": bool})).astype({"value": float})
    raw = items.means(fine[fine["h"].isna()], ["base"]).set_index("base").add_prefix("raw_")
    found = items.means(fine[fine["h"].notna()], ["base", "aware", "h"]).join(raw, on="base", how="inner")
    if "keys" in found:
        found["keys"] = found["keys"] + found["raw_keys"]
    places = pd.DataFrame([_place(base) for base in found["base"]], found.index, ["panel", "series"])
    found = found.join(places).assign(decrease=found["raw_mean"] - found["mean"])
    by = ["panel", "series", "aware", "h"]
    table = items.means(found, by, "decrease").rename(columns={"reps": "members"})
    rest = found.groupby(by, sort=False)[["raw_mean", "se"]].mean().reset_index(drop=True)
    table = table.assign(raw=rest["raw_mean"], se=np.where(table["members"] > 1, table["se"], rest["se"]))
    return table.sort_values("h", kind="stable")


def render(records, config):
    """One panel per kind of predictions; solid: trained with the perturbation, dashed: perturbed afterwards. Below 0.001 the axis
    is linear."""
    found = curves(records)
    drawn = [name for name in PANELS if found["panel"].eq(name).any()]
    if not drawn:
        return panels.nothing("there are no predictions to draw; the page says how to get them")
    figure, axes = panels.panels(len(drawn), 2, 2.55 - 0.6 / -(-len(drawn) // 2), None, sharex=True, sharey=True)
    for panel, ax in zip(drawn, axes):
        mine = found[found["panel"].eq(panel)]
        numbers = {series: i for i, series in enumerate(sorted(mine["series"].unique()))}
        for (series, aware), part in mine.groupby(["series", "aware"]):
            full = aware or not mine["aware"].any()
            look = panels.look(numbers[series], full, "-" if full else (0, (3, 2)), markeredgewidth=0.7)
            panels.curve(ax, part, "h", label=label(config, "problem", series) if full else None, **look)
        ax.axhspan(-1.0, LIMIT, color="0.5", alpha=0.12, linewidth=0)
        for width in (CLAIMED, NOTABLE):
            ax.axvline(width, color="0.4", linewidth=0.7, linestyle=":")
        ax.set_title(PANELS[panel])
        ax.legend(loc="upper left", fontsize=6.5, handlelength=2.2)
    widths = sorted(found["h"].unique())
    bottom = 1.5 * min(0.0, (found["mean"] - found["se"].fillna(0.0)).min()) - 1e-4
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks(widths, [f"$2^{{{np.log2(h):g}}}$" for h in widths])
    axes[0].set_yscale("symlog", linthresh=LIMIT, linscale=0.7)
    axes[0].set(ylim=(bottom, 0.5), yticks=[t for t in (-0.01, -0.001, 0.0, 0.001, 0.01, 0.1) if t >= bottom])
    figure.supxlabel("width $h$ of the perturbation", fontsize=8)
    figure.supylabel("decrease of the AUROC", fontsize=8)
    return figure


def table(records, config):
    """Rows (predictions, training): AUROC as it is, its decrease at every width, and whether it is below 0.001 at h = 2^-6."""
    found, rows = curves(records), {}
    for (panel, series, aware), part in found.groupby(["panel", "series", "aware"], sort=False):
        key = (PANELS.get(panel, panel), label(config, "problem", series), "with the perturbation" if aware else "without")
        rows[key] = {"AUROC": f"{part['raw'].iloc[0]:.4f}", "below 0.001 at 2^-6": "–"}
        for r in part.itertuples():
            rows[key][f"h = 2^{np.log2(r.h):g}"] = f"{r.mean:.4f} ± {r.se:.4f}"
            if r.h == CLAIMED:
                rows[key]["below 0.001 at 2^-6"] = rates.below(r.mean, r.se, LIMIT)
    order, widths = [*PANELS.values()], [f"h = 2^{np.log2(h):g}" for h in sorted(found["h"].unique())]
    rows = {key: rows[key] for key in sorted(rows, key=lambda key: (order.index(key[0]), key))}
    rows = rows or {("–", "–", "–"): {"AUROC": "none: there are no predictions"}}
    heading = "decrease of the AUROC: mean ± standard error over classes, tables or seeds"
    return items.wide(rows, ["predictions", "of", "trained"], heading, ["AUROC", *widths])


def reproduced(records, config):
    """The means of the nearest predictions at hand beside the limits of the paper's networks, which are not."""
    found, rows = curves(records), []
    for asked in items.printed(config).itertuples():
        name, _, width = asked.row.partition(", h = ")
        mine = found.query(NEAREST.get(name, "panel == ''"))
        mine = mine[mine["h"].eq(width_of(width))]
        none = items.first_reason(records) if name in NEAREST and not len(mine) else None
        mean = mine["mean"].mean(), mine["se"].mean() / np.sqrt(len(mine) or np.nan), mine["members"].sum()
        keys = tuple(key for keys in mine.get("keys", ()) for key in keys)
        rows.append((asked.item, asked.row, asked.column, *mean, none or config["reasons"][name], keys))
    return pd.DataFrame(rows, columns=items.ANSWER)


def _place(base):
    """The panel and the series of a base problem's id; its own where it is of no known kind."""
    found = [read.groupdict() for kind in KINDS if (read := re.fullmatch(kind, base))]
    return {"panel": "tabular", **found[0]} if found else {"panel": base, "series": base}
