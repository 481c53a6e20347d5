"""Prediction files: npz, csv, parquet, or logits as published (`sources.logits`) -> (probabilities, labels)."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import numpy as np
from scipy import special

from harness.errors import BadInput
from harness.notions import numeric
from harness.sources import logits as published

PROBABILITY_NAMES = ("p", "probs", "probabilities", "proba", "confidence")
LOGIT_NAMES = ("logits", "logit")
LABEL_NAMES = ("y", "labels", "label", "target", "correct")
TOP_LABEL_NAMES = ("confidence", "pred_label", "true_label")
PICKLES = (".p", ".pkl")
TENSORS = ".safetensors"


def find(path: str) -> Path:
    """The file as given (relative to the working folder), else below the folder that CALHARNESS_DATA names; also a folder with
    nll_logits.npy and nll_labels.npy."""
    given = Path(path).expanduser()
    data = os.environ.get("CALHARNESS_DATA")
    candidates = [given] + ([Path(data) / given] if data and not given.is_absolute() else [])
    for candidate in candidates:
        if all(file.is_file() for file in members(candidate)):
            return candidate.resolve()
    unset = "; CALHARNESS_DATA, the folder of downloaded data, is not set"
    hint = " or below the folder that CALHARNESS_DATA names" if data else unset
    raise BadInput(f"no file {path} here{hint}.")


def members(path) -> list[Path]:
    """The files that a path stands for: itself, or the two of a folder of npy files."""
    path = Path(path)
    return [path / name for name in published.FOLDER_FILES] if path.is_dir() else [path]


def stamp(path) -> tuple:
    """Time of change and size of every file of a path: while they stay, what was read of it is not read again."""
    return tuple((s.st_mtime_ns, s.st_size) for s in (file.stat() for file in members(path)))


def sha256(path) -> str:
    """Checksum of a file, as 64 hexadecimal digits; of a folder of npy files, that of its files' checksums."""
    if Path(path).is_dir():
        return hashlib.sha256("\n".join(map(sha256, members(path))).encode()).hexdigest()
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def read_predictions(path, probabilities=None, logits=None, labels=None, top_label=False, split="test", float32=False):
    """Read (p, y). npz: one array of probabilities (named p, probs, probabilities, proba or confidence) or of logits, and one
    of labels (y, labels, label, target or correct). csv and parquet: the same names for single columns, or numbered columns
    p0, p1, ... / prob_0, ... / logit_0, ...; the arguments name other arrays, or column prefixes. Logits become
    probabilities by softmax (two or more columns) or the logistic function (one column).

    .p and .pkl: ((logits, labels) of validation, (logits, labels) of test); .safetensors: logits_test and labels_test, or
    logits_val and labels_val; `split`, test or validation, chooses. A folder: nll_logits.npy and nll_labels.npy. Arrays
    confidence, pred_label and true_label are confidences and whether each was right, for which `top_label` must be true.
    `float32` computes the softmax in 32 bits; stored probabilities are rounded to them.
    """
    path = Path(path)
    if not path.is_dir() and path.stat().st_size == 0:
        raise BadInput(f"{path} is an empty file; probabilities and labels are needed.")
    arrays = _arrays(path, split, (probabilities, logits))
    if not labels and set(TOP_LABEL_NAMES) <= set(arrays):
        if not top_label:
            raise BadInput(f"{path} holds confidences of predicted labels; they are judged with top_label=true.")
        arrays["correct"] = (arrays.pop("pred_label") == arrays.pop("true_label")).astype(np.int64)
    y = _pick(arrays, labels, LABEL_NAMES, path, "labels", needed=True)
    p = z = None  # naming one of the two means that the other, if it is there, is not asked for
    if probabilities or not logits:
        p = _pick(arrays, probabilities, PROBABILITY_NAMES, path, "probabilities", needed=False)
    if logits or not probabilities:
        z = _pick(arrays, logits, LOGIT_NAMES, path, "logits", needed=False)
    if (p is None) == (z is None):
        what = "both probabilities and logits" if p is not None else "neither probabilities nor logits"
        raise BadInput(f"{path} holds {what} among {', '.join(arrays)}; name one by probabilities= or logits=.")
    y = y.reshape(-1) if y.ndim == 2 and 1 in y.shape else y
    if p is None:
        p = softmax(numeric("logits", z).astype(np.float32 if float32 else np.float64), path).astype(np.float64)
    elif float32:
        p = numeric("p", p).astype(np.float32).astype(np.float64)
    if p.ndim == 2 and p.shape[1] == 1:
        p = p[:, 0]
    return p, y


def softmax(z, path="logits"):
    """(n, k) logits -> probabilities, in the precision given; (n,) -> logistic. Infinite or NaN logits are refused."""
    if not np.isfinite(z).all():
        raise BadInput(f"{path}: {int((~np.isfinite(z)).sum())} logits are NaN or infinite; finite numbers are needed.")
    return special.expit(z.reshape(-1)) if z.ndim == 1 or z.shape[1] == 1 else special.softmax(z, axis=1)


def _arrays(path, split, prefixes):
    """{name: array} of a file or folder, of one part where it has two."""
    suffix = "" if path.is_dir() else path.suffix.lower()
    if suffix in PICKLES:
        return published.read_parts(path)[split]
    if suffix == TENSORS:
        end = {"test": "_test", "validation": "_val"}[split]
        found = published.read_safetensors(path)
        arrays = {name.removesuffix(end): values for name, values in found.items() if name.endswith(end)}
        if not arrays:
            raise BadInput(f"{path} holds {', '.join(found) or 'nothing'}; names that end in {end} are needed.")
        return arrays
    if split != "test":
        raise BadInput(f"split is {split!r}, but {path.name} has one part; {', '.join((*PICKLES, TENSORS))} have two.")
    if path.is_dir():
        return published.read_folder(path)
    if suffix not in (".npz", ".csv", ".parquet"):
        raise BadInput(
            f"{path.name} ends in {suffix or 'nothing'}; allowed are .npz, .csv and .parquet, "
            f"and of published logits {', '.join((*PICKLES, TENSORS))} and folders of .npy."
        )
    try:
        return _npz(path) if suffix == ".npz" else _frame(path, suffix, prefixes)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(
            f"{path} cannot be read as {suffix}: {type(error).__name__}: {str(error).partition(chr(10))[0]}."
        ) from error


def _npz(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _frame(path, suffix, prefixes):
    import pandas as pd

    frame = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    if len(frame) == 0:
        raise BadInput(f"{path} holds no rows; at least one sample is needed.")
    arrays = {str(c): frame[c].to_numpy() for c in frame.columns}
    known = (*PROBABILITY_NAMES, "prob", *LOGIT_NAMES, *(p for p in prefixes if p))
    for prefix in known:
        numbered = {}
        for column in arrays:
            match = re.fullmatch(re.escape(prefix) + r"_?(\d+)", column)
            if match and int(match[1]) in numbered:
                raise BadInput(f"{path} holds both {numbered[int(match[1])]} and {column}; one column per class is needed.")
            if match:
                numbered[int(match[1])] = column
        if len(numbered) > 1:
            order = sorted(numbered)
            if order != list(range(order[0], order[0] + len(order))):
                raise BadInput(f"{path}: the columns {prefix}* are numbered {order}; a gap leaves a class out.")
            name = "probs" if prefix == "prob" else prefix
            arrays[name] = np.column_stack([arrays.pop(numbered[j]) for j in order])
    return arrays


def _pick(arrays, asked, names, path, what, needed):
    if asked:
        if asked not in arrays:
            raise BadInput(f"{path} has no array {asked!r} for {what}; it holds {', '.join(arrays)}.")
        return arrays[asked]
    found = [name for name in names if name in arrays]
    if len(found) > 1:
        raise BadInput(f"{path} holds {' and '.join(found)}; say which are the {what} by {what}=.")
    if needed and not found:
        raise BadInput(f"{path} holds {', '.join(arrays)}; none is named {', '.join(names)}: name the {what} by {what}=.")
    return arrays[found[0]] if found else None
