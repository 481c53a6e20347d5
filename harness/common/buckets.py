"""Files of a results folder on this disk, or in a bucket (out=s3://BUCKET/FOLDER).

Records, truths and runs are read and written here, by their name GROUP/FILE. For buckets the file
systems of pyarrow are used (s3, gs, abfs, hdfs, file), else those of fsspec if it is installed.
Nothing of a bucket is kept on this host.

A bucket has a folder on this host. It holds the address in the file `.store`, and the figures,
tables and pages that are drawn from the bucket's records.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from pyarrow import fs

from harness.common import writing
from harness.common.escaping import escape
from harness.errors import BadInputError

CONNECTIONS = 16  # files of a bucket that are read at once


def is_address(given: Any) -> bool:
    """Return True for the address of a bucket, False for a path."""
    return isinstance(given, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", given) is not None


def folder_of(address: str) -> Path:
    """Return the folder on this host for a bucket.

    Raises
    ------
    BadInputError
        If the address holds a password or no folder, or if the bucket cannot be read.
    """
    if re.match(r"[^/]*//[^/@]*:[^/@]*@", address):
        raise BadInputError(
            "out has a password in its address, which every run would record; set it in the "
            "environment."
        )
    if not (_folder(address) / ".store").is_file():
        _check_bucket(address)
    return local_folder(address)


def local_folder(given: str) -> Path:
    """Return the folder on this host for a path or address, without a check."""
    if not is_address(given):
        return Path(given)
    folder = _folder(given)
    if not (folder / ".store").is_file():
        with writing.whole_file(folder / ".store") as file:
            file.write_text(given)
    return folder


def location(out: Path) -> str:
    """Return the address of a folder's bucket, or its path, for workers on other hosts."""
    return store_of(out) or str(out)


def store_of(out: Path) -> str | None:
    """Return the address of a folder's bucket, None for a plain folder."""
    try:
        return (Path(out) / ".store").read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None


def names(out: Path, group: str, pattern: str = "*.json") -> list[str]:
    """Return the sorted names GROUP/FILE of a group: records, truths or runs."""
    address = store_of(out)
    if address is None:
        return sorted(f"{group}/{path.name}" for path in (Path(out) / group).glob(pattern))
    files, base = _file_system(address)
    with _reading(address):
        selector = fs.FileSelector(f"{base}/{group}", allow_not_found=True)
        listed = [info.base_name for info in files.get_file_info(selector) if info.is_file]
    return sorted(f"{group}/{name}" for name in listed if fnmatch(name, pattern))


def read(out: Path, name: str) -> bytes:
    """Return the content of a file. Raise FileNotFoundError if there is none."""
    address = store_of(out)
    if address is None:
        return (Path(out) / name).read_bytes()
    files, base = _file_system(address)
    with _reading(address), files.open_input_stream(f"{base}/{name}") as stream:
        content: bytes = stream.read()
    return content


def write_json(out: Path, name: str, content: Any) -> None:
    """Replace a JSON file as a whole."""
    address = store_of(out)
    if address is None:
        writing.write_json(Path(out) / name, content)
    else:
        _send(address, name, json.dumps(content, indent=1, default=str).encode())


def put(temporary: Path, out: Path, name: str) -> None:
    """Move a written file to its name in the folder, or send it to the bucket."""
    address = store_of(out)
    if address is not None:
        _send(address, name, temporary.read_bytes())
        return
    target = Path(out) / name
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    try:
        os.replace(temporary, target)
    except FileNotFoundError:  # NFS reports this for a rename that it did twice
        if not target.is_file():
            raise


def remove(out: Path, name: str) -> None:
    """Delete a file. Raise FileNotFoundError if another process did."""
    address = store_of(out)
    if address is None:
        (Path(out) / name).unlink()
        return
    files, base = _file_system(address)
    with _reading(address):
        files.delete_file(f"{base}/{name}")


def set_aside(out: Path, name: str, target: Path) -> None:
    """Move a file to `target`, a path on this host."""
    if store_of(out) is None:
        os.replace(Path(out) / name, target)
    else:
        target.write_bytes(read(out, name))
        remove(out, name)


def paths(out: Path, group: str, pattern: str) -> list[Path]:
    """Return the paths of the files of a group, for a bucket those of temporary copies.

    DuckDB reads local files only. Files of `records` never change, so each is copied once. The
    copies are deleted when this process ends. A file that was deleted after the listing raises
    FileNotFoundError.
    """
    listed = names(out, group, pattern)
    address = store_of(out)
    if address is None:
        return [Path(out) / name for name in listed]
    if address not in _copies:
        _copies[address] = tempfile.TemporaryDirectory()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(threads.map(lambda name: _copy(out, address, name), listed))


def display_name(path: Path) -> str:
    """Return the name of a file in messages: for a copy, its address in the bucket."""
    for address, folder in _copies.items():
        if path.is_relative_to(folder.name):
            return f"{address}/{path.relative_to(folder.name)}"
    return str(path)


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """Yield a temporary path for a part: in the folder of records, or anywhere for a bucket."""
    is_local = store_of(out) is None
    folder = Path(out) / "records" if is_local else Path(tempfile.gettempdir())
    temporary = folder / f".part-{os.urandom(8).hex()}.parquet.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        # the error of a full disk has no file name, and other errors have our temporary one
        if error.errno is not None:
            error.filename, error.filename2 = str(folder / temporary.name[1:-4]), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()


_copies: dict[str, tempfile.TemporaryDirectory[str]] = {}  # by address


def _copy(out: Path, address: str, name: str) -> Path:
    path = Path(_copies[address].name) / name
    if not path.is_file():
        with writing.whole_file(path) as temporary:
            temporary.write_bytes(read(out, name))
    return path


def _folder(address: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").expanduser()
    words = re.sub(r"\W+", "-", re.sub(r"\?.*", "", address)).strip("-")[-60:]
    digest = hashlib.blake2b(address.encode(), digest_size=4).hexdigest()
    return cache / "calharness" / "stores" / f"{words}-{digest}"


def _check_bucket(address: str) -> None:
    """Raise BadInputError if the bucket is absent. Listed, it would look empty."""
    files, base = _file_system(address)
    if not base and files.type_name != "local":
        raise BadInputError(
            f"out is {address!r}, which names no folder; give an address such as "
            "s3://BUCKET/FOLDER."
        )
    bucket = base.split("/")[0]
    with _reading(address):
        kind = files.get_file_info(bucket).type
    absent = files.type_name != "local" and kind == fs.FileType.NotFound
    if absent:
        raise BadInputError(
            f"out is {address!r}, where there is no {bucket}; make it, or give another address."
        )


def _file_system(address: str) -> tuple[Any, str]:
    """Return the file system of a bucket and the folder in it, for each process its own."""
    return _file_system_of(address, os.getpid())


@functools.lru_cache(maxsize=8)
def _file_system_of(address: str, process: int) -> tuple[Any, str]:
    quick = address
    if address.startswith("s3://"):  # a small file is one request, not three
        quick += ("&" if "?" in address else "?") + "allow_delayed_open=true"
    try:
        files, base = fs.FileSystem.from_uri(quick)
    except (ValueError, NotImplementedError) as error:
        try:
            import fsspec

            adapted, base = fsspec.core.url_to_fs(address)
            files = fs.PyFileSystem(fs.FSSpecHandler(adapted))
        except (ImportError, ValueError) as second:
            raise BadInputError(
                f"out is {address!r}, where no file system is known ({_message(error)}; "
                f"{_message(second)}); give a folder, or an address such as s3://BUCKET/FOLDER."
            ) from None
    except OSError as error:
        raise BadInputError(
            f"out is {address!r}, which cannot be read: {_message(error)}"
        ) from error
    return files, base.rstrip("/")


@contextmanager
def _reading(address: str) -> Iterator[None]:
    """Raise a server's error as BadInputError; FileNotFoundError stays."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadInputError(
            f"out is {address!r}, which cannot be read: {_message(error)}."
        ) from error


def _send(address: str, name: str, content: bytes) -> None:
    """Write a file as a whole. In a file system that has renames, it gets its name at the end."""
    files, base = _file_system(address)
    path = f"{base}/{name}"
    is_tree = files.type_name in ("local", "hdfs")
    unfinished = f"{base}/{os.path.dirname(name)}/.{os.urandom(8).hex()}" if is_tree else path
    try:
        if is_tree:
            files.create_dir(os.path.dirname(path))
        with files.open_output_stream(unfinished) as stream:
            stream.write(content)
        if is_tree:
            files.move(unfinished, path)
    except OSError as error:
        raise BadInputError(
            f"{name} could not be sent to {address} ({_message(error)}); its content is not "
            "stored; "
            "run the same command again."
        ) from error


def _message(error: Exception) -> str:
    """Return an error of a library or server as one escaped line."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and not error.strerror.startswith("["):
        text = error.strerror.lower() + (f": {error.filename}" if error.filename else "")
    return escape((text.splitlines() or [type(error).__name__])[0][:200].rstrip("."))
