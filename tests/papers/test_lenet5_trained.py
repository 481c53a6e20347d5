"""LeNet-5 of gruber2025 and moskvichev2025 trained again: pages on files that the test makes."""

import numpy as np
import pytest
from harness.experiments.gruber2025 import trained as gruber
from harness.experiments.moskvichev2025 import trained as moskvichev

from harness.configure.compose import compose
from harness.evaluation import reproduction
from harness.workflow.experiment import Experiment

EXPERIMENTS = {
    "gruber2025_table1_trained": ("gruber2025", "table1", "estimator=[binned15_gruber2025]"),
    "gruber2025_table5_trained": ("gruber2025", "table5", "estimator=[tuned_ukkr_gruber2025]"),
    "moskvichev2025_table1_trained": ("moskvichev2025", "table1", "estimator=[accuracy,ckce]"),
}
MODULES = {"gruber2025": gruber, "moskvichev2025": moskvichev}
PRINTED = {
    "gruber2025_table1_trained": {
        ("LeNet-5", "15 bins"): 14.96, ("LeNet-5", "15 bins (standard error)"): 0.31,
    },
    "gruber2025_table5_trained": {
        ("LeNet-5", "ukkr"): 13.53, ("LeNet-5", "ukkr (standard error)"): 0.27,
    },
    "moskvichev2025_table1_trained": {
        ("CIFAR-10, LeNet", "accuracy"): 0.727, ("CIFAR-10, LeNet", "CKCE"): 0.301,
    },
}  # fmt: skip


@pytest.fixture
def networks(tmp_path, monkeypatch):
    """Three seeds with 400 test images of ten classes, in a folder data/cifar10_lenet5."""
    monkeypatch.setattr("harness.problems.files_family.CACHE", tmp_path / "cache")
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "cifar10_lenet5"
    folder.mkdir(parents=True)
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 10, 400)
        logits = rng.normal(0, 1, (400, 10)) + 2 * (labels[:, None] == np.arange(10))
        np.savez(
            folder / f"lenet5_epochs300_seed{seed}.npz",
            test_logits=logits.astype(np.float32),
            test_labels=labels,
        )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_row_is_judged_by_its_seeds(networks, out, name):
    """Value and interval follow from the seeds, and only the row of LeNet-5 has a number."""
    paper, item, estimators = EXPERIMENTS[name]
    experiment = Experiment.of([f"experiment={name}", estimators, "jobs=1"])
    experiment.compute(quiet=True)
    records = experiment.records.read()
    module, settings = MODULES[paper], experiment.settings
    frame = module.by_seed(records, settings)
    compared = reproduction.compare(module.reproduced(records, settings), paper, [item])
    compared = compared.set_index(["row", "column"])
    mine = compared[compared["ours"].notna()]
    assert mine["reported"].to_dict() == PRINTED[name]
    why = "+reasons.seeds=too short"
    unjudged = module.reproduced(records, compose([f"experiment={name}", estimators, why]))
    shown = reproduction.compare(unjudged, paper, [item])
    assert shown["ours"].notna().sum() == len(mine)
    assert set(shown["verdict"]) == {"not reproducible here"}
    for place, row in mine.iterrows():
        values = frame.loc[frame["column"].eq(place[1]), "value"]
        half = 4.302653 * values.std() * np.sqrt(4 / 3)
        assert row["reps"] == len(values) == 3
        assert (row["low"], row["high"]) == pytest.approx(
            (values.mean() - half, values.mean() + half), rel=1e-6
        )
        assert row["verdict"] in ("within seeds", "outside seeds", "no test")
    others = compared.drop(index=[place for place in compared.index if "LeNet" in place[0]])
    assert set(others["reason"]) == {module.OTHERS}
    table = module.table(records, settings)
    assert table.filter(like="seed").shape[1] >= 3 and table["its width"].notna().all()
    assert len(module.render(records, settings).axes) >= 2


def test_without_files_the_reason_names_the_command(tmp_path, monkeypatch, out):
    monkeypatch.setattr("harness.problems.files_family.CACHE", tmp_path / "cache")
    monkeypatch.delenv("CALHARNESS_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    experiment = Experiment.of(["experiment=moskvichev2025_table1_trained", "jobs=1"])
    experiment.compute(quiet=True)
    records = experiment.records.read()
    ours = moskvichev.reproduced(records, experiment.settings)
    compared = reproduction.compare(ours, "moskvichev2025", ["table1"])
    mine = compared[compared["row"].eq("CIFAR-10, LeNet")]
    assert mine["ours"].isna().all()
    assert mine["reason"].str.contains("calharness data make cifar10_lenet5").all()


def test_the_spread_is_that_of_the_papers_own_numbers():
    """gruber2025: the estimators of the row. moskvichev2025: the networks of the column."""
    widest = gruber.widths(compose(["experiment=gruber2025_table1_trained"]))
    assert widest("LeNet-5", "kde") == pytest.approx(14.98 - 14.96)
    assert widest("LeNet-5", "kde (standard error)") == 0
    printed = reproduction.reported("moskvichev2025", ["table1"])
    accuracy = printed[printed["column"].eq("accuracy")].set_index("row")["value"]
    networks = accuracy[[f"CIFAR-10, {name}" for name in ("LeNet", "DenseNet", "ResNet")]]
    widest = moskvichev.widths(compose(["experiment=moskvichev2025_table1_trained"]))
    assert widest("CIFAR-10, LeNet", "accuracy") == networks.max() - networks.min() > 0.2
