"""Table 4's DenseNet-161 on random halves of 50,000 rows of the same network.

The paper has 25,000 of the 50,000 rows, and does not say which. A number on one random half varies
around the mean over many random halves. The standard deviation of this variation is the error of
our mean when it is compared with the paper's number.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from .risk_table import ERROR
from .tuned import BASES, PAPER, PUBLISHED, STYLES, summary

__all__ = ["render", "reproduced", "summary", "table"]
COLUMNS = {"": "root_risk", ERROR: "root_risk_se"}


def over_halves(records, settings, number):
    """Return mean, sd and reps over the halves, by network and estimator.

    `number` is the diagnostic to average; the result is x 100.
    """
    rows = items.with_diagnostics(items.values(records, settings, ["rms"]), number)
    rows = rows.astype({number: float})
    rows[number] *= 100.0
    return items.means(rows, ["model", "column"], number)


def render(records, settings):
    """Draw the paper's root risks and ours, a row per estimator.

    The paper's bars are standard errors over the folds, ours are standard deviations over the
    halves.
    """
    figure, ((ax,),) = panels.grid(1, 1, 2.4)
    theirs = items.printed(settings).rename(columns={"value": "mean", "plus_minus": "se"})
    theirs = theirs[theirs["row"].isin(items.labels(settings, "problem"))]
    ours = over_halves(records, settings, "root_risk").assign(se=lambda frame: frame["sd"])
    for kind, frame in ((PAPER, theirs), (PUBLISHED, ours)):
        panels.named_marks(ax, frame, "column", BASES, **STYLES[kind])
    panels.name_rows(ax, BASES)
    ax.set_xlabel(
        "root of the cross-validated risk × 100 "
        "(bars: paper, standard error over folds; ours, standard deviation over halves)"
    )
    panels.legend(figure, ax)
    return figure


def table(records, settings):
    """Return a table with a row per estimator: the paper's root risk, and ours over the halves.

    All numbers are x 100. The last column has our standard error over the folds.
    """
    theirs = items.printed(settings).rename(columns={"value": "mean", "plus_minus": "se"})
    theirs = theirs[theirs["column"].isin(BASES)]
    theirs = theirs[theirs["row"].isin(items.labels(settings, "problem"))]
    rows = text_tables.entries(theirs, ["{column}"], PAPER, digits=2)
    for number, name in (("root_risk", "ours"), ("root_risk_se", "our error over folds")):
        frame = over_halves(records, settings, number)
        text_tables.entries(frame, ["{column}"], name, error="sd", digits=3, into=rows)
    heading = "root risk x 100; ours: mean ± standard deviation over random halves"
    return text_tables.wide(rows, ["estimator"], heading)


def reproduced(records, settings):
    """Return our means over the halves; their error is the standard deviation of one half."""
    return items.answers(
        items.together(
            *(
                items.numbers(
                    over_halves(records, settings, number),
                    "{model}",
                    "{column}" + end,
                    error="sd",
                )
                for end, number in COLUMNS.items()
            )
        ),
        settings,
    )
