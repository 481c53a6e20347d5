"""Stored records: compact files for version control, from which all results are drawn again.

<folder>/<experiment>.parquet    one row per estimate, or per cell without one, in the plan's order

A cell is stored by its position in the plan, and the keys of a plan are a pure function of the
configuration. A digest of all keys shows if the plan is still the same; otherwise the file is
refused. Estimates are stored bit for bit; a `value` that equals its bound is stored once. Seconds
are rounded to three digits, and in files of more than EXACT rows the numbers in diagnostics to six.
peak_mb and the time of writing are left out. Truths and provenance are in the file's metadata, as
compressed JSON.

If a plan depends on data (a family has as many problems as there are files), the metadata also
describe the plan: its problems with keys and parameters, and how they are sampled. So results can
be drawn where the data are absent or others. Such a file is refused if the configuration, an
estimator, or a problem that needs no data has changed.
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
NUMBERS = ("value", "low", "high", "level")
TIMES = ("seconds", "cpu_seconds")
RUN_FIELDS = ("state", "seconds", "git", "processor", "versions")  # of runs/<run id>.json
CONFIGURATION = (
    "problem", "estimator", "n", "reps", "seed", "notion", "bootstrap", "ranking",
)  # fmt: skip
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


@dataclass(frozen=True)
class Elsewhere:
    """Stand-in for a problem on data that may be absent. Nothing is drawn from it."""

    rows_of_a_file: bool


def plan_digest(plan: Plan) -> str:
    """Return a digest of the cells of a plan and their order."""
    return digest("|".join(cell.key for cell in plan.cells))


def path_of(folder: Path, name: str) -> Path:
    """Return the path of the stored records of an experiment."""
    return Path(folder) / f"{name}.parquet"


# Write


def store(frame: pd.DataFrame, plan: Plan, out: Path, path: Path) -> Path:
    """Write records of a plan's cells to a file, with the truths and runs of a results folder.

    Parameters
    ----------
    frame : DataFrame
        Records, as `load_records` returns them.
    plan : Plan
    out : path
        The results folder.
    path : path
        The file to write.
    """
    position = {cell.key: number for number, cell in enumerate(plan.cells)}
    frame = frame.assign(cell=frame["key"].map(position)).sort_values(
        ["cell", "estimand"], kind="stable", ignore_index=True
    )
    exact = len(frame) <= EXACT
    value, low, high, level = (frame[name].to_numpy(dtype=float) for name in NUMBERS)
    bound = np.where(np.isnan(high), low, high)
    columns: dict[str, Any] = {"cell": pa.array(frame["cell"].to_numpy(dtype=np.uint32))}
    for name in TEXTS:
        texts = pa.array(frame[name].tolist(), pa.string(), from_pandas=True)
        columns[name] = texts.dictionary_encode()
    columns["value"] = pa.array(value, mask=value == bound)
    for name, numbers in (("low", low), ("high", high), ("level", level)):
        columns[name] = pa.array(numbers, mask=np.isnan(numbers))
    for name in TIMES:
        seconds = _rounded(frame[name].to_numpy(dtype=float), 3)
        columns[name] = pa.array(seconds, pa.float32(), from_pandas=True)
    templates, numbers = _split_diagnostics(frame["diagnostics"])
    columns["template"] = pa.array(templates, pa.string()).dictionary_encode()
    columns["numbers"] = pa.array(numbers, pa.list_(pa.float64() if exact else pa.float32()))
    table = pa.table(columns)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        with pq.ParquetWriter(
            temporary,
            table.schema,
            compression="zstd",
            compression_level=19,
            use_dictionary=[*TEXTS, *TIMES, "level", "template"],
            use_byte_stream_split=[*NUMBERS[:3], *([] if exact else ["numbers.list.element"])],
            column_encoding={"cell": "DELTA_BINARY_PACKED"},
            write_statistics=False,
            store_schema=False,
        ) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"calharness": _packed_metadata(frame, plan, out, path)})
    return path


def _packed_metadata(frame: pd.DataFrame, plan: Plan, out: Path, path: Path) -> bytes:
    truths = {problem.key: read_truths(out, problem.key) for problem in plan.problems.values()}
    content = {
        "experiment": path.stem,
        "plan": plan_digest(plan),
        "cells": len(plan.cells),
        "version": VERSION,
        "truths": {key: stored for key, stored in truths.items() if stored},
        "runs": {id: _stored_run(out, id) for id in sorted(frame["run_id"].dropna().unique())},
    }
    if description := _describe_plan(plan):
        content["made_of"] = description
    return base64.b85encode(zlib.compress(json.dumps(content, sort_keys=True).encode(), 9))


def _stored_run(out: Path, run_id: str) -> dict[str, Any]:
    """Return the provenance of a run that a stored file keeps."""
    run = provenance.read(out, run_id)
    kept = {name: run[name] for name in RUN_FIELDS if name in run}
    return {**kept, "config": {"name": run.get("config", {}).get("name")}}


def _describe_plan(plan: Plan) -> dict[str, Any] | None:
    """Return a description from which `plan_of` makes a plan that depends on data.

    None for a plan that does not. Sweeps and rankings have no description.
    """
    of_data = {name: has_data(problem.object) for name, problem in plan.problems.items()}
    if not any(of_data.values()) or plan.points or plan.settings.ranking:
        return None
    if not plan.settings.estimator.keys() >= plan.estimators.keys():
        return None
    cells_of: dict[str, list[Cell]] = {name: [] for name in plan.problems}
    for cell in plan.cells:
        cells_of[cell.problem].append(cell)
    entries, blocks = [], []
    for name, cells in cells_of.items():
        problem = plan.problems[name]
        entry = {
            "name": name,
            "key": problem.key,
            "parameters": problem.parameters,
            "origin": problem.origin,
            "data": of_data[name],
            "rows_of_a_file": ProblemSpec.of(problem.object).rows_of_a_file,
            "reps": list(dict.fromkeys(cell.rep for cell in cells)),
            "n": list(dict.fromkeys(cell.n for cell in cells)),
            "notions": list(dict.fromkeys(cell.notion for cell in cells)),
            "estimators": list(dict.fromkeys(cell.estimator for cell in cells)),
        }
        entries.append(entry)
        blocks.append(_block(entry, plan.settings.seed, plan.estimators))
    if Cells(blocks) != plan.cells:
        return None
    return {
        "configuration": _configuration_digest(plan.settings),
        "problems": entries,
        "estimators": list(plan.estimators),
        "all_rows": sorted(plan.all_rows),
    }


def _block(entry: dict[str, Any], seed: int, estimators: dict[str, Component]) -> Block:
    """Return the cells of a described problem."""
    keys = {name: estimators[name].key for name in entry["estimators"]}
    draws = Draws(entry["reps"], entry["n"])
    return Block(entry["name"], entry["key"], seed, draws, entry["notions"], keys)


def _configuration_digest(settings: Settings) -> str:
    """Return a digest of the settings that determine the cells."""
    values = settings.to_dict()
    chosen_values = {name: values[name] for name in CONFIGURATION}
    return digest(json.dumps(chosen_values, sort_keys=True, default=str))


def has_data(value: Any) -> bool:
    """Return True if a problem, or a problem inside it, is made of data, present or absent."""
    if isinstance(value, (list, tuple)):
        return any(has_data(item) for item in value)
    declared = any(
        getattr(value, name, None) for name in ("fingerprint", "rows_of_a_file", "unavailable")
    )
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return declared or any(has_data(getattr(value, field.name)) for field in fields)


# Read


def metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a stored file: experiment, plan, cells, version, truths, runs.

    For a plan that depends on data, `made_of` describes it.

    Raises
    ------
    BadInputError
        If the file holds no stored records.
    """
    try:
        packed = pq.read_metadata(path).metadata[b"calharness"]
        content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(packed)))
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise BadInputError(
            f"{path} holds no stored records ({type(error).__name__}); put back an earlier one."
        ) from error
    return content


def plan_of(path: Path, settings: Settings, make_plan: Callable[[], Plan]) -> Plan:
    """Return the plan of a stored file.

    This is the plan of `make_plan`, unless the stored plan depends on data, which may be absent
    here. Then it is the stored plan, with the cells that were skipped then.

    Raises
    ------
    BadInputError
        If the configuration has changed, or a component that needs no data.
    """
    content = metadata(path) if path.is_file() else {}
    description = content.get("made_of")
    if description is None:
        return make_plan()
    plan: Plan | None
    try:
        plan = make_plan()
    except BadInputError:  # without its data not even the problems are known
        plan = None
    refusal = BadInputError(_refused(path, content, plan))
    if description["configuration"] != _configuration_digest(settings):
        raise refusal
    estimators = chosen("estimator", settings.estimator)
    entries = description["problems"]
    without_data = {entry["origin"] for entry in entries if not entry["data"]}
    configs = {name: settings.problem[name] for name in without_data}
    configured = chosen("problem", configs) if configs else {}
    problems: dict[str, Component] = {}
    for entry in entries:
        name, key, parameters = entry["name"], entry["key"], entry["parameters"]
        if entry["data"]:  # the same data have the same key
            here = plan.problems.get(name) if plan else None
            is_same = here is None or here.parameters != parameters or here.key == key
        else:
            is_same = name in configured and configured[name].key == key
        if not is_same or not estimators.keys() >= set(entry["estimators"]):
            raise refusal
        stand_in = Elsewhere(entry["rows_of_a_file"])
        problems[name] = Component(name, {}, stand_in, parameters, key, entry["origin"], key)
    cells = Cells([_block(entry, settings.seed, estimators) for entry in entries])
    stored_plan = Plan(
        settings,
        problems,
        {name: estimators[name] for name in description["estimators"]},
        cells,
        all_rows=frozenset((name, n) for name, n in description["all_rows"]),
    )
    if plan_digest(stored_plan) != content["plan"]:
        raise refusal
    rows = pq.read_table(path, columns=["cell", "status", "reason"]).to_pylist()
    ordered = list(cells)
    skipped = [row for row in rows if row["status"] == "skipped"]
    return replace(
        stored_plan, reasons={ordered[row["cell"]].kind: row["reason"] for row in skipped}
    )


def _refused(path: Path, content: dict[str, Any], plan: Plan | None) -> str:
    experiment = content["experiment"]
    here = f"those of {experiment} here"
    if plan:
        here = f"the {len(plan.cells):,} cells that {experiment} has here"
    return (
        f"{path.name} holds records of {content['cells']:,} cells, which are not {here}: "
        "its configuration or its data have changed."
    )


def unpack(path: Path, plan: Plan, out: Path) -> int:
    """Write the stored records of a plan into a results folder, with truths and runs.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    BadInputError
        If the stored cells are not those of the plan.
    """
    frame, content = _decoded(path, plan, diagnostics=True)
    for name in TEXTS:
        texts = {text: escape(text) for text in frame[name].dropna().unique()}
        frame[name] = frame[name].map(texts)
    frame["written"] = 1e-3  # anything computed here is later
    columns = [
        pa.array(frame[field.name].tolist(), field.type, from_pandas=True)
        for field in schema.schema()
    ]
    write_table(out, pa.table(columns, schema=schema.schema()))
    for key, truths in content["truths"].items():
        write_truths(out, key, {**read_truths(out, key), **truths})
    for run_id, run in content["runs"].items():
        if not KEY.fullmatch(run_id):
            raise BadInputError(f"{path} names a run {run_id!r}; letters and digits are needed.")
        run = {"run_id": run_id, "cells": {"todo": 0}, **run}
        buckets.write_json(out, f"runs/{run_id}.json", run)
    return len(frame)


def frame_of(path: Path, plan: Plan) -> pd.DataFrame:
    """Return the stored records of a plan with truths, as `load_records` does.

    Texts are categories. Diagnostics and columns that are not stored are empty.

    Raises
    ------
    BadInputError
        If the stored cells are not those of the plan.
    """
    frame, content = _decoded(path, plan, diagnostics=False)
    keys = ["problem_key", "notion", "estimand"]
    truths = [
        (key, *pair.split("|"), float(truth[0]), stated_error(float(truth[1])))
        for key, stored in content["truths"].items()
        for pair, truth in stored.items()
        if truth
    ]
    # look up each combination once: rows are many, combinations few
    numbers = frame.groupby(keys, observed=True, sort=False, dropna=False).ngroup().to_numpy()
    combinations = frame.loc[np.unique(numbers, return_index=True)[1], keys].astype(object)
    known = pd.DataFrame(truths, columns=[*keys, *schema.TRUTHS])
    known = combinations.merge(known.astype(dict.fromkeys(keys, object)), on=keys, how="left")
    return frame.assign(**{name: known[name].to_numpy()[numbers] for name in schema.TRUTHS})


def _decoded(path: Path, plan: Plan, diagnostics: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the rows of a stored file with the columns of records, and its metadata."""
    content = metadata(path)
    if content["plan"] != plan_digest(plan):
        raise BadInputError(_refused(path, content, plan))
    more = ["template", "numbers"] if diagnostics else []
    table = pq.read_table(path, columns=["cell", *TEXTS, *NUMBERS, *TIMES, *more])
    cells = pd.DataFrame(list(plan.cells), columns=list(Cell._fields))
    cells = cells.astype(dict.fromkeys(("key", "notion"), "category"))
    for group, components in (("problem", plan.problems), ("estimator", plan.estimators)):
        names = cells[group]
        for column, field in (
            (group, "id"),
            (f"{group}_key", "key"),
            (f"{group}_parameters", "parameters"),
        ):
            values = {name: getattr(component, field) for name, component in components.items()}
            cells[column] = names.map(values).astype("category")
    frame = cells.iloc[table["cell"].to_numpy()].reset_index(drop=True)
    for name in TEXTS:
        frame[name] = table[name].to_pandas(strings_to_categorical=True)
    for name in NUMBERS:
        frame[name] = table[name].to_pandas().to_numpy(dtype=float)
    bound = frame["high"].fillna(frame["low"])
    frame["value"] = frame["value"].mask(table["value"].is_null().to_numpy(), bound)
    for name in TIMES:
        frame[name] = _rounded(table[name].to_pandas().to_numpy(dtype=float), 3)
    frame["diagnostics"] = None
    if diagnostics:
        exact = table.schema.field("numbers").type.value_type == pa.float64()
        pairs = zip(table["template"].to_pylist(), table["numbers"].to_pylist())
        frame["diagnostics"] = [
            text and _joined(text, numbers or [], exact) for text, numbers in pairs
        ]
    frame = frame.reindex(columns=list(schema.COLUMNS))
    kinds = {name: kind for name, kind in schema.COLUMNS.items() if kind != "str"}
    return frame.astype({name: schema.dtype(kind) for name, kind in kinds.items()}), content


def _rounded(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Return numbers to so many significant digits, as the nearest double to the decimal."""
    distinct, codes = np.unique(numbers, return_inverse=True)
    return np.array([float(f"{number:.{digits}g}") for number in distinct], dtype=float)[codes]


def _split_diagnostics(
    diagnostics: pd.Series,
) -> tuple[list[str | None], list[list[float] | None]]:
    """Return texts with a gap for every number with a decimal point, and these numbers."""
    texts = [text if isinstance(text, str) else None for text in diagnostics]
    templates = [None if text is None else _FLOAT.sub("\x00", text) for text in texts]
    numbers = [None if text is None else [float(x) for x in _FLOAT.findall(text)] for text in texts]
    return templates, numbers


def _joined(template: str, numbers: list[float], exact: bool) -> str:
    """Return diagnostics with their numbers in the gaps of a template."""
    values = iter(numbers if exact else [float(f"{number:.6g}") for number in numbers])
    return re.sub("\x00", lambda _: repr(next(values)), template)
