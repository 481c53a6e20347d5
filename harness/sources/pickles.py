"""Read arrays from pickles without running them.

A pickle is a program, and this module does not run it. Only the opcodes that an array needs are
accepted. Where a pickle names a function of numpy, a harmless object of this module takes its place
and stores a description of the array. The description is checked before the array is built. No type
or function is ever looked up by its name in a pickle.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError
from harness.sources.logits import REMEDY, Arrays, read_whole

# The opcodes that an array needs. Dictionaries and sets are excluded, because hashing a small file
# of nested tuples can take forever.
OPCODES = frozenset(
    """PROTO FRAME STOP MARK GLOBAL STACK_GLOBAL REDUCE BUILD EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
    EMPTY_LIST LIST APPEND APPENDS NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4
    STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES
    SHORT_BINBYTES BINBYTES8 BYTEARRAY8 PUT BINPUT LONG_BINPUT MEMOIZE GET BINGET LONG_BINGET PERSID
    BINPERSID""".split()
)
OPCODE_OF = {opcode.code: opcode for opcode in pickletools.opcodes}


class RefusedPickleError(Exception):
    """A pickle that needs more than arrays. The message names what it asks for."""


def read_parts(path: str | Path) -> dict[str, Arrays]:
    """Read a pickle of the form ((logits, labels) of validation, (logits, labels) of test).

    Kull et al. (2019) publish their logits in this form. Protocols 0 to 5 are read, including those
    of Python 2. Arrays may hold integers, booleans, or floats of at most 8 bytes, in any byte order
    and memory order. Labels may also be a list of integers.

    Returns
    -------
    dict
        {"validation": {"logits": (n, k), "labels": (n, 1)}, "test": ...}

    Raises
    ------
    BadInputError
        If the pickle asks for anything else, for example another function, a subclass, arrays of
        objects, persistent ids, dictionaries, or a memo that is larger than the content. The
        message names the request.
    """
    path = Path(path)
    data = read_whole(path)
    try:
        program, refused = _allowed_program(data)
        # Load first: the allowed opcodes may contain an earlier request that is refused.
        value = _Unpickler(io.BytesIO(program), encoding="latin1").load()
        if refused:
            raise RefusedPickleError(refused)
        return _parts(value)
    except RefusedPickleError as asked:
        raise BadInputError(
            f"{path} asks for {asked}; a pickle may hold only pairs of numpy arrays of numbers."
        ) from None
    except Exception as error:
        message = " ".join(str(error).split())[:200]
        raise BadInputError(
            f"{path} cannot be read as a pickle of arrays: {type(error).__name__}: {message}; "
            f"{REMEDY}."
        ) from error


def _parts(value: Any) -> dict[str, Arrays]:
    """Return the arrays of both parts of an unpickled value, or raise RefusedPickleError."""
    pairs = value if _is_pair(value) else ()
    if not (pairs and all(map(_is_pair, pairs))):
        raise RefusedPickleError(
            "another layout than ((logits, labels) of validation, (logits, labels) of test)"
        )
    arrays = [{"logits": _numbers(logits), "labels": _numbers(labels)} for logits, labels in pairs]
    return dict(zip(("validation", "test"), arrays))


def _is_pair(value: Any) -> bool:
    return type(value) in (tuple, list) and len(value) == 2


def _numbers(value: Any) -> NDArray[Any]:
    """Return an unpickled value as an array; RefusedPickleError unless it holds numbers."""
    if type(value) is _Array:
        return value.to_array()
    if type(value) is list and value and all(type(label) is int for label in value):
        return np.array(value)
    raise RefusedPickleError(f"{type(value).__name__.strip('_')} where an array is expected")


def _allowed_program(data: bytes) -> tuple[bytes, str | None]:
    """Return the opcodes of a pickle before the first forbidden opcode, and that opcode's name.

    The name is None if all opcodes are allowed. Frames are dropped, and STOP is added at the end.
    """
    stream, stored = io.BytesIO(data), 0
    kept: list[bytes] = []
    while True:
        start = stream.tell()
        code = stream.read(1).decode("latin1")
        if not code:
            raise ValueError(f"it ends at byte {start}, before its end")
        if code not in OPCODE_OF:
            raise ValueError(f"opcode {code!r} at byte {start}")
        opcode = OPCODE_OF[code]
        argument: Any = None
        if opcode.name in ("STRING", "PERSID"):  # pickletools expects ASCII, Python 2 wrote bytes
            argument = stream.readline()
        elif opcode.arg:
            argument = opcode.arg.reader(stream)  # reads at most the rest of the data
        if opcode.name not in OPCODES:
            name = f"{opcode.name} {argument}" if isinstance(argument, str) else opcode.name
            return b"".join([*kept, b"N."]), _line(name)
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            stored += 1
            # The memo is a table with a slot for every number up to this one. A large number would
            # use up the memory.
            if argument is not None and not 0 <= argument <= stored:
                raise RefusedPickleError(
                    f"slot {argument} of a memo that holds {stored - 1} objects"
                )
        if opcode.name != "FRAME":
            kept.append(data[start : stream.tell()])
        if opcode.name == "STOP":
            if stream.read(1):
                raise RefusedPickleError("more than one object")
            return b"".join(kept), None


class _Unpickler(pickle.Unpickler):
    """Unpickler that imports nothing.

    Where a pickle names a function of numpy, it returns a function of this module instead. That
    function only describes an array.
    """

    def find_class(self, module: str, name: str) -> Any:
        place, _, last = module.rpartition(".")
        if place in ("numpy.core", "numpy._core"):  # the latter since numpy 2
            module = f"numpy.core.{last}"
        makers: dict[tuple[str, str], Callable[..., Any]] = {
            ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
            ("numpy.core.multiarray", "scalar"): _scalar,
            ("numpy.core.numeric", "_frombuffer"): _frombuffer,
            ("numpy", "ndarray"): _ndarray,
            ("numpy", "dtype"): _Type,
            ("_codecs", "encode"): _encode,
        }
        if (module, name) not in makers:
            raise RefusedPickleError(_line(f"{place + '.' if place else ''}{last}.{name}"))
        return _Function(makers[module, name])

    def persistent_load(self, pid: Any) -> Any:
        raise RefusedPickleError("an object kept outside of it (a persistent id)")


class _Function:
    """Function that a pickle may call. Opcodes cannot change its state."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self.make = make

    def __call__(self, *arguments: Any) -> Any:
        return self.make(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise RefusedPickleError(f"a change of {self.make.__name__.strip('_')}")


class _Type:
    """Description of a numpy.dtype of integers, floats or booleans."""

    __slots__ = ("text", "order")

    def __init__(self, text: Any, *options: Any) -> None:
        if type(text) is not str:
            raise RefusedPickleError(f"an array of type {type(text).__name__}")
        if not re.fullmatch("[iu][1248]|f[248]|b1", text):
            raise RefusedPickleError(f"an array of type {_line(text)}")
        self.text, self.order = text, "="

    def __setstate__(self, state: Any) -> None:
        # The state holds: version, byte order, subarray, names, fields, size, alignment, flags.
        # Plain numbers use only the first two.
        is_plain = type(state) is tuple and state[2:] == (None, None, None, -1, -1, 0)
        if not (is_plain and state[1] in ("<", ">", "|", "=")):
            raise RefusedPickleError("an array of a type other than plain numbers")
        self.order = state[1]

    def to_dtype(self) -> np.dtype[Any]:
        """Return the described dtype."""
        return np.dtype(self.order + self.text)


class _Array:
    """Description of a numpy.ndarray: its shape, type, memory order and bytes."""

    __slots__ = ("shape", "type", "order", "axes", "data")

    def __init__(
        self, shape: Any = (), kind: Any = None, order: Any = "C", data: Any = b"", axes: Any = None
    ) -> None:
        self.shape, self.type, self.order, self.data, self.axes = shape, kind, order, data, axes

    def __setstate__(self, state: Any) -> None:
        if not (type(state) is tuple and len(state) == 5):
            raise RefusedPickleError("an array in a state that numpy does not write")
        _, self.shape, self.type, fortran, self.data = state
        self.order = "F" if fortran else "C"

    def to_array(self) -> NDArray[Any]:
        """Return the described array; RefusedPickleError if the description is inconsistent."""
        if type(self.type) is not _Type:
            raise RefusedPickleError("an array without a type")
        if type(self.data) not in (bytes, bytearray, str):
            raise RefusedPickleError("an array of Python objects")
        sizes = self.shape if type(self.shape) is tuple and len(self.shape) <= 8 else (None,)
        if not all(type(size) is int and size >= 0 for size in sizes):
            raise RefusedPickleError("an array without a shape")
        # Python 2 wrote bytes as text
        data = self.data.encode("latin1") if type(self.data) is str else self.data
        kind = self.type.to_dtype()
        if len(data) != math.prod(self.shape) * kind.itemsize:
            raise RefusedPickleError(
                f"an array of shape {self.shape} and type {kind} out of {len(data)} bytes"
            )
        array = np.frombuffer(data, kind).reshape(self.shape, order=self.order)
        return array if self.axes is None else array.transpose(self.axes)


def _ndarray(*arguments: Any) -> Any:
    """Refuse a call of numpy.ndarray; a pickle may only name it as a type."""
    raise RefusedPickleError("numpy.ndarray as a function")


def _reconstruct(kind: Any, shape: Any, code: Any) -> _Array:
    """Return an empty array description, in place of numpy's `_reconstruct`."""
    if not (type(kind) is _Function and kind.make is _ndarray):
        raise RefusedPickleError("an array of a type that is not numpy.ndarray")
    return _Array()


def _scalar(kind: Any, data: Any = None) -> _Array:
    """Return the description of a scalar, in place of numpy's `scalar`."""
    return _Array((), kind, "C", data)


def _frombuffer(data: Any, kind: Any, shape: Any, order: Any, axes: Any = None) -> _Array:
    """Return the description of an array in a buffer, in place of numpy's `_frombuffer`."""
    if order not in ("C", "F", "K"):
        raise RefusedPickleError("an array of an unknown memory order")
    return _Array(shape, kind, "C" if order == "K" else order, data, axes)


def _encode(text: Any, encoding: Any = "utf-8") -> bytes:
    """Return the text as latin1 bytes, in place of _codecs.encode.

    Python 3 writes bytes as latin1 text in protocols 0 to 2.
    """
    if not (type(text) is str and encoding == "latin1"):
        raise RefusedPickleError("_codecs.encode with anything but latin1 text")
    return text.encode("latin1")


def _line(text: str) -> str:
    """Return the first 100 characters of a text from a file, as printable ASCII on one line."""
    return ascii(text)[1:-1][:100]
