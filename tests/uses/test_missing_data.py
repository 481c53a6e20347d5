"""What is missing for printed numbers without ours: the table, and its commands on made files."""

import hashlib
import importlib
import json
import pickle
import shlex
import struct
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.special import softmax
from slow_params import slow

import harness
from harness.common.paths import PACKS
from harness.evaluation import outcomes
from harness.evaluation.reproduction import KEY
from harness.sources import packs

ROOT = Path(__file__).parents[2]
NETWORKS = ("preresnet20", "preresnet56", "preresnet110", "preresnet164", "vgg16bn",
    "wideresnet28x10")  # fmt: skip
TASK = ("LED-display-domain-7digit", 0, "LinearModel_r31_BAG_L1")  # 450 rows, 10 classes


@pytest.fixture(scope="module")
def missing():
    """Return the module tools/docs/missing.py."""
    sys.path.insert(0, str(ROOT / "tools" / "docs"))
    yield importlib.import_module("missing")
    sys.path.remove(str(ROOT / "tools" / "docs"))


@pytest.fixture(scope="module")
def numbers(missing):
    return missing.wanted_numbers(importlib.import_module("claims").stored_papers())


# The table


def test_every_number_without_ours_is_of_one_missing_thing(missing, numbers):
    """The counts add up to the counts of README.md, paper by paper."""
    without = numbers[numbers["outcome"].eq(missing.WITHOUT)]
    for paper in importlib.import_module("claims").stored_papers():
        rows = outcomes.read_rows(ROOT / "results", paper)
        counts = outcomes.count_outcomes(rows, paper)
        assert without["paper"].eq(paper).sum() == counts[missing.WITHOUT], paper
    assert set(numbers["missing"]) == {entry.name for entry in missing.entries()}


def test_the_table_shows_the_counts(missing, numbers):
    lines = missing.overview(importlib.import_module("claims").stored_papers()).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in cells] == [*(entry.what for entry in missing.entries()), "all"]
    for column, outcome in ((2, missing.WITHOUT), (3, missing.AUTHORS)):
        *counts, total = [int(row[column].replace(",", "") or 0) for row in cells]
        assert sum(counts) == total == numbers["outcome"].eq(outcome).sum()


def test_every_pattern_names_printed_rows(missing):
    for entry in missing.entries():
        for paper, items in entry.numbers.items():
            printed = outcomes.printed_outcomes(None, paper)
            for item, patterns in items.items():
                rows = printed.loc[printed["item"].eq(item), "row"]
                for pattern in patterns:
                    alone = missing.Missing("", "", "", (), {paper: {item: [pattern]}})
                    assert any(alone.is_needed_by(paper, item, row) for row in rows), pattern


def test_a_number_that_no_entry_names_is_refused(missing, monkeypatch):
    others = [entry for entry in missing.entries() if entry.name != "medmnist_vit"]
    monkeypatch.setattr(missing, "entries", lambda: others)
    with pytest.raises(ValueError, match=r"gruber2025, table6, Blood: .* names \[\]"):
        missing.wanted_numbers(["gruber2025"])
    monkeypatch.setattr(missing, "entries", lambda: [*others, others[0]])
    with pytest.raises(ValueError, match="gruber2025, table1, .* exactly one entry"):
        missing.wanted_numbers(["gruber2025"])


# Files of the same forms


def predictions(rng, rows, classes):
    """Return logits in 32 bits and labels that are drawn from their softmax."""
    logits = rng.normal(0, 2, (rows, classes)).astype(np.float32)
    return logits, np.array([rng.choice(classes, p=p) for p in softmax(logits.astype(float), 1)])


def write_kull(data, rng, listing, classes):
    """Write pickles of the networks with this number of classes; put their checksums in listing."""
    for pack in listing.values():
        if pack.get("group") == "kull_cifar" and pack["classes"] == classes:
            rows = 520 if classes == 10 else 60  # Figure 3 draws 500 rows
            parts = [predictions(rng, n, classes) for n in (40, rows)]
            content = pickle.dumps(tuple((z, y[:, None]) for z, y in parts), protocol=2)
            path = data / pack["path"]
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            pack |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def write_npy_folders(data, rng):
    for network in ("densenet161", "resnet152", "pnasnet5_large"):
        folder = data / "imagenet_nll" / f"diag_{network}_imgnet"
        folder.mkdir(parents=True)
        logits, labels = predictions(rng, 60, 12)
        np.save(folder / "nll_logits.npy", logits)
        np.save(folder / "nll_labels.npy", labels[:, None])


def write_safetensors(data, rng):
    folder = data / "medmnist_vit"
    folder.mkdir()
    for name, classes in (("blood", 8), ("derma", 7), ("oct", 4)):
        arrays = {}
        for part in ("val", "test"):
            arrays[f"logits_{part}"], arrays[f"labels_{part}"] = predictions(rng, 150, classes)
        header, content = {}, b""
        for key, values in arrays.items():
            end = len(content) + values.nbytes
            kind = {"f": "F32", "i": "I64"}[values.dtype.kind]
            offsets = [len(content), end]
            header[key] = {"dtype": kind, "shape": values.shape, "data_offsets": offsets}
            content += values.tobytes()
        words = json.dumps(header).encode()
        path = folder / f"{name}_vit_base_patch16_224.orig_in21k_ft_in1k_output.safetensors"
        path.write_bytes(struct.pack("<Q", len(words)) + words + content)


def write_imagenet_outputs(data, rng):
    folder = data / "moskvichev2025" / "imagenet_networks"
    folder.mkdir(parents=True)
    for name in ("resnet50", "vit"):
        logits, labels = predictions(rng, 60, 12)
        np.savez(folder / f"{name}.npz", logits=logits, labels=labels)


def write_popordanoska(data, rng, classes):
    folder = data / "popordanoska2024" / f"cifar{classes}_networks"
    folder.mkdir(parents=True)
    for name in (f"{network}_seed{seed}" for network in NETWORKS for seed in (5, 10)):
        arrays = {}
        for part in ("val", "test"):
            arrays[f"{part}_logits"], arrays[f"{part}_labels"] = predictions(rng, 60, classes)
        np.savez(folder / f"{name}.npz", **arrays)


def write_imdb(data, rng):
    (data / "imdb_networks").mkdir()
    y = rng.integers(0, 2, 200)
    plain = np.clip(0.3 + 0.4 * y + rng.normal(0, 0.2, 200), 0.01, 0.99)
    scores = {"plain": plain, "aware_h2^-6": plain**1.1}
    np.savez(data / "imdb_networks" / "bert.npz", labels=y, **scores)


def write_tabrepo(data, rng):
    dataset, fold, model = TASK
    folder = data / "tabrepo" / "model_predictions" / dataset / str(fold)
    folder.mkdir(parents=True)
    about = {"models": [model], "dataset": dataset, "fold": fold, "dtype": "float32"}
    for part, rows in (("val", 450), ("test", 50)):
        logits, labels = predictions(rng, rows, 10)
        p = softmax(2 * logits, axis=1)[None]  # overconfident, so that Table 1 has shares
        p.tofile(folder / f"pred-{part}.dat")
        about[f"pred_{part}_shape"] = list(p.shape)
        how = {"method": "zip", "archive_name": f"label-{part}.csv"}
        pd.DataFrame({"target": labels}).to_csv(folder / f"label-{part}.csv.zip", compression=how)
    (folder / "metadata.json").write_text(json.dumps(about))
    kinds = pd.DataFrame({"dataset": [dataset], "problem_type": ["multiclass"]})
    kinds.to_parquet(data / "tabrepo" / "configs.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make files of all forms. Return their folder, and a listing of packs that expects them."""
    folder, rng = tmp_path_factory.mktemp("missing"), np.random.default_rng(0)
    data = folder / "data"
    data.mkdir()
    listing = yaml.safe_load(PACKS.read_text())
    for classes in (10, 100):
        write_kull(data, rng, listing, classes)
        write_popordanoska(data, rng, classes)
    for write in (write_npy_folders, write_safetensors, write_imagenet_outputs, write_imdb,
        write_tabrepo):  # fmt: skip
        write(data, rng)
    (folder / "packs.yaml").write_text(json.dumps(listing))
    return data, folder / "packs.yaml"


# Commands

# Fewer replications and estimators than the command computes, so that a test takes seconds.
SHORTER = {
    "moskvichev2025_fig3": ["reps=3"],
    "berta2026_table1": [
        "estimator=[variational_temperature_berta2026,variational_isotonic_berta2026]",
        "reps=2",
    ],
}


def run_commands(cli, entry):
    """Run the commands of an entry of data/missing.yaml, and return their output."""
    texts = []
    for command in entry.commands:
        program, *words = shlex.split(command)
        assert program == "calharness"
        if words[:2] == ["data", "fetch"] and words[2] == "tabrepo":
            words[1] = "verify"  # test_tabrepo.py fetches from a local server
        if words[0] != "data":
            words += [*SHORTER.get(words[0].removeprefix("experiment="), []), "jobs=1"]
        code, text, err = cli(*words)
        assert code == 0, (command, err)
        texts.append(text)
    return texts


def our_numbers(out, paper):
    """Return what a paper's experiments computed for printed numbers, from all files below out.

    An estimate may be undefined on the few rows of a made file, if rounding chose the ridge.
    """
    frames = [pd.read_csv(path) for path in out.rglob("reproduction.csv")]
    rows = pd.concat([frame for frame in frames if frame["experiment"].iloc[0].startswith(paper)])
    is_undefined = rows["reason"].str.startswith("undefined", na=False)
    return rows[rows["ours"].notna() | is_undefined].astype(dict.fromkeys(KEY, str))


@pytest.mark.parametrize(
    "name",
    ["rahimi_imagenet", *slow("kull_cifar10", "kull_cifar100", "medmnist_vit", "imagenet_outputs",
        "popordanoska_cifar10", "popordanoska_cifar100")],
)  # fmt: skip
def test_the_commands_bring_back_every_number(name, missing, numbers, made, cli, out, monkeypatch):
    data, listing = made
    monkeypatch.setenv("CALHARNESS_DATA", str(data))
    monkeypatch.setattr(packs, "PACKS", listing)
    entry = next(entry for entry in missing.entries() if entry.name == name)
    run_commands(cli, entry)
    wanted = numbers[numbers["missing"].eq(name)]
    assert len(wanted)
    for paper, rows in wanted.groupby("paper"):
        ours = set(our_numbers(out, paper)[KEY].itertuples(index=False, name=None))
        absent = set(rows[KEY].itertuples(index=False, name=None)) - ours
        assert not absent, sorted(absent)[:5]


@pytest.mark.slow
def test_a_file_of_another_checksum_is_skipped(made, cli, out, monkeypatch):
    """The made files are not Kull et al.'s, so that data/packs.yaml refuses them."""
    monkeypatch.setenv("CALHARNESS_DATA", str(made[0]))
    code, text, err = cli("experiment=gruber2025_table3", "jobs=1")
    assert code == 1 and "0 computed" in text and "is not the published file" in text + err


@pytest.mark.slow
def test_the_auroc_of_imdb_reviews(missing, made, cli, out, monkeypatch):
    """The command gives both values of which the paper prints the difference."""
    monkeypatch.setenv("CALHARNESS_DATA", str(made[0]))
    entry = next(entry for entry in missing.entries() if entry.name == "imdb_bert")
    run_commands(cli, entry)
    records = harness.load_records(out)
    auroc = records[records["estimand"].eq("auroc")].groupby("problem")["value"].mean()
    assert 0.0 < auroc["imdb/bert"] - auroc["imdb/bert/aware_h2^-6"] < 0.02


@pytest.mark.slow
def test_table_1_of_berta2026_from_a_task_of_tabrepo(missing, made, cli, out, monkeypatch):
    """A task gives one group, or one for each partition on which the share is defined.

    Shares are compared only if all estimators are there.
    """
    monkeypatch.setenv("CALHARNESS_DATA", str(made[0]))
    entry = next(entry for entry in missing.entries() if entry.name == "tabrepo")
    verified, _ = run_commands(cli, entry)
    assert "0 problems" in verified
    (path,) = out.rglob("berta2026_table1-*.csv")
    table = pd.read_csv(path)
    shares = table[table["column"].eq("multiclass L2 (%)") & table["classifier"].eq("Isotonic")]
    assert len(shares) and shares["mean"].notna().all() and shares["groups"].isin([1, 2]).all()
