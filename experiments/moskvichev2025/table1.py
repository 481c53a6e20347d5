"""Table 1: accuracy, cross entropy, CKCE, JKCE and ECE of networks on all test images.

Values are in the scale of the paper's table: CKCE times 10 and JKCE times 100. One experiment has
the models of the paper. Others have other networks (`settings.reasons["data"]` is set); there the
paper's rows stand beside ours and are not compared with them.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.figures import panels
from harness.records.schema import has_number

from . import metrics

SCALES = {"accuracy": 1.0, "cross entropy": 1.0, "CKCE": 10.0, "JKCE": 100.0, "ECE": 1.0}
PAPER_SUFFIX = " (paper)"
NO_OUTPUTS = "Where a row has no full mark, the outputs of its network are not at hand."


def scale(column: str) -> float:
    """Return the factor by which the paper's table multiplies a column."""
    return SCALES[column.split(",")[0]]  # 'JKCE, gamma 0.6' has that of JKCE


def measured(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our values on all rows of each file, in the scale of the table.

    A file of published confidences tells the accuracy alone.
    """
    numbers = metrics.values(records, settings)
    numbers = numbers[numbers["notion"].eq("canonical") | numbers["estimator"].eq("accuracy")]
    numbers = numbers[numbers["n"].eq(numbers.groupby("problem")["n"].transform("max"))]
    numbers = numbers.assign(
        value=numbers["value"] * [scale(column) for column in numbers["column"]]
    )
    return numbers.drop_duplicates(["model", "column"], keep="last")


def numbers_and_models(
    records: pd.DataFrame, settings: Settings
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return our values, the paper's values, and the models in the order of the rows.

    If our networks differ from the paper's, our rows come first. The paper's rows on CIFAR-10
    follow, with PAPER_SUFFIX after the name of the model.
    """
    numbers = measured(records, settings)
    printed = items.printed(settings, "table1").rename(columns={"row": "model"})
    models = list(dict.fromkeys(printed["model"]))
    if not settings.reasons.get("data"):
        return numbers, printed, models
    renamed = {name: name + PAPER_SUFFIX for name in models if name.startswith("CIFAR-10,")}
    printed = printed[printed["model"].isin(renamed)].assign(
        model=lambda frame: frame["model"].map(renamed)
    )
    ours = dict.fromkeys(settings.labels.problem.values())
    return numbers, printed, [*ours, *renamed.values()]


def pair_values(numbers: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Pair each printed value with ours; `differs` is True if ours rounds to another number."""
    pairs = printed.merge(
        numbers[["model", "column", "value"]], on=["model", "column"], suffixes=("", "_ours")
    )
    return pairs.assign(
        differs=(pairs["value"] - pairs["value_ours"]).abs().gt(pairs["precision"] / 2 + 1e-9)
    )


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one panel per column of the table, with full marks for ours and open ones for the paper.

    If ours does not round to the printed number, both numbers are written next to the mark.
    """
    numbers, printed, models = numbers_and_models(records, settings)
    pairs = pair_values(numbers, printed)
    other = bool(settings.reasons.get("data"))
    texts = {
        "paper": "the paper's networks, as printed" if other else "printed in the paper",
        "ours": "other networks, computed here" if other else "computed here, equal to the digits",
        "differs": "computed here, differs",
    }
    figure, (axes,) = panels.grid(1, len(SCALES), 0.75 + 0.2 * len(models), sharey=True)
    paper = panels.look(3, filled=False, color="0.4", markersize=5, label=texts["paper"])
    for ax, (column, factor) in zip(axes, SCALES.items()):
        for frame, style in ((printed, paper), (numbers, panels.look(0, label=texts["ours"]))):
            panels.named_marks(
                ax, frame[frame["column"].eq(column)], "model", models, "value", None, **style
            )
        apart = pairs[pairs["column"].eq(column) & pairs["differs"]]
        ours = {**panels.look(1, label=texts["differs"]), "zorder": 4}
        panels.named_marks(ax, apart, "model", models, "value_ours", None, **ours)
        for r in apart.itertuples():
            where = {
                "xytext": (7, 0),
                "textcoords": "offset points",
                "va": "center",
                "fontsize": 6.5,
                "color": ours["color"],
            }
            ax.annotate(
                f"{r.value_ours:.3f}, not {r.value:.3f}",
                (max(r.value, r.value_ours), models.index(r.model)),
                **where,
            )
        ax.margins(x=0.12)
        ax.set_title(column + (rf" $\times$ {factor:g}" if factor != 1 else ""))
    panels.name_rows(axes[0], models, 0.6, 0.6)
    note = {} if other else {"title": NO_OUTPUTS, "title_fontsize": 7}
    panels.legend(figure, axes, 3, **note)
    return figure


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per model: the paper's number / ours.

    If our networks differ from the paper's, a row has one of both numbers.
    """
    numbers, printed, models = numbers_and_models(records, settings)
    ours, theirs = (frame.set_index(["model", "column"])["value"] for frame in (numbers, printed))
    alike = not settings.reasons.get("data")
    rows = {model: {} for model in models}
    for column in dict.fromkeys([*SCALES, *items.labels(settings, "estimator")]):
        name = column + (f" x {scale(column):g}" if scale(column) != 1 else "")
        for model in models:
            mine = wording.format_fixed(ours.get((model, column), np.nan)).replace(
                "-0.0000", "0.0000"
            )
            reported = wording.format_fixed(theirs.get((model, column), np.nan), digits=3)
            if alike:
                rows[model][name] = f"{reported} / {mine}"
            else:
                rows[model][name] = reported if model in set(printed["model"]) else mine
    return text_tables.wide(
        rows, ["model"], "paper / ours" if alike else "on all rows; the last rows are the paper's"
    )


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our values for the 35 printed numbers, or the reason why a model has none.

    The reasons are those of the records, `settings.reasons["imagenet"]` for networks on ImageNet,
    or `settings.reasons["data"]` if our networks differ from the paper's.
    """
    ours = items.exact(measured(records, settings), "{model}", "{column}")
    lost = records[
        ~records["problem"].isin(records.loc[has_number(records), "problem"])
    ].drop_duplicates("problem")
    whys = {label(settings, "problem", r.problem): r.reason for r in lost.itertuples()}
    data, imagenet = (settings.reasons.get(name) for name in ("data", "imagenet"))
    answered = [
        row
        for row in items.printed(settings, "table1")["row"]
        if data or (imagenet and row.startswith("ImageNet"))
    ]
    return metrics.answers(
        [ours], records, settings, whys | dict.fromkeys(answered, data or imagenet)
    )
