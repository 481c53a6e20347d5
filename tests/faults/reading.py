"""Mutate prediction files of four formats: npz, csv, parquet and pickle.

Valid files are damaged: bits, bytes, blocks, ends; members of an archive with a correct checksum;
columns of other types in a whole parquet file; words of a table of text; opcodes of a pickle; and
random bytes. Every input must give probabilities and labels, or a BadInputError of one line. Any
other outcome is a finding.

    PYTHONPATH=tests python -m faults.reading 100000 1     (number of inputs, seed)
"""

from __future__ import annotations

import collections
import contextlib
import gzip
import io
import pickle
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seed_of
from hypothesis import strategies as st

from harness.errors import BadInputError
from harness.math.notions import checked
from harness.sources import files

KINDS = (".npz", ".csv", ".parquet", ".pkl")
WORDS = (
    b"nan", b"inf", b"-1", b"1e400", b"0,5", b'"', b"", b"\x00", b"\xff\xfe", b"cat", b"True",
    b"1e-400", b"0x10", b"\r", b"\n",
    b";", b"\t", b"99999999999999999999", b"\xed\xa0\x80", b"p0", b"y",
)  # fmt: skip
OPCODES = b"(.0123456789FIJKLMNPQRSTUVX]abcdeghijlopqrstu}\x80\x81\x82\x83\x85\x86\x87\x88"
OPCODES += b"\x89\x8a\x8b\x8c\x8d\x8e\x90\x93\x94\x95\x96"


def _valid() -> dict[str, list[bytes]]:
    """Return readable files by kind."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 12)
    y, q, z = rng.integers(0, 3, 12), rng.random(12), rng.integers(0, 2, 12)
    files_of: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    for arrays in (
        {"p": p, "y": y},
        {"logits": np.log(p).astype(np.float32), "labels": y},
        {"probs": q, "labels": z > 0},
    ):
        for save in (np.savez, np.savez_compressed):
            save(buffer := io.BytesIO(), **arrays)
            files_of[".npz"].append(buffer.getvalue())
    table = pd.DataFrame({"p0": p[:, 0], "p1": p[:, 1], "p2": p[:, 2], "y": y})
    named = pd.DataFrame(
        {"id": range(12), "prob_cat": q, "prob_dog": 1 - q, "label": np.where(z, "cat", "dog")}
    )
    for frame in (table, named, pd.DataFrame({"p": q, "y": z})):
        files_of[".csv"] += [
            frame.to_csv(index=False).encode(),
            frame.to_csv(index=False, sep=";", decimal=",").encode(),
        ]
        files_of[".parquet"].append(frame.to_parquet())
    files_of[".csv"].append(table.to_csv(index=False, sep="\t").encode("utf-8-sig"))
    files_of[".parquet"].append(pd.DataFrame({"probs": list(p), "y": y}).to_parquet())
    pair = ((np.log(p), y[:, None]), (np.log(p[:5]).astype(np.float32), y[:5, None]))
    files_of[".pkl"] = [pickle.dumps(pair, protocol=protocol) for protocol in range(6)]
    return files_of


VALID = _valid()
MUTATION = st.tuples(
    st.sampled_from([0, 0, 1, 2, 3, 4, 5, 6, 6, 7]),
    st.integers(0, 2**24),
    st.integers(0, 2**16),
    st.binary(min_size=1, max_size=8),
)


def mutated(data: bytes, changes: list[tuple[int, int, int, bytes]], kind: str) -> bytes:
    """Apply a list of changes (which, where, how much, bytes)."""
    content = bytearray(data)
    for which, where, much, new in changes:
        place = where % (len(content) + 1)
        size = much % 64
        if which == 0 and content:
            content[place % len(content)] ^= 1 << (much % 8)
        elif which == 1:
            content[place : place + len(new)] = new
        elif which == 2:
            del content[place:]
        elif which == 3:
            del content[place : place + size]
        elif which == 4:
            content[place:place] = content[place : place + size]
        elif which == 5:
            content[place:place] = new
        elif which == 6:
            content[place : place + (much % 3)] = WORDS[much % len(WORDS)]
        elif which == 7 and content:
            content[place % len(content)] = (
                OPCODES[much % len(OPCODES)] if kind == ".pkl" else much % 256
            )
    return bytes(content)


def _inside(data: bytes, changes: list[tuple[int, int, int, bytes]], kind: str) -> bytes:
    """Change a member of an archive, with a correct checksum, or the type of a parquet column."""
    if kind == ".npz":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = list(members)[changes[0][1] % len(members)]
        members[name] = mutated(members[name], changes, kind)
        with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
            for each, content in members.items():
                archive.writestr("../" * (changes[0][2] % 3) + each, content)
        return buffer.getvalue()
    if kind == ".parquet":
        frame = pd.read_parquet(io.BytesIO(data))
        column = frame.columns[changes[0][1] % len(frame.columns)]
        frame[column] = _others(len(frame))[changes[0][2] % len(_others(1))]
        return frame.to_parquet()
    return (
        gzip.compress(mutated(data, changes, kind))
        if kind == ".csv"
        else mutated(data, changes, kind)
    )


def _others(n: int) -> list[object]:
    """Return columns of other types, with n rows."""
    stamp = pd.Timestamp("2020-01-01")
    return [
        [None] * n, ["text"] * n, [b"bytes"] * n, [stamp] * n, [stamp - stamp] * n, [True] * n,
        [np.inf] * n, [-1] * n,
        [[0.5, 0.5]] * n, [[0.5]] * (n - 1) + [[]], [[None, 1.0]] * n, [{"a": 1}] * n,
        [2**63 - 1] * n, [np.nan] * n,
        pd.Categorical(["a"] * n), pd.array([1] * n, dtype="Int64"),
        pd.array([None] * n, dtype="Float64"), [[["a"]]] * n,
        [pd.Period("2020-01")] * n, [1e308] * n, [[]] * n, pd.array(["x"] * n, dtype="string"),
        [[{"a": 1}]] * n,
    ]  # fmt: skip


@st.composite
def inputs(draw) -> tuple[str, bytes]:
    """Draw (ending of the file's name, its bytes)."""
    kind = draw(st.sampled_from(KINDS))
    if draw(st.integers(0, 19)) == 0:
        return kind, draw(st.binary(max_size=300))
    data = VALID[kind][draw(st.integers(0, len(VALID[kind]) - 1))]
    changes = draw(st.lists(MUTATION, min_size=1, max_size=3))
    if draw(st.booleans()):
        return kind, mutated(data, changes, kind)
    packed = _inside(data, changes, kind)
    return (f"{kind}.gz" if packed[:2] == b"\x1f\x8b" else kind), packed


def outcome(kind: str, data: bytes, folder: Path) -> str:
    """Return 'read' or 'refused' for an input, else the finding."""
    path = folder / f"preds{kind}"
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            p, y, message, _ = files.read(path)
            checked(p, y)
            return (
                "read"
                if "\n" not in message
                else f"{len(message.splitlines())} lines of description"
            )
        except BadInputError as error:
            message = str(error)
            return (
                "refused"
                if message and "\n" not in message and "\r" not in message
                else f"a message of several lines: {message[:200]!r}"
            )
        except BaseException as error:
            ours = [
                frame
                for frame in traceback.extract_tb(error.__traceback__)
                if "/harness/" in frame.filename
            ]
            where = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else "?"
            return f"{type(error).__name__} at {where}: {' '.join(str(error).split())[:150]}"


def search(examples: int, folder: Path, seed: int = 0) -> tuple[dict, list]:
    """Return {(kind, outcome): count} and findings [(kind, outcome, bytes)]."""
    counts: collections.Counter = collections.Counter()
    findings: list[tuple[str, str, bytes]] = []

    @seed_of(seed)
    @settings(
        max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(inputs())
    def try_input(given_input):
        kind, data = given_input
        came = outcome(kind, data, folder)
        counts[kind, came if came in ("read", "refused") else "finding"] += 1
        if came not in ("read", "refused") and len(findings) < 200:
            findings.append((kind, came, data))

    try_input()
    return dict(counts), findings


def main() -> int:
    """Search, and print a table and the findings. Return 1 if there are any."""
    examples, seed = (int(text) for text in (*sys.argv[1:], "2000", "0")[:2])
    with contextlib.suppress(ValueError):
        resource.setrlimit(
            resource.RLIMIT_DATA, (4 << 30, resource.getrlimit(resource.RLIMIT_DATA)[1])
        )
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        counts, findings = search(examples, Path(folder), seed)
    for kind in sorted({kind for kind, _ in counts}):
        row = {came: count for (kind_of, came), count in counts.items() if kind_of == kind}
        print(
            f"  {kind:<10}"
            + "".join(f"{row.get(came, 0):>10,} {came}" for came in ("read", "refused", "finding"))
        )
    once = {came.partition(":")[0]: (kind, came, data) for kind, came, data in findings}
    for kind, came, data in list(once.values())[:30]:
        print(f"  finding in {kind}: {came}\n    {data[:300]!r}")
    print(
        f"  {sum(counts.values()):,} inputs, {len(findings)} findings, "
        f"{time.process_time() - started:.0f} s of CPU"
    )
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
