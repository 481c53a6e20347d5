"""Compact records of one experiment, small enough for version control: everything that it shows is drawn from them again.

<folder>/<experiment>.parquet    one row per estimate, or per cell without one, in the order of the plan's cells

A cell is stored by its position in the plan, whose keys are a pure function of the configuration; a digest of all of them says
whether the plan is still the one that was stored, else the file is refused. Of problem and estimator nothing is stored but that.
Where the plan depends on data at hand (a family has as many problems as there are files), the file also holds what the plan is
made of, problems by their keys and parameters and how they are drawn, so that all is shown without the data, or beside others.
Such a file is refused where the configuration, an estimator, or a problem that needs no data is another one now.
Estimates are stored bit for bit, a `value` that equals its bound once. Rounded are seconds (three digits), and in files of more
than EXACT rows the numbers among diagnostics (six digits). peak_mb and the time of writing are left out. The truths of the
problems and what is known of the runs are in the file's metadata, compressed JSON.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.common import buckets
from harness.common.escaping import escape
from harness.common.seeds import digest
from harness.common.version import VERSION
from harness.common.writing import stated_error, whole_file
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.plan.cells import Block, Cell, Cells, Draws
from harness.plan.components import Component
from harness.plan.plan import Plan, chosen
from harness.problems.base import ProblemSpec
from harness.records import provenance, schema
from harness.records.parts import KEY, write_table
from harness.records.truths import read_truths, write_truths

FOLDER = "records_of"
EXACT = 20_000  # rows up to which diagnostics are stored to the last digit
TEXTS = ("estimand", "kind", "status", "reason", "run_id")
TIMES = ("seconds", "cpu_seconds")
OF_A_RUN = ("state", "seconds", "git", "processor", "versions")  # of runs/<run id>.json
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


@dataclass(frozen=True)
class Elsewhere:
    """A problem on data that may not be here: its records have its key and parameters, nothing is drawn from it."""

    rows_of_a_file: bool


def plan_digest(plan: Plan) -> str:
    """Identifies the cells of a plan and their order."""
    return digest("|".join(cell.key for cell in plan.cells))


def path_of(folder: Path, name: str) -> Path:
    """Where the records of an experiment are stored."""
    return Path(folder) / f"{name}.parquet"


def store(frame: pd.DataFrame, plan: Plan, out: Path, path: Path) -> Path:
    """Write the records of a plan's cells, as of `load_records`, to a file; truths and runs are those of the results folder."""
    position = {cell.key: number for number, cell in enumerate(plan.cells)}
    frame = frame.assign(cell=frame["key"].map(position)).sort_values(
        ["cell", "estimand"], kind="stable", ignore_index=True
    )
    value, low, high = (frame[name].to_numpy(dtype=float) for name in ("value", "low", "high"))
    bound = np.where(np.isnan(high), low, high)
    columns: dict[str, Any] = {"cell": pa.array(frame["cell"].to_numpy(dtype=np.uint32))}
    for name in TEXTS:
        columns[name] = pa.array(
            frame[name].tolist(), pa.string(), from_pandas=True
        ).dictionary_encode()
    columns["value"] = pa.array(value, mask=value == bound)
    for name, numbers in (
        ("low", low),
        ("high", high),
        ("level", frame["level"].to_numpy(dtype=float)),
    ):
        columns[name] = pa.array(numbers, mask=np.isnan(numbers))
    for name in TIMES:
        columns[name] = pa.array(
            _rounded(frame[name].to_numpy(dtype=float), 3), pa.float32(), from_pandas=True
        )
    templates, numbers = _apart(frame["diagnostics"])
    exact = len(frame) <= EXACT
    columns["template"] = pa.array(templates, pa.string()).dictionary_encode()
    columns["numbers"] = pa.array(numbers, pa.list_(pa.float64() if exact else pa.float32()))
    run_ids = sorted(frame["run_id"].dropna().unique())
    told = {
        "experiment": path.stem, "plan": plan_digest(plan), "cells": len(plan.cells), "version": VERSION,
        "truths": {p.key: held for p in plan.problems.values() if (held := read_truths(out, p.key))},
        "runs": {run_id: _of_run(out, run_id) for run_id in run_ids},
    }  # fmt: skip
    made_of = _made_of(plan)
    if made_of:
        told["made_of"] = made_of
    packed = base64.b85encode(zlib.compress(json.dumps(told, sort_keys=True).encode(), 9))
    table = pa.table(columns)
    split = ["value", "low", "high", *([] if exact else ["numbers.list.element"])]
    coded = [*TEXTS, *TIMES, "level", "template"]
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        with pq.ParquetWriter(
            temporary, table.schema, compression="zstd", compression_level=19, use_dictionary=coded, use_byte_stream_split=split,
            column_encoding={"cell": "DELTA_BINARY_PACKED"}, write_statistics=False, store_schema=False,
        ) as writer:  # fmt: skip
            writer.write_table(table)
            writer.add_key_value_metadata({"calharness": packed})
    return path


def metadata(path: Path) -> dict[str, Any]:
    """What a stored file says of itself: experiment, plan, cells, version, truths, runs; and of a plan that depends on data, what
    it is made of."""
    try:
        told: dict[str, Any] = json.loads(
            zlib.decompress(base64.b85decode(pq.read_metadata(path).metadata[b"calharness"]))
        )
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise BadInputError(
            f"{path} holds no stored records ({type(error).__name__}); put back an earlier one."
        ) from error
    return told


def plan_of(path: Path, settings: Settings, planned: Callable[[], Plan]) -> Plan:
    """The plan whose records a file holds: the one that is `planned` here, unless it depends on data at hand. Then it is the one
    that was stored, with the cells that were skipped there; the data may be absent here, or others.

    Raises
    ------
    BadInputError
        If the configuration, or what makes the numbers, is another one than that of the file.
    """
    told = metadata(path) if path.is_file() else {}
    made_of = told.get("made_of")
    if made_of is None:
        return planned()
    try:
        here = planned()
    except BadInputError:  # without its data not even the problems are known
        here = None
    if made_of["configuration"] != _configuration(settings):
        raise BadInputError(_refused(path, told, here))
    estimators = chosen("estimator", settings.estimator)
    plain = {
        one["origin"] for one in made_of["problems"] if not one["data"]
    }  # a pure function of the configuration
    made = chosen("problem", {name: settings.problem[name] for name in plain}) if plain else {}
    problems: dict[str, Component] = {}
    blocks: list[Block] = []
    for one in made_of["problems"]:
        name = one["name"]
        if one["data"]:  # the same data have the same key
            now = here.problems.get(name) if here else None
            known = now is None or now.parameters != one["parameters"] or now.key == one["key"]
        else:
            known = name in made and made[name].key == one["key"]
        if not known or not estimators.keys() >= set(one["estimators"]):
            raise BadInputError(_refused(path, told, here))
        held = Elsewhere(one["rows_of_a_file"])
        problems[name] = Component(
            name, {}, held, one["parameters"], one["key"], one["origin"], one["key"]
        )
        keys = {estimator: estimators[estimator].key for estimator in one["estimators"]}
        blocks.append(
            Block(
                name, one["key"], settings.seed, Draws(one["reps"], one["n"]), one["notions"], keys
            )
        )
    all_rows = frozenset((name, n) for name, n in made_of["all_rows"])
    cells = Cells(blocks)
    found = Plan(
        settings,
        problems,
        {name: estimators[name] for name in made_of["estimators"]},
        cells,
        all_rows=all_rows,
    )
    if plan_digest(found) != told["plan"]:
        raise BadInputError(_refused(path, told, here))
    rows = pq.read_table(path, columns=["cell", "status", "reason"]).to_pylist()
    ordered = list(cells)
    reasons = {
        ordered[row["cell"]].kind: row["reason"] for row in rows if row["status"] == "skipped"
    }
    return replace(found, reasons=reasons)


def _configuration(settings: Settings) -> str:
    """Identifies what a configuration says of its cells."""
    values = settings.to_dict()
    said = {
        name: values[name]
        for name in ("problem", "estimator", "n", "reps", "seed", "notion", "bootstrap", "ranking")
    }
    return digest(json.dumps(said, sort_keys=True, default=str))


def _made_of(plan: Plan) -> dict[str, Any] | None:
    """What a plan that depends on data is made of; None of another plan, and of a sweep and a ranking, which have other forms."""
    of_data = {name: has_data(one.object) for name, one in plan.problems.items()}
    if (
        not any(of_data.values())
        or plan.points
        or plan.settings.ranking
        or not plan.settings.estimator.keys() >= plan.estimators.keys()
    ):
        return None
    held: dict[str, list[Cell]] = {name: [] for name in plan.problems}
    for cell in plan.cells:
        held[cell.problem].append(cell)
    problems, again = [], []
    for name, cells in held.items():
        one = plan.problems[name]
        each = {
            field: list(dict.fromkeys(getattr(c, field) for c in cells))
            for field in ("rep", "n", "notion", "estimator")
        }
        told = {
            "name": name, "key": one.key, "parameters": one.parameters, "origin": one.origin, "data": of_data[name],
            "rows_of_a_file": ProblemSpec.of(one.object).rows_of_a_file, "reps": each["rep"], "n": each["n"],
            "notions": each["notion"], "estimators": each["estimator"],
        }  # fmt: skip
        problems.append(told)
        keys = {estimator: plan.estimators[estimator].key for estimator in each["estimator"]}
        again.append(
            Block(
                name,
                one.key,
                plan.settings.seed,
                Draws(each["rep"], each["n"]),
                each["notion"],
                keys,
            )
        )
    if Cells(again) != plan.cells:
        return None
    return {
        "configuration": _configuration(plan.settings), "problems": problems, "estimators": list(plan.estimators),
        "all_rows": sorted(plan.all_rows),
    }  # fmt: skip


def has_data(value: Any) -> bool:
    """Whether a problem, or one inside it, is of data, at hand or absent."""
    if isinstance(value, (list, tuple)):
        return any(has_data(one) for one in value)
    declared = any(
        getattr(value, name, None) for name in ("fingerprint", "rows_of_a_file", "unavailable")
    )
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return declared or any(has_data(getattr(value, field.name)) for field in fields)


def _refused(path: Path, told: dict[str, Any], plan: Plan | None) -> str:
    here = (
        f"the {len(plan.cells):,} cells that {told['experiment']} has here"
        if plan
        else f"those of {told['experiment']} here"
    )
    return (
        f"{path.name} holds records of {told['cells']:,} cells, which are not {here}: its configuration, or the data that it is "
        "computed on, is another one."
    )


def unpack(path: Path, plan: Plan, out: Path) -> int:
    """Write the stored records of a plan, with truths and runs, into a results folder.

    Returns the number of rows.

    Raises
    ------
    BadInputError
        If the file is of a plan with other cells.
    """
    frame, told = _decoded(path, plan, diagnostics=True)
    for name in TEXTS:
        frame[name] = frame[name].map(
            {text: escape(text) for text in frame[name].dropna().unique()}
        )
    columns = {
        field.name: pa.array(frame[field.name].tolist(), field.type, from_pandas=True)
        for field in schema.schema()
        if field.name != "written"
    }
    columns["written"] = pa.array(np.full(len(frame), 1e-3))  # anything computed here is later
    write_table(out, pa.table(columns, schema.schema()))
    for key, truths in told["truths"].items():
        write_truths(out, key, {**read_truths(out, key), **truths})
    for run_id, run in told["runs"].items():
        if not KEY.fullmatch(run_id):
            raise BadInputError(f"{path} names a run {run_id!r}; letters and digits are needed.")
        content = {"run_id": run_id, "cells": {"todo": 0}, **run}
        buckets.write_json(out, f"runs/{run_id}.json", content)
    return len(frame)


def frame_of(path: Path, plan: Plan) -> pd.DataFrame:
    """Return the stored records of a plan with their truths, as `load_records` does.

    Diagnostics and what is not stored are empty.

    Raises
    ------
    BadInputError
        If the file is of a plan with other cells.
    """
    frame, told = _decoded(path, plan, diagnostics=False)
    keys = ["problem_key", "notion", "estimand"]
    wanted = frame[keys].drop_duplicates()
    truths = [
        told["truths"].get(key, {}).get(f"{notion}|{name}") or (np.nan, np.nan)
        for key, notion, name in wanted.to_numpy()
    ]
    wanted["truth"] = [float(truth[0]) for truth in truths]
    wanted["truth_error"] = [stated_error(float(truth[1])) for truth in truths]
    return frame.merge(wanted, on=keys, how="left")


def _decoded(path: Path, plan: Plan, diagnostics: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of a stored file with the columns of records, and its metadata."""
    told = metadata(path)
    if told["plan"] != plan_digest(plan):
        raise BadInputError(_refused(path, told, plan))
    names = ["cell", *TEXTS, "value", "low", "high", "level", *TIMES]
    table = pq.read_table(path, columns=[*names, *(["template", "numbers"] if diagnostics else [])])
    positions, cells = table["cell"].to_numpy(), list(plan.cells)
    held: dict[str, Any] = dict.fromkeys(schema.COLUMNS)
    for name in ("key", "notion", "n", "rep", "seed"):
        kind = schema.dtype(schema.COLUMNS[name])
        held[name] = np.array([getattr(cell, name) for cell in cells], dtype=kind)[positions]
    for group, made in (("problem", plan.problems), ("estimator", plan.estimators)):
        codes = {name: code for code, name in enumerate(made)}
        code = np.array([codes[getattr(cell, group)] for cell in cells], dtype=int)[positions]
        fields = {group: "id", f"{group}_key": "key", f"{group}_parameters": "parameters"}
        for name, field in fields.items():
            held[name] = np.array([getattr(one, field) for one in made.values()], dtype=object)[
                code
            ]
    for name in TEXTS:
        held[name] = table[name].to_pandas().to_numpy(dtype=object)
    if diagnostics:
        exact = str(table.schema.field("numbers").type.value_type) == "double"
        pairs = zip(table["template"].to_pylist(), table["numbers"].to_pylist())
        held["diagnostics"] = [
            text and _together(text, given or [], exact) for text, given in pairs
        ]
    frame = pd.DataFrame({**held, **_numbers(table)}, index=range(len(positions)))
    floats = [name for name, kind in schema.COLUMNS.items() if kind == "float"]
    return frame.astype(dict.fromkeys(floats, "float64")), told


def _numbers(table: pa.Table) -> dict[str, NDArray[np.float64]]:
    """Return values, bounds and times of a stored table as arrays, NaN where there is nothing."""
    names = ("value", "low", "high", "level")
    value, low, high, level = (table[name].to_pandas().to_numpy(dtype=float) for name in names)
    omitted = table["value"].is_null().to_numpy()
    value = np.where(omitted, np.where(np.isnan(high), low, high), value)
    times = {name: _rounded(table[name].to_pandas().to_numpy(dtype=float), 3) for name in TIMES}
    return {"value": value, "low": low, "high": high, "level": level, **times}


def _rounded(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Return numbers to so many significant digits, the nearest double to the decimal."""
    once, where = np.unique(numbers, return_inverse=True)
    return np.array([float(f"{number:.{digits}g}") for number in once], dtype=float)[where]


def _apart(diagnostics: pd.Series) -> tuple[list[str | None], list[list[float] | None]]:
    """Return texts with a gap for every number with a decimal point, and these numbers."""
    texts = [text if isinstance(text, str) else None for text in diagnostics]
    templates = [None if text is None else _FLOAT.sub("\x00", text) for text in texts]
    numbers = [None if text is None else [float(x) for x in _FLOAT.findall(text)] for text in texts]
    return templates, numbers


def _together(template: str, numbers: list[float], exact: bool) -> str:
    """Return a text of diagnostics with its numbers put back."""
    given = iter(numbers if exact else [float(f"{number:.6g}") for number in numbers])
    return re.sub("\x00", lambda _: repr(next(given)), template)


def _of_run(out: Path, run_id: str) -> dict[str, Any]:
    """Return what a stored file keeps of a run."""
    run = provenance.read(out, run_id)
    kept = {name: run[name] for name in OF_A_RUN if name in run}
    return {**kept, "config": {"name": run.get("config", {}).get("name")}}
