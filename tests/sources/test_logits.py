"""Published logits: pickles, safetensors and npy folders are read, hostile files are refused."""

import dataclasses
import json
import os
import pickle
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

import harness
from harness import BadInputError
from harness.common.data_files import sha256
from harness.configure.compose import compose
from harness.plan.components import build_component
from harness.plan.plan import plan
from harness.problems import Predictions
from harness.sources import files, packs
from harness.sources.forms import softmax
from harness.sources.logits import read_folder, read_safetensors
from harness.sources.pickles import read_parts

rng = np.random.default_rng(7)
VALIDATION = rng.normal(0, 3, (5, 3)).astype(np.float32), np.array([[0], [1], [2], [1], [0]])
TEST = rng.normal(0, 3, (7, 3)).astype(np.float32), np.array([[2], [2], [1], [0], [0], [1], [2]])


def read_predictions(path, **options):
    return files.read(path, **options)[:2]


def stored(tmp_path, value, protocol=3):
    path = tmp_path / "logits.p"
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol))
    return path


def same(parts, validation=VALIDATION, test=TEST):
    for name, (logits, labels) in {"validation": validation, "test": test}.items():
        np.testing.assert_array_equal(parts[name]["logits"], logits)
        np.testing.assert_array_equal(parts[name]["labels"], labels)
        assert parts[name]["logits"].dtype.kind == np.asarray(logits).dtype.kind


# Pickles


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("change", [np.array, np.asfortranarray, lambda a: a.astype(">f8")])
def test_kull_pickle_of_logits(tmp_path, protocol, change):
    """Every protocol of pickle, memory order and byte order."""
    test = change(TEST[0]), TEST[1].astype(np.uint8)
    same(read_parts(stored(tmp_path, [list(VALIDATION), test], protocol)), test=test)


class Asks:
    """Reduce to a call."""

    def __init__(self, function, *arguments):
        self.reduced = (function, arguments)

    def __reduce__(self):
        return self.reduced


MARK = "CALHARNESS_HOSTILE_PICKLE"
CODE = f"import os; os.environ[{MARK!r}] = 'it ran'"
REFUSED = {
    "a shell": (Asks(os.system, "true"), f"{os.system.__module__}.system"),
    "eval": (Asks(eval, CODE), ".eval"),
    "getattr": (Asks(getattr, "numpy", "load"), ".getattr"),
    "numpy.load": (Asks(np.load, "x.npy", None, True), "numpy.load"),
    "open": (Asks(open, "CALHARNESS_HOSTILE_FILE", "w"), "io.open"),
    "a masked array": (np.ma.array([1.0, 2.0]), "numpy.ma"),
    "an array of objects": (np.array([1, "a", None], dtype=object), "ndarray of other values"),
    "an array of text": (np.array(["a", "b"]), "ndarray of other values"),
    "a dictionary": ({"a": 1}, "dict of other values"),
    "a list": ([0, 1, 2], "list of other values"),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("case", REFUSED)
def test_a_pickle_of_anything_else_is_refused_by_name(tmp_path, monkeypatch, case, protocol):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(MARK, raising=False)
    value, says = REFUSED[case]
    assert says in refusal(stored(tmp_path, ((value, VALIDATION[1]), TEST), protocol))
    assert MARK not in os.environ and not Path("CALHARNESS_HOSTILE_FILE").exists()


def wrapped(program):
    """Put a program in the place of the logits of an otherwise good pickle."""
    return b"\x80\x02((" + program + b"K\x01t(K\x02K\x03tt."


PROGRAMS = {
    "names of protocol 4": (b"\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R", "posix.system"),
    "a nested name": (b"\x8c\x05numpy\x8c\x0ef2py.os.system\x93", "numpy.f2py.os.system"),
    "a look-alike": (b"cnumpy.core.multiarray.os\n_reconstruct\n", "multiarray.os._reconstruct"),
    "INST": (b"(U\x04trueios\nsystem\n", "os.system"),
    "OBJ": (b"(cos\nsystem\nU\x04trueo", "os.system"),
    "an extension": (b"\x82\x01", "unregistered extension"),
    "a persistent id": (b"Pfile\n", "persistent id"),
    "a slot of 2^31": (b"K\x01r\xff\xff\xff\x7f", "int of other values"),
    "more bytes than the file has": (b"\x96" + struct.pack("<Q", 2**60), "cannot be read"),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_a_pickle_of_other_opcodes_is_refused(tmp_path, case):
    program, says = PROGRAMS[case]
    assert says in refusal(stored(tmp_path, wrapped(program)))


HEARD: list = []
LISTENING: list = []
sys.addaudithook(lambda event, details: HEARD.append((event, details)) if LISTENING else None)


@pytest.mark.parametrize("protocol", [2, 4])
def test_nothing_is_imported_compiled_or_run(tmp_path, protocol):
    """Python's audit events while a hostile pickle is read: only its file is opened."""
    path = stored(tmp_path, ((Asks(eval, CODE), Asks(open, "a", "w")), TEST), protocol)
    refusal(path)
    HEARD.clear()
    LISTENING.append(True)
    try:
        refusal(path)
    finally:
        LISTENING.clear()
    events = [(event, details) for event, details in HEARD if event != "pickle.find_class"]
    assert [(event, details[0]) for event, details in events] == [("open", str(path))]


@pytest.mark.parametrize(
    "value", [VALIDATION, (VALIDATION, TEST, TEST), ([VALIDATION], [TEST]), 7, {"a": 1}]
)
def test_another_layout_of_a_pickle(tmp_path, value):
    assert "((logits, labels) of validation, " in refusal(stored(tmp_path, value))


def test_a_damaged_pickle(tmp_path):
    good = pickle.dumps((VALIDATION, TEST), 3)
    for end in range(1, len(good) - 1, 7):
        refusal(stored(tmp_path, good[:end]))
    assert "cannot be read as a pickle" in refusal(
        stored(tmp_path, b"version https://git-lfs.github.com/spec/v1\n")
    )


def refusal(path, read=read_parts):
    with pytest.raises(BadInputError) as caught:
        read(path)
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 600, message
    return message


# safetensors


def tensors(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(kind, shape, first, last):
    return {"dtype": kind, "shape": shape, "data_offsets": [first, last]}


def test_huggingface_safetensors(tmp_path):
    logits, labels = TEST[0], TEST[1][:, 0].astype(np.int64)
    header = {
        "__metadata__": {"format": "pt"},
        "labels_test": entry("I64", [7], 84, 140),
        "logits_test": entry("F32", [7, 3], 0, 84),
        "half": entry("BF16", [2], 140, 144),
    }
    half = (np.array([1.5, -2.0], np.float32).view(np.uint32) >> 16).astype("<u2")
    path = tensors(
        tmp_path / "a.safetensors", header, logits.tobytes() + labels.tobytes() + half.tobytes()
    )
    arrays = read_safetensors(path)
    np.testing.assert_array_equal(arrays["logits_test"], logits)
    np.testing.assert_array_equal(arrays["labels_test"], labels)
    np.testing.assert_array_equal(arrays["half"], [1.5, -2.0])
    p, y = read_predictions(path)
    np.testing.assert_allclose(p, softmax(logits.astype(float)), rtol=1e-15)
    np.testing.assert_array_equal(y, labels)
    with pytest.raises(
        BadInputError,
        match="_val",
    ):
        read_predictions(path, split="validation")


BROKEN = {
    "too short": (b"", b"", None, "does not fit"),
    "a header beyond the end": ({}, b"", 10**6, "does not fit"),
    "a header beyond all": ({}, b"", 2**64 - 1, "does not fit"),
    "no JSON": (b"{]", b"", None, "header of the safetensors file is broken"),
    "a list": (b"[]", b"", None, "header of the safetensors file is broken"),
    "no offsets": ({"a": {"dtype": "F32"}}, b"", None, "header of the safetensors file is broken"),
    "a nest": (b"[" * 100_000, b"", None, "header of the safetensors file is broken"),
    "a name twice": (b'{"a": 1, "a": 2}', b"", None, "a name occurs twice"),
    "an unknown type": ({"a": entry("F8", [1], 0, 4)}, bytes(4), None, "has type F8"),
    "other bytes than the shape": (
        {"a": entry("F32", [2], 0, 4)},
        bytes(4),
        None,
        "does not fit bytes 0 to 4",
    ),
    "beyond the data": (
        {"a": entry("F32", [2], 0, 8)},
        bytes(4),
        None,
        "does not fit bytes 0 to 8",
    ),
    "before the data": ({"a": entry("F32", [1], -4, 0)}, b"", None, "does not fit bytes -4 to 0"),
    "rows below zero": (
        {"a": entry("F32", [-1, -1], 0, 4)},
        bytes(4),
        None,
        "does not fit bytes 0 to 4",
    ),
    "a gap": ({"a": entry("F32", [1], 4, 8)}, bytes(8), None, "does not fit bytes 4 to 8"),
    "an overlap": (
        {"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 0, 4)},
        bytes(4),
        None,
        "does not fit bytes 0 to 4",
    ),
    "more data": ({"a": entry("F32", [1], 0, 4)}, bytes(8), None, "4 unused bytes follow"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_safetensors_file(tmp_path, case):
    header, data, length, says = BROKEN[case]
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"abc") if case == "too short" else tensors(path, header, data, length)
    assert says in refusal(path, read_safetensors)


# Folders of npy files, confidences, precision, parts


def test_rahimi_folder_of_npy_files(tmp_path, monkeypatch):
    np.save(tmp_path / "nll_logits.npy", TEST[0])
    with pytest.raises(BadInputError, match="no file"):
        Predictions(str(tmp_path)).sample(1, None)  # the labels are not there
    np.save(tmp_path / "nll_labels.npy", TEST[1])
    np.save(tmp_path / "nll_scores.npy", np.zeros(3))
    problem = Predictions(str(tmp_path), order="file")
    p, y = problem.sample(7, np.random.default_rng(0))
    np.testing.assert_allclose(p, softmax(TEST[0].astype(float)), rtol=1e-15)
    np.testing.assert_array_equal(y, TEST[1][:, 0])
    before = problem.fingerprint["sha256"]
    np.save(tmp_path / "nll_labels.npy", (TEST[1] + 1) % 3)
    assert problem.fingerprint["sha256"] != before  # either file changes what it is
    np.save(tmp_path / "nll_labels.npy", np.array([{}], dtype=object))
    assert "nll_labels.npy" in refusal(tmp_path, read_folder)


def test_confidences_of_predicted_labels(tmp_path):
    path = tmp_path / "a.npz"
    confidence = np.array([0.5, 1.0, 0.25], np.float32)
    np.savez(
        path, confidence=confidence, pred_label=np.int16([3, 1, 2]), true_label=np.int16([3, 0, 2])
    )
    problem = Predictions(str(path), top_label=True, order="file")
    p, y = problem.sample(3, np.random.default_rng(0))
    np.testing.assert_array_equal(p, confidence)
    np.testing.assert_array_equal(y, [1, 0, 1])
    assert problem.notions == ("top_label",) and p.dtype == np.float64
    with pytest.raises(BadInputError, match="top_label=true"):
        Predictions(str(path)).sample(1, None)


def test_32_bits_make_confidences_of_one(tmp_path):
    """p = 1/(1 + exp(-z)) of logits (0, z) is 1 from z = 17 in 32 bits, from z = 37 in 64 bits."""
    path = tmp_path / "a.npz"
    logits = np.array([[0.0, 10.0], [0.0, 20.0], [30.0, 0.0]])
    np.savez(path, logits=logits, labels=np.array([1, 1, 0]))
    in64 = Predictions(str(path), order="file").sample(3, None)[0]
    in32 = Predictions(str(path), order="file", float32=True).sample(3, None)[0]
    assert (in64 < 1).all() and (in32.max(axis=1) == 1).tolist() == [False, True, True]
    assert in32.dtype == np.float64 and (in32 == in32.astype(np.float32)).all()
    np.testing.assert_allclose(in32, in64, rtol=1e-6)
    np.savez(path, p=np.array([0.1, 1 - 1e-12]), y=np.array([0, 1]))
    np.testing.assert_array_equal(
        Predictions(str(path), order="file", float32=True).sample(2, None)[0],
        [np.float32(0.1), 1.0],
    )


def test_the_two_parts_of_a_pickle(tmp_path):
    path = str(stored(tmp_path, (VALIDATION, TEST)))
    for split, (logits, labels) in {"validation": VALIDATION, "test": TEST}.items():
        problem = Predictions(path, split=split, order="file")
        assert problem.n_max == len(labels) and problem.classes == 3
        p, y = problem.sample(4, np.random.default_rng(0))
        np.testing.assert_allclose(p, softmax(logits[:4].astype(float)), rtol=1e-15)
        np.testing.assert_array_equal(y, labels[:4, 0])
    np.savez(tmp_path / "one.npz", p=np.array([0.5]), y=np.array([1]))
    with pytest.raises(BadInputError, match="split is 'validation'"):
        Predictions(str(tmp_path / "one.npz"), split="validation").sample(1, None)


def test_a_caller_cannot_change_the_rows_that_are_kept(tmp_path):
    problem = Predictions(str(stored(tmp_path, (VALIDATION, TEST))), order="file")
    problem.sample(7, None)[0][:] = 0
    assert problem.sample(7, None)[0].sum() == pytest.approx(7)


@pytest.mark.parametrize(
    "options, says",
    [
        ({"split": "train"}, "split is 'train'; allowed are test, validation"),
        ({"order": "sorted"}, "order is 'sorted'; allowed are random, file"),
        ({"float32": "yes"}, "float32 is 'yes'; allowed are true, false"),
        ({"top_label": 1}, "top_label is 1; allowed are true, false"),
    ],
)
def test_options_that_are_none(options, says):
    with pytest.raises(BadInputError, match=says):
        Predictions("a.npz", **options)


# Keys


def test_options_change_the_key_and_their_defaults_do_not(tmp_path):
    path = str(stored(tmp_path, (VALIDATION, TEST)))
    plain = {"_target_": "harness.problems.Predictions", "path": path}
    keys = [
        build_component("problem", "a", {**plain, **options}).key
        for options in (
            {},
            {"split": "validation"},
            {"order": "file"},
            {"float32": True},
            {"order": "file", "float32": True},
        )
    ]
    assert len(set(keys)) == 5
    assert (
        build_component(
            "problem", "a", {**plain, "split": "test", "order": "random", "float32": False}
        ).key
        == keys[0]
    )


def test_the_key_of_a_published_file_stays():
    """The key depends on the published checksum alone, so that records of a network stay valid."""
    config = {
        "_target_": "harness.problems.Predictions",
        "path": "cifar_logits/cifar10_vgg16_keras_kumar2019.npz",
    }
    assert build_component("problem", "cifar10_vgg16", config).key == "0c505446a7c24bef"


# Published files that are absent, and that are there


@pytest.fixture
def listing(tmp_path, monkeypatch):
    """Write a listing of packs, and make an empty data folder."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path / "data"))

    def write(**entries):
        path = tmp_path / "packs.yaml"
        path.write_text(json.dumps(entries))
        monkeypatch.setattr(packs, "PACKS", path)
        return tmp_path / "data"

    return write


def described(path, digest=None, **more):
    return {
        "path": path,
        "sha256": digest,
        "bytes": None,
        "licence": "MIT",
        "citation": "nobody",
        "note": "somewhere else.",
        "rows": 7,
        "validation_rows": 5,
        "classes": 3,
        **more,
    }


def test_an_absent_published_file_skips_its_cells(listing, monkeypatch):
    listing(mine=described("logits.p", urls=["http://127.0.0.1:9/x"]), other=described("other.p"))
    problem = Predictions("logits.p")
    assert problem.unavailable == (
        "there is no file logits.p in the working folder or in the folder that CALHARNESS_DATA "
        "names; `calharness data fetch mine` gets it"
    )
    assert Predictions("other.p").unavailable.endswith("names; it is somewhere else")
    assert (problem.n_max, problem.default_n, problem.classes) == (7, 7, 3)
    assert problem.notions == problem.default_notions == ("top_label", "classwise", "canonical")
    assert dataclasses.replace(problem, split="validation").n_max == 5
    assert dataclasses.replace(problem, top_label=True).notions == ("top_label",)
    with pytest.raises(BadInputError, match="`calharness data fetch mine` gets it"):
        problem.sample(2, np.random.default_rng(0))
    monkeypatch.delenv("CALHARNESS_DATA")
    assert "CALHARNESS_DATA" in problem.unavailable


def test_cells_of_absent_packs_are_planned_and_skipped(monkeypatch, tmp_path):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    sizes = {
        "cifar100_lenet5_kull": 10000,
        "cifar10_densenet40_toplabel": 10000,
        "cifar10_vgg16": 10000,
        "derma_vit": 2005,
        "imagenet_pnasnet5_nll": 25000,
    }
    planned = plan(
        compose([f"problem=[{','.join(sizes)}]", "estimator=[binned15]", "notion=top_label"])
    )
    assert {c.problem: c.n for c in planned.cells} == sizes
    assert all("no file" in planned.skips[c.key] for c in planned.cells)
    with pytest.raises(BadInputError, match="mine.p"):
        plan(
            compose(
                ["problem=[derma_vit]", "problem.derma_vit.path=mine.p", "estimator=[binned15]"]
            )
        )


def test_only_the_published_file_itself_is_used(listing, tmp_path):
    good = stored(tmp_path, (VALIDATION, TEST)).read_bytes()
    digest = sha256(tmp_path / "logits.p")
    data = listing(mine=described("logits/a.p", digest), unknown=described("logits/b.p"))
    (data / "logits").mkdir()
    (data / "logits" / "a.p").write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
    )
    problem = Predictions("logits/a.p")
    assert (
        f"is not the published file, whose sha256 is {digest}; move it away" in problem.unavailable
    )
    assert problem.n_max == 7 and problem.fingerprint["sha256"] == digest
    with pytest.raises(BadInputError, match="published"):
        problem.sample(1, np.random.default_rng(0))
    (data / "logits" / "a.p").write_bytes(good)
    assert problem.unavailable is None and problem.sample(7, np.random.default_rng(0))[0].shape == (
        7,
        3,
    )
    (data / "logits" / "b.p").write_bytes(
        pickle.dumps((TEST, VALIDATION), 4)
    )  # none is known: the user's copy is taken
    assert Predictions("logits/b.p").n_max == 5


REAL = [name for name, pack in packs.packs().items() if pack.rows and not name.endswith("_labels")]


@pytest.mark.parametrize("name", REAL)
def test_every_pack_has_its_problem(name):
    pack, problem = packs.packs()[name], harness.load_problem(name)
    assert problem.path in (pack.path, str(Path(pack.path).parent)) and pack in packs.packs_at(
        problem.path
    )
    assert pack.rows and pack.classes and problem.top_label == (pack.group == "toplabel")


@pytest.mark.slow
def test_packs_that_are_there_are_what_their_listing_says():
    there = [name for name in REAL if harness.load_problem(name).unavailable is None]
    if not there:
        pytest.skip("no pack of predictions is below CALHARNESS_DATA")
    for name in there:
        pack, problem = packs.packs()[name], harness.load_problem(name)
        assert problem.n_max == pack.rows and problem.classes == (
            2 if problem.top_label else pack.classes
        ), name
        p, y = problem.sample(problem.n_max, np.random.default_rng(0))
        right = y if p.ndim == 1 else p.argmax(axis=1) == y
        confidence = p if p.ndim == 1 else p.max(axis=1)
        assert right.mean() > 3 / pack.classes and abs(confidence.mean() - right.mean()) < 0.25, (
            name
        )


@pytest.mark.parametrize(
    "name, accuracy, ones", [("densenet40", 0.9242, 5599), ("resnet110", 0.9356, 2885)]
)
def test_confidences_of_exactly_one(name, accuracy, ones):
    """A softmax in 32 bits makes many confidences 1. The data set's index states how many."""
    problem = harness.load_problem(f"cifar10_{name}_toplabel")
    if problem.unavailable:
        pytest.skip(problem.unavailable)
    p, y = problem.sample(10000, np.random.default_rng(0))
    assert y.mean() == pytest.approx(accuracy, abs=1e-12) and (p == 1).sum() == ones
