"""LeNet's row of Table 1, by networks that were trained again on CIFAR-10.

`calharness data make cifar10_lenet5` trains them; the NOTES.md of gruber2025 has the recipe. A
printed number is judged by the prediction interval of the seeds. The verdict is "no test" if the
interval is wider than the spread of the paper's three networks on CIFAR-10 in the same column.
"""

import pandas as pd

from harness.common import wording
from harness.evaluation import items, seeds, text_tables
from harness.figures import panels
from harness.figures import seeds as drawing

from . import table1

ROW = "CIFAR-10, LeNet"
ROWS = (ROW, "CIFAR-10, DenseNet", "CIFAR-10, ResNet")  # all but the marginal model
OTHERS = "only LeNet was trained again"


def by_seed(records, settings):
    """Return the values in the scale of the table: problem, name, panel, row, column, value."""
    numbers = table1.measured(records, settings)
    numbers = numbers.assign(row=ROW, name=ROW, panel=numbers["column"])
    return numbers[["problem", "name", "panel", "row", "column", "value", "key"]]


def over_seeds(frame):
    return seeds.intervals(frame, ["name", "panel", *seeds.PLACE])


def summary(records, settings):
    """Return the numbers of all seeds, and the mean with its interval in a row without problem."""
    frame = by_seed(records, settings)
    both = pd.concat([frame, over_seeds(frame)], ignore_index=True)
    return both.drop(columns=["key", "keys", "name", "panel"])


def printed(settings):
    """Return the printed numbers of the three networks, with `panel` and `name`."""
    numbers = items.printed(settings)
    numbers = numbers[numbers["row"].isin(ROWS)]
    return numbers.assign(panel=numbers["column"], name=numbers["row"])


def widths(settings):
    """Return (row, column) -> spread of the paper's networks on CIFAR-10 in this column."""
    columns = printed(settings).groupby("column")["value"]
    spread = columns.agg(lambda values: values.max() - values.min())
    return lambda row, column: spread[column]


def render(records, settings):
    """Draw a panel per metric: seeds, their interval, and the printed numbers of three networks."""
    frame = by_seed(records, settings)
    if not len(frame):
        return panels.nothing(items.first_reason(records))
    titles = {
        column: column + (rf" $\times$ {factor:g}" if factor != 1 else "")
        for column, factor in table1.SCALES.items()
    }
    return drawing.draw(titles, ROWS, frame, over_seeds(frame), printed(settings))


def table(records, settings):
    """Return a table with a row per metric: printed number, interval, and all seeds."""
    frame, widest = by_seed(records, settings), widths(settings)
    theirs = printed(settings)
    theirs = theirs[theirs["row"].eq(ROW)].set_index("column")["value"]
    rows = {}
    for r in over_seeds(frame).itertuples():
        rows[(r.column,)] = {
            "paper": f"{theirs[r.column]:.3f}",
            **seeds.interval_texts(r, widest(r.row, r.column), 3),
        }
    for r in frame.itertuples():
        rows[(r.column,)][r.problem] = wording.format_fixed(r.value, digits=4)
    return text_tables.wide(rows, ["metric"], "LeNet-5 trained again, in the scale of Table 1")


def reproduced(records, settings):
    """Return our numbers for LeNet, to be judged by the spread of the seeds."""
    lost = items.first_reason(records)

    def otherwise(row, column):
        return lost if row == ROW else OTHERS

    return seeds.answers(
        over_seeds(by_seed(records, settings)), widths(settings), settings, otherwise
    )
