"""LeNet-5's rows of Tables 1 and 5, by networks that were trained again on CIFAR-10.

`calharness data make cifar10_lenet5` trains them; NOTES.md has the recipe, written before the first
number. A printed number is judged by the prediction interval of the seeds. The verdict is "no test"
if the interval is wider than the spread of the paper's estimators in the same row.
"""

import pandas as pd

from harness.common import wording
from harness.evaluation import items, seeds, text_tables
from harness.figures import panels
from harness.figures import seeds as drawing

from . import tuned
from .risk_table import ERROR, RISK

NETWORK = "LeNet-5"
OTHERS = "only LeNet-5 was trained again"
PANELS = {"": "root risk × 100", ERROR: "standard error of it over the folds"}


def by_seed(records, settings):
    """Return root risks and their standard errors: `name`, `panel`, row, column, value, keys."""
    numbers = tuned.measured(records, settings)
    parts = [
        numbers.assign(
            name=numbers["base"], panel=end, row=NETWORK, column=numbers["base"] + end,
            value=numbers[value],
        )
        for end, value in zip(PANELS, RISK)
    ]  # fmt: skip
    columns = ["problem", "name", "panel", "row", "column", "value", "keys"]
    return pd.concat(parts, ignore_index=True)[columns]


def summary(records, settings):
    """Return the numbers of all seeds, and the mean with its interval in a row without problem."""
    frame = by_seed(records, settings)
    return pd.concat([frame, over_seeds(frame)], ignore_index=True).drop(columns=["keys", "name"])


def over_seeds(frame):
    return seeds.intervals(frame, ["name", "panel", *seeds.PLACE])


def printed(settings):
    """Return the printed numbers of LeNet-5, with `panel` and `name` (the estimator)."""
    numbers = items.printed(settings)
    numbers = numbers[numbers["row"].eq(NETWORK)]
    is_error = numbers["column"].str.endswith(ERROR)
    return numbers.assign(
        panel=is_error.map({True: ERROR, False: ""}),
        name=numbers["column"].str.removesuffix(ERROR),
    )


def widths(settings):
    """Return (row, column) -> spread of the paper's estimators in this row and panel."""
    numbers = printed(settings)
    spread = numbers.groupby("panel")["value"].agg(lambda values: values.max() - values.min())
    return lambda row, column: spread[ERROR if column.endswith(ERROR) else ""]


def render(records, settings):
    """Draw root risk and standard error of each estimator: seeds, interval, printed number."""
    frame = by_seed(records, settings)
    if not len(frame):
        return panels.nothing(items.first_reason(records))
    names = [base for base in tuned.BASES if base in set(frame["name"])]
    return drawing.draw(PANELS, names, frame, over_seeds(frame), printed(settings))


def table(records, settings):
    """Return a table with a row per estimator: printed number, interval, and all seeds."""
    frame, widest = by_seed(records, settings), widths(settings)
    rows = {(r.column,): {"paper": f"{r.value:.2f}"} for r in printed(settings).itertuples()}
    for r in over_seeds(frame).itertuples():
        rows.setdefault((r.column,), {}).update(seeds.interval_texts(r, widest(r.row, r.column), 2))
    for r in frame.itertuples():
        rows[(r.column,)][r.problem] = wording.format_fixed(r.value, digits=2)
    return text_tables.wide(rows, ["estimator"], "root risk x 100 of LeNet-5, trained again")


def reproduced(records, settings):
    """Return our numbers for LeNet-5, to be judged by the spread of the seeds."""
    lost = items.first_reason(records)

    def otherwise(row, column):
        return lost if row == NETWORK else OTHERS

    return seeds.answers(
        over_seeds(by_seed(records, settings)), widths(settings), settings, otherwise
    )
