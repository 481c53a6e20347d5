"""Make text of other people's code and servers safe for records and terminals."""

from __future__ import annotations

import re
from typing import Any, TextIO

# control characters except tab and line feed, marks that change the direction of text, line
# separators of Unicode, and lone surrogates, which UTF-8 cannot encode
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape(text: str) -> str:
    r"""Return the text with unsafe characters as in Python source. Tabs and line feeds stay.

    >>> escape("red \x1b[31m, no UTF-8 \udc80, turned \u202e")
    'red \\x1b[31m, no UTF-8 \\udc80, turned \\u202e'
    """
    if text.isprintable():  # the usual case; no unsafe character is printable
        return text
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def message_of(error: BaseException) -> str:
    """Return the escaped message of an error, or a note if its `__str__` fails."""
    try:
        return escape(str(error))
    except (Exception, SystemExit) as failure:
        return f"(its message cannot be read: __str__ raises {type(failure).__name__})"


class EscapedStream:
    """A text stream that escapes what is written to it. All other methods are the stream's."""

    def __init__(self, stream: TextIO):
        self.unescaped = stream

    def write(self, text: str) -> int:
        self.unescaped.write(escape(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


def unescaped(stream: TextIO) -> TextIO:
    """Return the stream behind an `EscapedStream`, for our own terminal codes."""
    return getattr(stream, "unescaped", stream)
