"""TabPFN and TabICL on tiny random checkpoints, offline, and every reason to skip them."""

import hashlib
import os
import random
import shutil
import socket
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from samples import rng
from tiny_checkpoints import write_tabicl, write_tabpfn

import harness.contract.estimators
from harness import BadInputError, UndefinedError
from harness.calibrators import TabICL, TabPFN, foundation
from harness.contract.check import check
from harness.contract.estimators import ITEMS
from harness.estimators import Variational
from harness.plan.components import build_component
from harness.problems import Dirichlet

NAMES = {
    "tabpfn": "tabpfn-v2.5-classifier-v2.5_default.ckpt",
    "tabicl": "tabicl-classifier-v2-20260212.ckpt",
}
KINDS = {"tabpfn": TabPFN, "tabicl": TabICL}
each = pytest.mark.parametrize("name", list(NAMES))


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory):
    """Folder with both tiny checkpoints under the names of the real ones, and others of the same
    form."""
    for package in ("torch", "tabpfn", "tabicl"):
        pytest.importorskip(
            package, reason=f"{package} is not installed; make foundation installs it"
        )
    folder = tmp_path_factory.mktemp("weights")
    for seed, where in ((0, folder / "foundation"), (1, folder / "other")):
        write_tabpfn(where / NAMES["tabpfn"], seed)
        write_tabicl(where / NAMES["tabicl"], seed)
    return folder


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*given):
        raise AssertionError(f"a connection was tried: {given}")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def data(checkpoints, monkeypatch, no_network):
    """CALHARNESS_DATA with both checkpoints, and no way out."""
    monkeypatch.setenv("CALHARNESS_DATA", str(checkpoints))
    return checkpoints


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(foundation, "find_spec", lambda name: "there")
    return tmp_path


def sample(k, n):
    p, y = Dirichlet(k).sample(n, rng(k))
    return (p[:, 1], y) if k == 2 else (p, y)


# Predictions


@each
@pytest.mark.parametrize("k", [2, 3, 5])
def test_estimates_are_those_of_the_package_called_by_hand(data, name, k):
    """l1 over scikit-learn's five folds, q from the package itself with its default random_state:
    the mean of the folds' means of sum_j sign(q_j - f_j) (y_j - f_j)."""
    from sklearn.model_selection import KFold
    from tabicl import TabICLClassifier
    from tabpfn import TabPFNClassifier

    p, y = sample(k, 60)
    columns = p.reshape(60, -1)
    outcome = (y if k == 2 else np.eye(k)[y]).reshape(60, -1)
    path = str(data / "foundation" / NAMES[name])
    means = []
    for train, held_out in KFold(5, shuffle=True, random_state=3).split(columns):
        if name == "tabpfn":
            model = TabPFNClassifier(model_path=path, device="cpu", ignore_pretraining_limits=True)
        else:
            model = TabICLClassifier(model_path=path, device="cpu")
        model.fit(columns[train], y[train])
        q = np.zeros((len(held_out), k))
        q[:, model.classes_] = model.predict_proba(columns[held_out])
        f = columns[held_out]
        q = q[:, 1:] if k == 2 else q
        means.append((np.sign(q - f) * (outcome[held_out] - f)).sum(axis=1).mean())
        assert q.std(axis=0).min() > 1e-6  # the checkpoint looks at what it is given
    estimator = harness.load_estimator(f"variational_{name}_berta2026")
    result = estimator(p, y, 3, notion="binary" if k == 2 else "canonical")
    assert result["l1"].value == pytest.approx(np.mean(means), abs=1e-5)
    assert set(result) <= set(estimator.estimands)
    assert all(np.isfinite(e.value) for e in result.values())


@each
def test_two_columns_are_the_one(data, name):
    p, y = sample(2, 40)
    of_one = KINDS[name](seed=1).fit(p, y, rng())(p)
    of_two = KINDS[name](seed=1).fit(np.column_stack([1 - p, p]), y, rng())(
        np.column_stack([1 - p, p])
    )
    np.testing.assert_array_equal(of_two, np.column_stack([1 - of_one, of_one]))


@each
def test_the_stream_or_the_seed_decides(data, name):
    p, y = sample(3, 40)
    kind = KINDS[name]

    def q(calibrator, seed):
        return calibrator.fit(p, y, rng(seed))(p)

    np.testing.assert_array_equal(q(kind(), 1), q(kind(), 1))
    assert (q(kind(), 1) != q(kind(), 2)).any()
    np.testing.assert_array_equal(q(kind(seed=7), 1), q(kind(seed=7), 2))
    np.testing.assert_array_equal(kind().fit(p, y, 7)(p), q(kind(seed=7), 1))


@each
def test_classes_that_the_fit_never_saw_get_nothing(data, name):
    p = rng(1).dirichlet(np.ones(4), 40)
    y = np.where(rng(2).random(40) < 0.5, 0, 3)
    q = KINDS[name]().fit(p, y, rng())(p)
    np.testing.assert_array_equal(q[:, 1:3], 0.0)
    assert (q[:, [0, 3]] > 0).all()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, atol=1e-14)


@each
def test_one_class_is_certain(data, name):
    p = rng(1).random(20)
    for label in (0, 1):
        np.testing.assert_array_equal(KINDS[name]().fit(p, np.full(20, label), rng())(p), label)
    p = rng(1).dirichlet(np.ones(3), 20)
    np.testing.assert_array_equal(
        KINDS[name]().fit(p, np.full(20, 2), rng())(p), np.tile([0.0, 0.0, 1.0], (20, 1))
    )


@each
@pytest.mark.parametrize(
    "p", [np.full(30, 0.3), np.tile([0.2, 0.3, 0.5], (30, 1))], ids=["scalar", "vector"]
)
def test_constant_predictions_get_one_answer(data, name, p):
    y = np.arange(30) % 3 // 2
    q = KINDS[name]().fit(p, y, rng())(p)
    assert q.shape == p.shape and (q == q[0]).all()
    if name == "tabpfn":  # which refuses them: the class shares
        np.testing.assert_allclose(q[0], 1 / 3 if p.ndim == 1 else [2 / 3, 1 / 3, 0.0], atol=1e-15)


@each
@pytest.mark.parametrize(
    "p",
    [
        np.array([0.2, 0.7]),
        np.array([0.9, 0.1, 0.5]),
        np.tile([0.0, 1.0, 0.5], 10),
        np.r_[1e-300, np.linspace(0, 1, 29)],
    ],
    ids=["two", "three", "ties", "ends"],
)
def test_small_and_tied_samples(data, name, p):
    q = KINDS[name]().fit(p, np.arange(len(p)) % 2, rng())(np.array([0.0, 0.5, 1.0]))
    assert q.shape == (3,) and (q > 0).all() and (q < 1).all()


def test_eleven_classes(data):
    p = rng(1).dirichlet(np.ones(11), 60)
    y = np.arange(60) % 11
    assert TabICL().fit(p, y, rng())(p).shape == (60, 11)
    assert TabPFN.max_classes == 10 and getattr(TabICL, "max_classes", None) is None


@each
def test_an_answer_that_is_no_number_is_undefined(data, name, monkeypatch):
    class Broken:
        classes_ = np.array([0, 1])

        def fit(self, x, y):
            return self

        def predict_proba(self, x):
            return np.full((len(x), 2), np.nan)

    monkeypatch.setattr(KINDS[name], "model", lambda self, path, seed: Broken())
    with pytest.raises(UndefinedError, match="8 values"):
        KINDS[name]().fit(*sample(2, 20), rng())(np.linspace(0.1, 0.9, 4))


@each
def test_the_contract_is_kept(data, monkeypatch, name):
    """All items but two that need many fits, and the closeness to zero, which a random checkpoint
    cannot give."""
    left_out = ("sample order", "class relabelling", "near zero if calibrated")
    monkeypatch.setattr(
        harness.contract.estimators, "ITEMS", {k: v for k, v in ITEMS.items() if k not in left_out}
    )
    findings = check(f"{__name__}.{KINDS[name].__name__}InTwoFolds")
    assert len(findings) == len(ITEMS) - 3
    assert not [f for f in findings if f.outcome == "failed"]


@dataclass(frozen=True)
class TabPFNInTwoFolds(Variational):
    """The variational estimator with TabPFN."""

    calibrator: Any = field(default_factory=TabPFN)
    folds: int = 2
    notions = ("binary", "canonical")


@dataclass(frozen=True)
class TabICLInTwoFolds(Variational):
    """The variational estimator with TabICL."""

    calibrator: Any = field(default_factory=TabICL)
    folds: int = 2
    notions = ("binary", "canonical")


# Side effects


@each
def test_nothing_around_is_changed_or_written(
    data, name, tmp_path, monkeypatch, capfd, recwarn, caplog
):
    import torch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    threads = torch.get_num_threads()
    torch.set_num_threads(2)

    def state():
        streams = torch.random.get_rng_state().tolist(), str(np.random.get_state())
        return dict(os.environ), torch.get_num_threads(), *streams, random.getstate()

    p, y = sample(3, 30)
    p.flags.writeable = y.flags.writeable = False
    before = state()
    try:
        KINDS[name]().fit(p, y, rng())(p)
        assert state() == before
    finally:
        torch.set_num_threads(threads)
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "") and not recwarn.list and not caplog.records


def test_a_fit_runs_on_one_thread_offline_and_silently(data, monkeypatch):
    import logging

    import torch
    from huggingface_hub import constants

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    class Looks:
        def fit(self, p, y):
            assert torch.get_num_threads() == 1 and constants.HF_HUB_OFFLINE
            assert os.environ["HF_HUB_OFFLINE"] == os.environ["TABPFN_NO_BROWSER"] == "1"
            logging.getLogger("tabpfn").error("unheard")
            warnings.warn("unheard", stacklevel=1)
            raise KeyError

    monkeypatch.setattr(TabPFN, "model", lambda self, path, seed: Looks())
    with pytest.raises(KeyError):
        TabPFN().fit(*sample(3, 30), rng())
    assert not constants.HF_HUB_OFFLINE and "HF_HUB_OFFLINE" not in os.environ
    assert logging.root.manager.disable == logging.NOTSET


# Weights and keys


def key(**fields):
    return build_component(
        "estimator", "one", {"_target_": "harness.estimators.Variational", "calibrator": fields}
    ).key


@each
def test_the_key_knows_the_weights_and_not_where_they_lie(data, name, tmp_path):
    target = {"_target_": f"harness.calibrators.{KINDS[name].__name__}"}
    plain = key(**target)
    copy = shutil.copy(data / "foundation" / NAMES[name], tmp_path / "v2.5-copy.ckpt")
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    for same in ({"weights": str(copy)}, {"sha256": digest}, {"max_n": 50}):
        assert key(**target, **same) == plain
    for other in (
        {"weights": f"other/{NAMES[name]}"},
        {"weights": "nowhere.ckpt"},
        {"seed": 1},
        {"device": "cuda"},
    ):
        assert key(**target, **other) != plain
    os.utime(copy, ns=(0, 0))
    copy.write_bytes(b"another")
    assert key(**target, weights=str(copy)) != plain


@each
def test_parameters_of_a_record_show_the_checksum(data, name):
    calibrator = {"_target_": f"harness.calibrators.{KINDS[name].__name__}"}
    config = {"_target_": "harness.estimators.Variational", "calibrator": calibrator}
    component = build_component("estimator", "one", config)
    digest = hashlib.sha256((data / "foundation" / NAMES[name]).read_bytes()).hexdigest()
    assert (
        f'"weights": "{digest}"' in component.parameters and str(data) not in component.parameters
    )


@each
def test_weights_that_change_under_an_estimator_are_refused(data, name, tmp_path):
    path = shutil.copy(data / "foundation" / NAMES[name], tmp_path / "v2.5.ckpt")
    calibrator = KINDS[name](weights=str(path), seed=0)
    before = calibrator.checksum
    shutil.copy(data / "other" / NAMES[name], path)
    with pytest.raises(BadInputError, match="changed after this calibrator"):
        calibrator.fit(*sample(2, 20), rng())
    again = KINDS[name](weights=str(path), seed=0)
    assert again.checksum != before
    again.fit(*sample(2, 20), rng())


class _Trap:
    """Unpickled freely, it makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@each
def test_weights_hold_numbers_and_run_no_code(data, name, tmp_path):
    import torch

    path = tmp_path / "v2.5.ckpt"
    torch.save({"config": {}, "state_dict": _Trap(str(tmp_path / "sprung"))}, path)
    with pytest.raises(Exception, match="Weights only load failed"):
        KINDS[name](weights=str(path)).fit(*sample(2, 20), rng())
    assert not (tmp_path / "sprung").exists()


# Skipped, with the reason


def skipped(name, *overrides, problem="beta_overconfident", n=40):
    """The one reason of a run all of whose cells are skipped."""
    frame = harness.run(
        [
            f"problem={problem}",
            f"estimator=variational_{name}",
            f"n={n}",
            "reps=1",
            "jobs=1",
            *overrides,
        ]
    )
    assert list(frame["status"]) == ["skipped"]
    return frame["reason"].item()


@each
def test_without_weights(no_data, out, name):
    path = f"foundation/{NAMES[name]}"
    assert not any(no_data.rglob("*.ckpt"))
    reason = skipped(name)
    assert path in reason and str(no_data) not in reason and "calharness data fetch" in reason


@each
def test_every_pack_that_a_reason_names_says_how_to_get_it(no_data, cli, name):
    code, _, err = cli("data", "fetch", KINDS[name].pack)
    assert code == 2 and NAMES[name] in err and "is not downloaded" in err
    assert cli("data", "list")[1].count(f"foundation/{NAMES[name]}") == 1


@each
@pytest.mark.parametrize("absent", ["torch", "itself"])
def test_without_packages(no_data, out, monkeypatch, name, absent):
    absent = name if absent == "itself" else absent
    monkeypatch.setattr(
        foundation, "find_spec", lambda package: None if package == absent else "there"
    )
    assert skipped(name).startswith(f"the package {absent} is not installed")


@each
def test_another_checksum(no_data, out, name):
    path = no_data / "foundation" / NAMES[name]
    path.parent.mkdir()
    path.write_bytes(b"weights")
    reason = skipped(name, f"+estimator.variational_{name}.calibrator.sha256={'0' * 64}")
    assert hashlib.sha256(b"weights").hexdigest() in reason and "0" * 64 in reason


@each
def test_no_gpu(no_data, out, monkeypatch, name):
    path = no_data / "foundation" / NAMES[name]
    path.parent.mkdir()
    path.write_bytes(b"weights")
    no_gpu = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", no_gpu)
    cuda = f"+estimator.variational_{name}.calibrator.device=cuda"
    assert skipped(name, cuda).startswith("device is cuda")
    assert KINDS[name]().unavailable is None  # on the CPU nobody asks torch


@each
def test_too_many_samples(no_data, out, name):
    assert "2001" in (reason := skipped(name, n=2001)) and "2000" in reason
    assert KINDS[name](device="cuda").max_n == 10_000 and KINDS[name](max_n=77).max_n == 77


def test_more_than_ten_classes(no_data, out):
    many = ["+problem.many={_target_: harness.problems.Dirichlet, classes: 11}", "notion=canonical"]
    assert skipped("tabpfn", *many, "~problem.beta_overconfident").startswith("11 classes")


@each
def test_a_call_without_weights_is_refused(no_data, name):
    with pytest.raises(
        BadInputError, match=f"{KINDS[name].__name__} cannot run: there is no file foundation/"
    ):
        harness.load_estimator(f"variational_{name}")(*sample(2, 20), rng())


@each
def test_the_contract_does_not_apply_where_the_model_cannot_run(no_data, name):
    findings = check(f"variational_{name}")
    assert [f.item for f in findings] == list(ITEMS)
    assert all(
        f.outcome == "not applicable" and "cannot run here: there is no file" in f.detail
        for f in findings
    )


@pytest.mark.slow
@each
def test_planning_imports_nothing_heavy(no_data, name):
    code = f"""
import sys
from harness.configure.compose import compose
from harness.plan.plan import plan

plan(compose(["problem=beta_wavy", "estimator=variational_{name}"]))
print(sorted({{"torch", "tabpfn", "tabicl", "huggingface_hub", "sklearn"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
