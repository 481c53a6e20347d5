"""Read and write the files of a results folder, on this disk or in a bucket.

A bucket is a folder of an object store, with an address such as s3://BUCKET/FOLDER. Files of
records, of true values and of runs are called GROUP/FILE, both on this disk and in a bucket. GROUP
is records, truths or runs. pyarrow reads addresses that begin with s3, gs, abfs, hdfs or file.
fsspec, if it is installed, reads all others.

Each bucket has a folder on this host too. The file `.store` in that folder holds the address of the
bucket. Figures, tables and pages are written to the folder; records stay in the bucket.
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

from harness.common import reading, writing
from harness.common.escaping import escape
from harness.errors import BadInputError

CONNECTIONS = 16  # number of files that are read from a bucket at the same time


def is_address(given: Any) -> bool:
    """Return True if `given` is the address of a bucket, False if it is a path."""
    return isinstance(given, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", given) is not None


def resolve_bucket(address: str) -> Path:
    """Return the folder on this host that belongs to a bucket, after a check of the bucket.

    Raises
    ------
    BadInputError
        If the address contains a password, if it names no folder, or if the bucket cannot be read.
    """
    if re.match(r"[^/]*//[^/@]*:[^/@]*@", address):
        raise BadInputError(
            "the address in out= contains a password, which every run would record; set the "
            "password in the environment."
        )
    if not (_folder(address) / ".store").is_file():
        _check_bucket(address)
    return local_folder(address)


def local_folder(given: str) -> Path:
    """Return the folder on this host for a path or for a bucket's address.

    A path is returned as it is. The bucket is not accessed.
    """
    if not is_address(given):
        return Path(given)
    folder = _folder(given)
    if not (folder / ".store").is_file():
        with writing.whole_file(folder / ".store") as file:
            file.write_text(given)
    return folder


def location(out: Path) -> str:
    """Return the bucket's address for a folder, or the folder's path if it has no bucket.

    Workers on other hosts need this text to write to the same place.
    """
    return bucket_address(out) or str(out)


def bucket_address(out: Path) -> str | None:
    """Return the address of the bucket that a folder stands for, or None for a plain folder."""
    try:
        return reading.read_text(Path(out) / ".store")
    except (FileNotFoundError, NotADirectoryError):
        return None


def names(out: Path, group: str, pattern: str = "*.json") -> list[str]:
    """Return the names GROUP/FILE of all files in a group, sorted.

    `group` is records, truths or runs. `pattern` selects files as in a shell.
    """
    address = bucket_address(out)
    if address is None:
        return sorted(f"{group}/{path.name}" for path in (Path(out) / group).glob(pattern))
    files, base = _file_system(address)
    with _reading(address):
        selector = fs.FileSelector(f"{base}/{group}", allow_not_found=True)
        listed = [info.base_name for info in files.get_file_info(selector) if info.is_file]
    return sorted(f"{group}/{name}" for name in listed if fnmatch(name, pattern))


def read(out: Path, name: str) -> bytes:
    """Return the content of the file `name`. Raise FileNotFoundError if it does not exist."""
    address = bucket_address(out)
    if address is None:
        return reading.read_bytes(Path(out) / name)
    files, base = _file_system(address)
    with _reading(address), files.open_input_stream(f"{base}/{name}") as stream:
        content: bytes = stream.read()
    return content


def write_json(out: Path, name: str, content: Any) -> None:
    """Write `content` to the JSON file `name`. Readers see the old or the new file, never half."""
    address = bucket_address(out)
    if address is None:
        writing.write_json(Path(out) / name, content)
    else:
        _send(address, name, json.dumps(content, indent=1, default=str).encode())


def put(temporary: Path, out: Path, name: str) -> None:
    """Move a finished temporary file to `name` in a folder, or send it to the folder's bucket."""
    address = bucket_address(out)
    if address is not None:
        _send(address, name, temporary.read_bytes())
        return
    target = Path(out) / name
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    try:
        os.replace(temporary, target)
    except FileNotFoundError:  # NFS may repeat a rename that succeeded; the second one fails
        if not target.is_file():
            raise


def remove(out: Path, name: str) -> None:
    """Delete the file `name`. Raise FileNotFoundError if another process has deleted it."""
    address = bucket_address(out)
    if address is None:
        (Path(out) / name).unlink()
        return
    files, base = _file_system(address)
    with _reading(address):
        files.delete_file(f"{base}/{name}")


def set_aside(out: Path, name: str, target: Path) -> None:
    """Move the file `name` out of the results folder to `target`, a path on this host."""
    if bucket_address(out) is None:
        os.replace(Path(out) / name, target)
    else:
        target.write_bytes(read(out, name))
        remove(out, name)


def paths(out: Path, group: str, pattern: str) -> list[Path]:
    """Return local paths of all files in a group.

    DuckDB reads local files only, so the files of a bucket are copied to a temporary folder first.
    Files of `records` never change, so each is copied once. The copies are deleted when this
    process ends.

    Raises
    ------
    FileNotFoundError
        If another process deletes a file between the listing and the copy.
    """
    listed = names(out, group, pattern)
    address = bucket_address(out)
    if address is None:
        return [Path(out) / name for name in listed]
    if address not in _copies:
        _copies[address] = tempfile.TemporaryDirectory()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(threads.map(lambda name: _copy(out, address, name), listed))


def display_name(path: Path) -> str:
    """Return the name that messages use for a file.

    For a temporary copy, this is the address of the original in the bucket; else it is the path.
    """
    for address, folder in _copies.items():
        if path.is_relative_to(folder.name):
            return f"{address}/{path.relative_to(folder.name)}"
    return str(path)


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """Yield a temporary path for a Parquet file of records, and delete what is left there.

    For a folder the path is in its subfolder `records`. For a bucket it is in the system's
    temporary folder.
    """
    is_local = bucket_address(out) is None
    folder = Path(out) / "records" if is_local else Path(tempfile.gettempdir())
    temporary = folder / f".part-{os.urandom(8).hex()}.parquet.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        # The error of a full disk has no file name. Other errors have our temporary name.
        if error.errno is not None:
            error.filename, error.filename2 = str(folder / temporary.name[1:-4]), None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink()


_copies: dict[str, tempfile.TemporaryDirectory[str]] = {}  # {address of a bucket: its copies}


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
    """Raise BadInputError if the bucket does not exist.

    Without this check, an absent bucket would look like an empty one.
    """
    files, base = _file_system(address)
    if not base and files.type_name != "local":
        raise BadInputError(
            f"out is {address!r}, which names no folder in a bucket; give an address such as "
            "s3://BUCKET/FOLDER."
        )
    bucket = base.split("/")[0]
    with _reading(address):
        kind = files.get_file_info(bucket).type
    absent = files.type_name != "local" and kind == fs.FileType.NotFound
    if absent:
        raise BadInputError(
            f"out is {address!r}, but the bucket {bucket} does not exist; create it, or give "
            "another address."
        )


def _file_system(address: str) -> tuple[Any, str]:
    """Return the file system of a bucket, and the path of the bucket's folder in it.

    Every process gets its own connection, because connections do not survive a fork.
    """
    return _open_file_system(address, os.getpid())


@functools.lru_cache(maxsize=8)
def _open_file_system(address: str, process: int) -> tuple[Any, str]:
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
                f"out is {address!r}, an address that neither pyarrow nor fsspec can open "
                f"({_message(error)}; {_message(second)}); give a folder, or an address such as "
                "s3://BUCKET/FOLDER."
            ) from None
    except OSError as error:
        raise BadInputError(
            f"out is {address!r}, which cannot be read ({_message(error)}); correct the "
            "address, or the access to the bucket."
        ) from error
    return files, base.rstrip("/")


@contextmanager
def _reading(address: str) -> Iterator[None]:
    """Turn errors of the bucket's server into BadInputError, except FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadInputError(
            f"out is {address!r}, which cannot be read ({_message(error)}); correct the "
            "address, or the access to the bucket."
        ) from error


def _send(address: str, name: str, content: bytes) -> None:
    """Write `content` to the file `name` of a bucket, so that readers never see half of it.

    Object stores show a file only when it is complete. Other file systems get a temporary name,
    which is replaced at the end.
    """
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
            f"{name} could not be written to {address} ({_message(error)}), so its content is "
            "lost; run the same command again."
        ) from error


def _message(error: Exception) -> str:
    """Return the first line of an error's message, with control characters escaped."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and not error.strerror.startswith("["):
        text = error.strerror.lower() + (f": {error.filename}" if error.filename else "")
    return escape((text.splitlines() or [type(error).__name__])[0][:200].rstrip("."))
