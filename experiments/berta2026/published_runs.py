"""Reader of the authors' published runs behind Table 1 (pack berta2026_published_runs)."""

import json
from pathlib import Path

import pandas as pd

# names in the file -> names in Table 1, or our names for classifiers that the paper leaves out
CLASSIFIERS = {
    "tabICLv2": "TabICLv2",
    "TabPFN": "RealTabPFN-2.5",
    "InitLogitCatboostClassifier": "WS CatBoost",
    "InitLogitLGBMClassifier": "WS LGBM",
    "BetterCatBoost": "CatBoost",
    "CheapBetterLGBMClassifier": "LightGBM",
    "NadarayaWatson": "Nadaraya-Watson",
    "TSPredictor": "TS",
    "IsotonicPredictor": "Isotonic",
    "PartitionWise": "PartitionWise",
    "XT": "Extra trees",
    "RF": "Random forest",
    "SMSPredictor": "SMS",
    "NadarayaWatsonH_05": "Nadaraya-Watson, h = 0.5",
    "Binning_Classic": "Binning",
}
LOSSES = {
    "binary": {"L1_ECE": "l1", "brier_score": "l2_squared", "logloss": "kl"},
    "multiclass": {
        "L1_ECE": "l1",
        "generalized_norm_score_2": "l2",
        "brier_score": "l2_squared",
        "logloss": "kl",
    },
}
NOTIONS = {"binary": "binary", "multiclass": "canonical"}
# experiment_index is 0 to 9; a second row of the same task and index is replication 10 to 19
PARTITIONS = 10
IN_SAMPLE = "overfitted_"


def read(path: Path) -> pd.DataFrame:
    """Return the records of the file at `path`.

    A cell is a row of the file and a classifier, and its estimates are the losses. The problem is
    the task, dataset/fold/config; n is the number of its predictions. rep is the number of the
    random partition. The seconds of a cell are those of all losses of the classifier. An estimator
    without cross-fitting is named after its classifier, with ', in-sample' at the end.
    """
    task = ["task", "dataset", "fold", "config"]
    table = pd.read_parquet(path).astype({"task": str, "dataset": str, "config": str})
    again = table.groupby([*task, "experiment_index"]).cumcount()
    table["rep"] = table["experiment_index"].astype(int) + PARTITIONS * again
    table["problem"] = [
        f"{dataset}/{fold}/{config}"
        for dataset, fold, config in zip(*(table[name] for name in task[1:]))
    ]
    once = table[["dataset", "fold", "config", "n_classes"]].to_dict("records")
    table["problem_parameters"] = [json.dumps(row) for row in once]
    frames = []
    for kind, losses in LOSSES.items():
        rows_of_kind = table[table["task"].eq(kind)]
        for name, label in CLASSIFIERS.items():
            for prefix in ("", IN_SAMPLE):
                classifier = prefix + name
                columns = {
                    f"ERT_{loss}_{classifier}": e
                    for loss, e in losses.items()
                    if f"ERT_{loss}_{classifier}" in rows_of_kind
                }
                if (
                    rows_of_kind[list(columns)].notna().any(axis=None)
                ):  # a classifier without a number ran on the other kind of task only
                    frames += [
                        _estimates(rows_of_kind, column, e, kind, classifier, label)
                        for column, e in columns.items()
                    ]
        if kind == "multiclass":
            frames.append(
                _estimates(
                    rows_of_kind, "top_class_ECE", "l1", kind, "top_class", "Binning"
                ).assign(notion="top_label")
            )
    return pd.concat(frames, ignore_index=True)


def _estimates(
    table: pd.DataFrame, column: str, estimand: str, kind: str, classifier: str, label: str
) -> pd.DataFrame:
    """Return the records of one estimand of one classifier, for all rows of a table."""
    seconds = table.get(f"time_{classifier}", float("nan"))
    estimator = f"{label}, in-sample" if classifier.startswith(IN_SAMPLE) else label
    records = table[["problem", "problem_parameters", "rep"]].assign(
        n=table["n_samples"].astype(int), value=table[column]
    )
    reason = table[column].isna().map({True: "the authors' table has no number here", False: None})
    return records.assign(
        notion=NOTIONS[kind], estimator=estimator, estimand=estimand, seconds=seconds, reason=reason
    )
