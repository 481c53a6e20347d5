"""The bias of the kernel estimators at a fixed bandwidth h (two classes): c / n towards a limit that is not the true value.

The limits are estimators as well (harness.estimators.KernelLimit), of the same form and bandwidth as the one whose limit each is.
"""

import numpy as np
import pandas as pd

from harness.common import wording
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.records.schema import has_number

from . import curves, drawing

summary = curves.summary
FORMS = {"direct": "Direct", "risk": "Via risk"}
NAMES = {**curves.SHORT, "refinement_kl": "KL", "refinement_l2_squared": "squared L2"}
LIMIT = "limit_"  # how the ids of the limits begin


def measured(records, settings):
    """One row per estimator, estimand and n: mean, se, reps, truth, form, bandwidth, limit, n (mean - limit) and its error."""
    found = _with_settings(curves.numbers(records, settings, tuple(NAMES)), settings)
    by, of_limit = (
        ["problem", "form", "bandwidth", "estimand"],
        found["estimator"].str.startswith(LIMIT),
    )
    limit = found[of_limit].drop_duplicates(by).set_index(by)["mean"].rename("limit")
    found = found[~of_limit].join(limit, on=by).assign(name=lambda f: f["estimand"].map(NAMES))
    return found.assign(
        rate=found["n"] * (found["mean"] - found["limit"]), rate_se=found["n"] * found["se"]
    )


def _with_settings(frame, settings):
    """The frame with the form and the bandwidth of its estimators, and the form's name, `of`."""
    nodes = [settings.estimator[name] for name in frame["estimator"]]
    found = frame.assign(
        form=[s.get("form", "risk") for s in nodes],
        bandwidth=[float(s["bandwidth"]) for s in nodes],
    )
    return found.assign(of=found["form"].map(FORMS))


def render(records, settings):
    """Left: the estimates, dotted their limits, dashed the true value. Right: n (mean - limit), constant if the law holds."""
    found = measured(records, settings)
    found["series"] = items.formatted(found, "{of}, $h$ = {bandwidth:g}")
    dashed, widths = (
        {"linestyle": "--", "markerfacecolor": "white"},
        sorted(set(found["bandwidth"]), reverse=True),
    )
    names = {
        series: panels.look(widths.index(width), line="-", label=series)
        | (dashed if form == "risk" else {})
        for series, width, form in zip(found["series"], found["bandwidth"], found["form"])
    }
    rates = found.assign(panel="rate", mean=found["rate"], se=found["rate_se"], truth=np.nan)
    columns = ("panel", {"estimate": "estimate", "rate": r"$n$ $\times$ (mean $-$ limit)"})
    drawn, rows = pd.concat([found.assign(panel="estimate"), rates]), ("estimand", curves.AXIS)
    more = {"truth": True, "how": {"log": True}, "sharex": True}
    figure, axes = drawing.facets(drawn, rows, columns, "series", names, 4.3, **more)
    for (estimand, panel), ax in axes.items():
        limits = found[found["estimand"].eq(estimand) & (panel == "estimate")].drop_duplicates(
            "series"
        )
        for limit, series in zip(limits["limit"], limits["series"]):
            panels.rule(ax, limit, color=names[series]["color"], linestyle=":", linewidth=0.9)
        if panel == "estimate":
            ax.set_ylim(bottom=0.0)
        else:
            panels.rule(ax, 0.0, linestyle="-", linewidth=0.8)
    panels.legend(figure, axes["kl", "estimate"])
    return figure


def table(records, settings):
    """By estimand, form and bandwidth: true value, limit, n (mean - limit), its mean over n weighted by precision (whose error is
    a little small: samples of different n share their beginnings), and at the smallest and the largest n."""
    found, rows = measured(records, settings), {}
    found = found[found["estimand"].isin(curves.SHORT)].sort_values("n")
    for (_, form, bandwidth), part in found.groupby(["estimand", "form", "bandwidth"]):
        weight, first = 1 / part["rate_se"] ** 2, part.iloc[0]
        ends = [
            f"{wording.format_fixed(r.rate, r.rate_se, 1)} (n = {r.n})"
            for r in part.iloc[[0, -1]].itertuples()
        ]
        rows[first["name"], FORMS[form], f"{bandwidth:g}"] = {
            "true value": wording.format_fixed(first["truth"]),
            "limit at h": wording.format_fixed(first["limit"]),
            "n (mean - limit)": wording.format_fixed(
                (part["rate"] * weight).sum() / weight.sum(), weight.sum() ** -0.5, 2
            ),
        } | dict(zip(("at the smallest n", "at the largest n"), ends))
    heading = "kl and squared L2 (two columns): limit for n to infinity and the 1 / n law"
    return text_tables.wide(rows, ["estimand", "form", "h"], heading)


def reproduced(records, settings):
    """Rows 'h = <bandwidth>, n = <n>', columns '<form>, <estimand>', and 'Refinement, <estimand>', of the direct estimator."""
    found, of_it = measured(records, settings), "h = {bandwidth:g}, n = {n}"
    refined = found["estimand"].str.startswith("refinement")
    found = found.assign(of=found["of"].mask(refined, "Refinement"))[
        ~refined | found["form"].eq("direct")
    ]
    lost = _with_settings(records[~has_number(records)], settings)
    columns = [f"{{of}}, {name}" for name in curves.SHORT.values()]
    ours = items.together(
        items.numbers(found, of_it, "{of}, {name}"),
        items.without_number(lost, settings, of_it, columns),
    )
    return items.answers(ours, settings)
