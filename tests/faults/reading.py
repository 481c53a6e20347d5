"""Damage prediction files of four formats: npz, csv, parquet and pickle.

Bits, bytes, blocks and ends of valid files change; members of an archive with a correct checksum;
words of a table of text; columns of a whole parquet file get other types. Every input must give
probabilities and labels, or a BadInputError of one line, within 20 s of CPU. Any other outcome is a
finding.

    PYTHONPATH=tests python -m faults.reading 100000 1     (number of inputs, seed)
"""

from __future__ import annotations

import collections
import gzip
import io
import pickle
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.math.notions import checked
from harness.sources import files

KINDS = (".npz", ".csv", ".csv.gz", ".parquet", ".pkl")
SECONDS = 20.0  # CPU time for an input
WORDS = [
    b"nan", b"inf", b"-1", b"1e400", b"0,5", b'"', b"", b"\x00", b"\xff\xfe", b"cat", b"True",
    b"0x10", b"\r", b"\n", b";", b"\t", b"99999999999999999999", b"\xed\xa0\x80", b"p0", b"y",
]  # fmt: skip
OPCODES = b"(.0123456789FIJKLMNPQRSTUVX]abcdeghijlopqrstu}\x80\x81\x82\x85\x8c\x90\x93\x94\x95\x96"


def _saved(save: Any, *values: Any, **named: Any) -> bytes:
    save(buffer := io.BytesIO(), *values, **named)
    return buffer.getvalue()


def _valid() -> dict[str, list[bytes]]:
    """Return readable files by kind."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 12)
    y, q, z = rng.integers(0, 3, 12), rng.random(12), rng.integers(0, 2, 12)
    arrays = [{"p": p, "y": y}, {"logits": np.log(p).astype("f4"), "labels": y}]
    arrays += [{"probs": q, "labels": z > 0}]
    frames = [
        pd.DataFrame({"p0": p[:, 0], "p1": p[:, 1], "p2": p[:, 2], "y": y}),
        pd.DataFrame({"prob_cat": q, "prob_dog": 1 - q, "label": np.where(z, "cat", "dog")}),
        pd.DataFrame({"p": q, "y": z}),
    ]
    texts = [frame.to_csv(index=False) for frame in frames]
    texts += [frame.to_csv(index=False, sep=";", decimal=",") for frame in frames]
    texts += ["\ufeff" + frames[0].to_csv(index=False, sep="\t")]
    pair = ((np.log(p), y[:, None]), (np.log(p[:5]).astype("f4"), y[:5, None]))
    lists = pd.DataFrame({"probs": list(p), "y": y})
    return {
        ".npz": [_saved(save, **a) for a in arrays for save in (np.savez, np.savez_compressed)],
        ".csv": [text.encode() for text in texts],
        ".csv.gz": [text.encode() for text in texts],  # packed after the damage
        ".parquet": [frame.to_parquet() for frame in (*frames, lists)],
        ".pkl": [pickle.dumps(pair, protocol) for protocol in range(6)],
    }


VALID = _valid()


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Change one to three places of the data."""
    content = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at, size = int(rng.integers(len(content) + 1)), int(rng.integers(64))
        word = WORDS[rng.integers(len(WORDS))]
        change = int(rng.integers(7))
        if change == 0 and at < len(content):
            content[at] ^= 1 << rng.integers(8)
        elif change == 1:
            content[at : at + 1] = bytes([OPCODES[rng.integers(len(OPCODES))]])
        elif change == 2:
            content[at : at + size % 9] = rng.bytes(size % 9)
        elif change == 3:
            del content[at : at + size]
        elif change == 4:
            content[at:at] = content[at : at + size]
        elif change == 5:
            content[at : at + size % 3] = word
        elif size < 8:  # the end is lost
            del content[at:]
    return bytes(content)


def _other_columns(n: int) -> list[Any]:
    """Return columns of other types, with n rows."""
    stamp = pd.Timestamp("2020-01-01")
    return [
        [None] * n, ["text"] * n, [b"bytes"] * n, [stamp] * n, [stamp - stamp] * n, [True] * n,
        [np.inf] * n, [-1] * n, [1e308] * n, [2**63 - 1] * n, [np.nan] * n, [[]] * n,
        [[0.5, 0.5]] * n, [[0.5]] * (n - 1) + [[]], [[None, 1.0]] * n, [{"a": 1}] * n,
        [[["a"]]] * n, [[{"a": 1}]] * n, [pd.Period("2020-01")] * n, pd.Categorical(["a"] * n),
        pd.array([1] * n, dtype="Int64"), pd.array([None] * n, dtype="Float64"),
        pd.array(["x"] * n, dtype="string"),
    ]  # fmt: skip


def draw(rng: np.random.Generator) -> tuple[str, bytes]:
    """Return the ending of a file's name, and the bytes of a damaged file."""
    kind = str(rng.choice(KINDS))
    data = VALID[kind][rng.integers(len(VALID[kind]))]
    is_inside = rng.random() < 0.5
    if kind == ".csv.gz":
        return kind, gzip.compress(damaged(data, rng))
    if kind == ".npz" and is_inside:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = str(rng.choice(list(members)))
        members[name] = damaged(members[name], rng)
        with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr("../" * rng.integers(2) + name, content)
        return kind, buffer.getvalue()
    if kind == ".parquet" and is_inside:
        frame = pd.read_parquet(io.BytesIO(data))
        columns = _other_columns(len(frame))
        frame[rng.choice(frame.columns)] = columns[rng.integers(len(columns))]
        return kind, frame.to_parquet()
    return kind, damaged(data, rng)


class SlowError(BaseException):
    """An input that is not read in time. It is no Exception, so no reader catches it."""


def _stop(number: int, frame: Any) -> None:
    raise SlowError(f"not read in {SECONDS:g} s")


def outcome(kind: str, data: bytes, folder: Path) -> str:
    """Return 'read' or 'refused' for an input, else the finding."""
    path = folder / f"preds{kind}"
    path.write_bytes(data)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p, y, message, *_ = files.read(path)
            checked(p, y)
            came = "read"
    except BadInputError as error:
        message, came = str(error), "refused"
    except BaseException as error:
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "/harness/" in f.filename]
        where = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else "?"
        return f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:150]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return came if len(message.splitlines()) == 1 else f"several lines: {message[:200]!r}"


def search(count: int, folder: Path, seed: int = 0) -> tuple[dict, list]:
    """Return {(kind, outcome): count} and findings [(kind, outcome, bytes)]."""
    rng, counts, findings = np.random.default_rng(seed), collections.Counter(), []
    for _ in range(count):
        kind, data = draw(rng)
        came = outcome(kind, data, folder)
        is_fine = came in ("read", "refused")
        counts[kind, came if is_fine else "finding"] += 1
        findings += [] if is_fine else [(kind, came, data)]
    return dict(counts), findings


def main() -> int:
    """Search, and print a table and the findings. Return 1 if there are any."""
    count, seed = (int(text) for text in (*sys.argv[1:], "2000", "0")[:2])
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    with tempfile.TemporaryDirectory() as folder:
        counts, findings = search(count, Path(folder), seed)
    for kind in KINDS:
        row = [f"{counts.get((kind, came), 0):>9,} {came}" for came in ("read", "refused")]
        print(f"  {kind:<9}{''.join(row)}")
    once = {came.partition(":")[0]: (kind, came, data) for kind, came, data in findings}
    for kind, came, data in once.values():
        print(f"  finding in {kind}: {came}\n    {data[:300]!r}")
    print(f"  {count:,} inputs, {len(findings)} findings, {time.process_time():.0f} s of CPU")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
