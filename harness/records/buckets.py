"""A store of objects as the home of records: out=s3://BUCKET/FOLDER, where workers on many hosts share no disk.

Any address of a file system of pyarrow (s3, gs, abfs, hdfs, file) will do, or of fsspec where that is installed. All that reads
and writes has to do with a mirror, a folder of this host below the user's cache: a folder of results like any other, but that

* every record part, file of truths and file of a run is sent to the store as soon as it is written, whoever writes it, and
* what the store has and the mirror has not is fetched before anything is planned or read, and after a run.

A part's name ends in the digest of its bytes, with which a copy is compared. What could not be sent stays in the mirror, and the
next run sends it. Figures, tables and pages are made from records again; they are in the mirror alone.

<mirror>/.store    the address of the store
<mirror>/.held     what the store is known to have: a line of name, size, time and, of truths and runs, digest of the mirror's own
                   file then, for each file that was sent or fetched
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from harness.common.escaping import escape
from harness.common.writing import whole_file
from harness.errors import BadInputError

GROUPS = ("records", "truths", "runs")
FRESH_SECONDS = 5.0  # a mirror that was compared so short a time ago is not compared again before reading
TRIES = 3
T = TypeVar("T")


def is_address(given: Any) -> bool:
    """Whether this is the address of a store, and no path."""
    return isinstance(given, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", given) is not None


def mirror(address: str) -> Path:
    """The folder of this host that mirrors a store, up to date as of the last seconds.

    Raises
    ------
    BadInputError
        If the address is none, has a password, or the store cannot be read.
    """
    if re.match(r"[^/]*//[^/@]*:[^/@]*@", address):
        raise BadInputError("out has a password in its address, which every run would record; give it as the environment does.")
    folder = _mirror(address)
    if not (folder / ".store").is_file():
        _check_bucket(address)
        with whole_file(folder / ".store") as file:
            file.write_text(address)
    if time.monotonic() - _compared.get(folder, -FRESH_SECONDS) > FRESH_SECONDS:
        fetch(folder)
    return folder


def _check_bucket(address: str) -> None:
    """Raise BadInputError where the store cannot be read: a bucket that is absent lists like an empty one."""
    from pyarrow import fs

    files, base = _opened(address)
    if not base and files.type_name != "local":
        raise BadInputError(f"out is {address!r}, which names no folder; give an address such as s3://BUCKET/FOLDER.")
    bucket = base.split("/")[0]
    try:
        absent = files.type_name != "local" and files.get_file_info(bucket).type == fs.FileType.NotFound
    except OSError as error:
        raise _unreadable(address, error) from error
    if absent:
        raise BadInputError(f"out is {address!r}, where there is no {bucket}; make it, or give another address.")


def here(given: str) -> Path:
    """In a worker: the folder to write to, for what `named` gave."""
    if not is_address(given):
        return Path(given)
    folder = _mirror(given)
    if not (folder / ".store").is_file():
        with whole_file(folder / ".store") as file:
            file.write_text(given)
    return folder


def named(out: Path) -> str:
    """What workers, on whatever host, are told of a folder of results: the address of its store, else its path."""
    return store_of(out) or str(out)


def store_of(out: Path) -> str | None:
    """The address of the store that a folder of results mirrors, None of another folder."""
    try:
        return (Path(out) / ".store").read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None


def send(path: Path) -> None:
    """Send a file of a folder of results, GROUP/NAME, to the store that the folder mirrors; nothing without one.

    Raises
    ------
    BadInputError
        If the store does not take it; the file stays, and the next run sends it.
    """
    out = path.parent.parent
    address = store_of(out)
    if address is None:
        return
    name, content = f"{path.parent.name}/{path.name}", path.read_bytes()
    try:
        _patiently(lambda: _write(address, name, content))
    except OSError as error:
        raise BadInputError(
            f"{name} could not be sent to {address} ({_said(error)}); it is kept in {out}, and the next run sends it."
        ) from error
    _note(out, _patiently(lambda: _stat(address, name)), content)


def remove(path: Path) -> None:
    """Remove a file of a folder of results, here and in the store."""
    address = store_of(path.parent.parent)
    path.unlink()
    if address is not None:
        files, base = _opened(address)
        _patiently(lambda: files.delete_file(f"{base}/{path.parent.name}/{path.name}"))


def fetch(out: Path) -> None:
    """Make a mirror and its store alike; nothing where the folder is no mirror. What is in one of them alone is copied; a part
    that was once in both, and which somebody has joined with others since, is moved to removed/ of the mirror.

    Raises
    ------
    BadInputError
        If the store cannot be read or written.
    """
    address = store_of(out)
    if address is None:
        return
    held = _held(out)
    for group in GROUPS:
        there = _listing(address, group)
        local = {f"{group}/{path.name}" for path in (out / group).glob("*") if _is_ours(f"{group}/{path.name}")}
        for name, stamp in there.items():
            known, digest = held.get(name, ("", ""))
            if name not in local or (group != "records" and known != stamp):
                _bring(address, out, name)
            elif group != "records" and _digest(_content(out / name)) != digest:  # changed here, and not sent since
                with contextlib.suppress(FileNotFoundError):
                    send(out / name)
            if known != stamp:
                _note(out, (name, stamp), _content(out / name))
        for name in sorted(local - there.keys()):
            if name in held and group == "records":
                (out / "removed").mkdir(exist_ok=True)
                with contextlib.suppress(FileNotFoundError):  # another process of this host did
                    os.replace(out / name, out / "removed" / Path(name).name)
            else:
                with contextlib.suppress(FileNotFoundError):  # or has joined it with others in the meantime
                    send(out / name)
    _compared[out] = time.monotonic()


_compared: dict[Path, float] = {}  # mirrors, and when this process compared them last


def _bring(address: str, out: Path, name: str) -> None:
    """Copy a file of the store into the mirror. One that is damaged is told and left out; truths that both have are joined."""
    from harness.records import schema

    try:
        content = _patiently(lambda: _read(address, name))
    except FileNotFoundError:  # somebody has joined it with others in the meantime
        return
    path = out / name
    told = re.search(r"-([0-9a-f]{16})\.parquet$", name)
    damaged = told is not None and _digest(content) != told[1]
    if path.parent.name == "truths":
        try:
            truths = json.loads(content)
            damaged = bool(schema.wrong_truths(truths))
        except ValueError:
            damaged = True
        if not damaged and path.is_file():
            known = schema.read_truths(out, path.stem)
            theirs = {pair: truth for pair, truth in truths.items() if pair != schema.DIGEST}
            if known != theirs:
                schema.write_truths(out, path.stem, {**known, **theirs})
            return
    if damaged:
        print(f"{name} of {address} is not as it was written, and left out; what it held is computed again", file=sys.stderr)
        return
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def _is_ours(name: str) -> bool:
    return re.fullmatch(r"records/part-[^/]+\.parquet|(truths|runs)/[^/.][^/]*\.json", name) is not None


def _mirror(address: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser()
    words = re.sub(r"\W+", "-", re.sub(r"\?.*", "", address)).strip("-")[-60:]
    return cache / "calharness" / "stores" / f"{words}-{hashlib.blake2b(address.encode(), digest_size=4).hexdigest()}"


def _held(out: Path) -> dict[str, tuple[str, str]]:
    """{name: (stamp in the store, digest of what the mirror had then)}; lines of earlier versions have no digest."""
    try:
        lines = [line.split(" ") for line in (out / ".held").read_text().splitlines()]
    except FileNotFoundError:
        return {}
    return {name: (" ".join(known[:2]), "".join(known[2:])) for name, *known in lines if len(known) > 1}


def _note(out: Path, known: tuple[str, str], content: bytes) -> None:
    """Add a line to .held, in one piece, as others may add theirs. A part never changes, and needs no digest."""
    name, stamp = known
    digest = "" if name.startswith("records/") else f" {_digest(content)}"
    with open(out / ".held", "ab", buffering=0) as file:
        file.write(f"{name} {stamp}{digest}\n".encode())


def _content(path: Path) -> bytes:
    """Of a file of truths or of a run; nothing of a part, which may be large, and of what has gone."""
    try:
        return b"" if path.parent.name == "records" else path.read_bytes()
    except FileNotFoundError:
        return b""


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _opened(address: str) -> tuple[Any, str]:
    """(file system, folder in it). It is opened anew in a process that was forked."""
    return _opened_in(address, os.getpid())


@functools.lru_cache(maxsize=8)
def _opened_in(address: str, process: int) -> tuple[Any, str]:
    from pyarrow import fs

    quick = address
    if address.startswith("s3://"):  # a small file is one request, not three
        quick += ("&" if "?" in address else "?") + "allow_delayed_open=true"
    try:
        files, base = fs.FileSystem.from_uri(quick)
    except (ValueError, NotImplementedError) as error:
        try:
            import fsspec

            found, base = fsspec.core.url_to_fs(address)
            files = fs.PyFileSystem(fs.FSSpecHandler(found))
        except (ImportError, ValueError) as other:
            raise BadInputError(
                f"out is {address!r}, where no file system is known ({_said(error)}; {_said(other)}); give a folder, or an "
                "address such as s3://BUCKET/FOLDER."
            ) from None
    except OSError as error:
        raise _unreadable(address, error) from error
    return files, base.rstrip("/")


def _listing(address: str, group: str) -> dict[str, str]:
    """{group/name: size and time} of the files of a folder of the store."""
    from pyarrow import fs

    files, base = _opened(address)
    selector = fs.FileSelector(f"{base}/{group}", allow_not_found=True)
    try:
        infos = _patiently(lambda: files.get_file_info(selector))
    except OSError as error:
        raise _unreadable(address, error) from error
    found = {f"{group}/{info.base_name}": _stamp(info) for info in infos if info.is_file}
    return {name: stamp for name, stamp in found.items() if _is_ours(name)}


def _unreadable(address: str, error: Exception) -> BadInputError:
    return BadInputError(f"out is {address!r}, which cannot be read: {_said(error)}")


def _stat(address: str, name: str) -> tuple[str, str]:
    files, base = _opened(address)
    (info,) = files.get_file_info([f"{base}/{name}"])
    if not info.is_file:
        raise FileNotFoundError(f"{name} is gone")
    return name, _stamp(info)


def _stamp(info: Any) -> str:
    return f"{info.size} {info.mtime_ns}"


def _read(address: str, name: str) -> bytes:
    files, base = _opened(address)
    with files.open_input_stream(f"{base}/{name}") as stream:
        content: bytes = stream.read()
    return content


def _write(address: str, name: str, content: bytes) -> None:
    """An object is there as a whole or not at all; a file is given its name when it is written."""
    files, base = _opened(address)
    path = f"{base}/{name}"
    if files.type_name == "local":
        with whole_file(Path(path)) as temporary:
            temporary.write_bytes(content)
        return
    with files.open_output_stream(path) as stream:
        stream.write(content)


def _patiently(call: Callable[[], T]) -> T:
    for attempt in range(TRIES - 1):
        try:
            return call()
        except FileNotFoundError:
            raise
        except OSError:
            time.sleep(2.0**attempt)
    return call()


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.strerror and not error.strerror.startswith("["):
        return escape(f"{error.strerror.lower()}: {error.filename}" if error.filename else error.strerror.lower())
    return escape((str(error).splitlines() or [type(error).__name__])[0][:200].rstrip("."))
