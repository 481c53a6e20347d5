"""Claims on the paper's own numbers: Tables 2, 3 and 5 as printed, and the notebook of Figure 3."""

import numpy as np

from harness.evaluation import claims, reproduction
from harness.evaluation.claims import PAPER

from . import comparisons, table5

PAPER_ID = "popordanoska2024"


def claims_on_printed_tables(records, settings):
    """Test the claims on Tables 2, 3 and 5 as printed.

    The error of a difference of two printed numbers has both printed errors and the rounding.
    """
    printed = (
        reproduction.reported(PAPER_ID, ["table2"]).set_index(["row", "column"])["value"].unstack()
    )
    wide = {
        method: printed[printed.index.str.endswith(f", {method}")]
        for method in ("none", "isotonic", "temperature")
    }
    wide = {
        method: frame.rename(index=lambda row: row.rsplit(", ", 1)[0])
        for method, frame in wide.items()
    }
    iso, temperature, none = (wide[method] for method in ("isotonic", "temperature", "none"))
    hundred = none.index.str.startswith("CIFAR-100")
    three = (
        reproduction.reported(PAPER_ID, ["table3"])
        .set_index(["row", "column"])["value"]
        .unstack()
        .sort_index()
    )
    before, after = (
        three[three.index.str.endswith(f", {method}")].reset_index(drop=True)
        for method in ("none", "isotonic")
    )
    lost = before["Accuracy"] - after["Accuracy"]
    squares = printed_error(before, after, "Accuracy") ** 2
    five = table5.printed(settings)
    alike = comparisons.rank_agreement(five, "network", ["label_of_class"], "metric", "CE_KL")
    return {
        "temperature is better in KL, printed": claims.smallest(
            printed_differences(iso, temperature, "CE_KL"),
            "Table 2, twelve networks with the printed errors, as of different runs; the least "
            "clear is VGG16BN on CIFAR-10, 1.36 after isotonic regression and 1.38 after "
            f"temperature scaling; above 0 in {(iso['CE_KL'] > temperature['CE_KL']).sum()} of 12",
        ),
        "isotonic is better in squared L2, printed": claims.smallest(
            printed_differences(temperature, iso, "CE_2^2"),
            "Table 2, twelve networks with the printed errors, as of different runs; the least "
            "clear is PreResNet20 on CIFAR-100, 0.35 after both",
        ),
        "isotonic may harm KL": claims.largest(
            printed_differences(iso[hundred], none[hundred], "CE_KL"),
            "Table 2, six networks on CIFAR-100 with the printed errors, as of different runs; "
            f"it rises for {(iso['CE_KL'] > none['CE_KL'])[hundred].sum()} of 6",
        ),
        "isotonic keeps the accuracy, printed": claims.exact(
            lost.mean(),
            np.sqrt(squares.sum()) / len(lost),
            (),
            PAPER,
            "Table 3, six networks on CIFAR-10 with the printed errors, as of different runs; "
            "0.1 points is our reading of retains",
        ),
        "the estimators order classes alike, printed": claims.exact(
            alike.drop(columns="CE_KL").min().min(),
            0,
            (),
            PAPER,
            "Table 5, two networks; the least of four correlations; 0.9 is ours",
        ),
    }


def printed_error(first, second, column):
    """Return the standard errors of the differences of two printed columns, by network.

    The two columns are taken as independent. A number that is printed to 0.01 has an error of at
    least 0.01 / sqrt(12).
    """
    squares = [frame[f"{column} (standard error)"] ** 2 + 0.01**2 / 12 for frame in (first, second)]
    return np.sqrt(squares[0] + squares[1])


def printed_differences(first, second, column):
    """Return `first` minus `second` in a printed column, a statistic per network.

    The intervals hold for all networks at once.
    """
    errors, level = printed_error(first, second, column), claims.among(len(first))
    gaps = first[column] - second[column]
    return [claims.exact(gap, errors[name], (), PAPER, None, level) for name, gap in gaps.items()]


def claims_on_printed_curves(records, settings):
    """Test the claim on Figure 3's network, with numbers from the authors' notebook."""
    printed = reproduction.reported(PAPER_ID, ["fig3_printed"]).set_index("row")["value"]
    ends = [printed[f"L2 sharpness of {layer}, epoch 30"] for layer in ("the output", "layer 4")]
    why = (
        "the authors' notebook, last epoch; Figure 3 and its sentence leave the output out. "
        "By the theorem it cannot be: the estimate fails"
    )
    gap = claims.exact(ends[0] - ends[1], 0, (), PAPER, why)
    return {"sharpness as estimated falls up to the output": gap}
