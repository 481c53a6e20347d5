"""Bias of the kernel estimators at a fixed bandwidth h, for two classes.

As n grows the bias tends to a limit that is not 0, and the distance from that limit falls as c / n.
The limit of an estimate is computed by quadrature (kernel_limit), with the same form and bandwidth.
"""

import json

import numpy as np
import pandas as pd

from harness.common import wording
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.records.schema import has_number

from . import curves, drawing
from .kernel_limit import compute_limits

summary = curves.summary
FORMS = {"direct": "Direct", "risk": "Via risk"}
NAMES = {**curves.SHORT, "refinement_kl": "KL", "refinement_l2_squared": "squared L2"}


def measured(records, settings):
    """Return one row per estimator, estimand and n.

    The columns include mean, se, reps, truth, form and bandwidth. `limit` is the limit of the mean
    for n to infinity, NaN if it is unknown. `rate` is n (mean - limit), with its error `rate_se`.
    """
    numbers = _with_settings(curves.numbers(records, settings, tuple(NAMES)), settings)
    laws = (
        records.drop_duplicates("problem")
        .set_index("problem")["problem_parameters"]
        .map(json.loads)
    )
    limits = [
        _limits(laws[r.problem], r.bandwidth).get((r.form, r.estimand), np.nan)
        for r in numbers.itertuples()
    ]
    numbers = numbers.assign(limit=limits, name=numbers["estimand"].map(NAMES))
    return numbers.assign(
        rate=numbers["n"] * (numbers["mean"] - numbers["limit"]),
        rate_se=numbers["n"] * numbers["se"],
    )


def _limits(law, bandwidth):
    """Return {(form, estimand): limit} for the parameters of a problem, {} if it is unknown."""
    powers = law.get("truth_power"), law.get("prediction_power")
    if None in powers or law["classes"] != 2 or law["alpha"] != 1.0:
        return {}
    return compute_limits(*powers, bandwidth)


def _with_settings(frame, settings):
    """Add form and bandwidth of each estimator, and `of`, the name of the form."""
    nodes = [settings.estimator[name] for name in frame["estimator"]]
    numbers = frame.assign(
        form=[s.get("form", "risk") for s in nodes],
        bandwidth=[float(s["bandwidth"]) for s in nodes],
    )
    return numbers.assign(of=numbers["form"].map(FORMS))


def render(records, settings):
    """Draw the estimates on the left, and n (mean - limit) on the right.

    The right side is constant if the distance from the limit falls as 1 / n. Dotted lines are
    limits, and the dashed line is the true value.
    """
    numbers = measured(records, settings)
    numbers["series"] = items.formatted(numbers, "{of}, $h$ = {bandwidth:g}")
    dashed, widths = (
        {"linestyle": "--", "markerfacecolor": "white"},
        sorted(set(numbers["bandwidth"]), reverse=True),
    )
    names = {
        series: panels.look(widths.index(width), line="-", label=series)
        | (dashed if form == "risk" else {})
        for series, width, form in zip(numbers["series"], numbers["bandwidth"], numbers["form"])
    }
    rates = numbers.assign(panel="rate", mean=numbers["rate"], se=numbers["rate_se"], truth=np.nan)
    columns = ("panel", {"estimate": "estimate", "rate": r"$n$ $\times$ (mean $-$ limit)"})
    drawn, rows = pd.concat([numbers.assign(panel="estimate"), rates]), ("estimand", curves.AXIS)
    more = {"truth": True, "how": {"log": True}, "sharex": True}
    figure, axes = drawing.facets(drawn, rows, columns, "series", names, 4.3, **more)
    for (estimand, panel), ax in axes.items():
        limits = numbers[numbers["estimand"].eq(estimand) & (panel == "estimate")].drop_duplicates(
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
    """Return a table with a row per estimand, form and bandwidth.

    It has the true value, the limit, and n (mean - limit): averaged over n with weights by
    precision, and at the smallest and the largest n. The error of the average is slightly too
    small, because the samples of different n share their first points.
    """
    numbers, rows = measured(records, settings), {}
    numbers = numbers[numbers["estimand"].isin(curves.SHORT)].sort_values("n")
    for (_, form, bandwidth), part in numbers.groupby(["estimand", "form", "bandwidth"]):
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
    """Return our numbers in rows 'h = <bandwidth>, n = <n>'.

    The columns are '<form>, <estimand>', and 'Refinement, <estimand>' for the direct form.
    """
    numbers, row = measured(records, settings), "h = {bandwidth:g}, n = {n}"
    refined = numbers["estimand"].str.startswith("refinement")
    numbers = numbers.assign(of=numbers["of"].mask(refined, "Refinement"))[
        ~refined | numbers["form"].eq("direct")
    ]
    lost = _with_settings(records[~has_number(records)], settings)
    columns = [f"{{of}}, {name}" for name in curves.SHORT.values()]
    ours = items.together(
        items.numbers(numbers, row, "{of}, {name}"),
        items.without_number(lost, settings, row, columns),
    )
    return items.answers(ours, settings)
