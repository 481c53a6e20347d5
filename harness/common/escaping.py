"""Escape control characters in texts that come from users' code and from servers.

Unescaped, such characters could change a terminal's state or break the files of records.
"""

from __future__ import annotations

import re
from typing import Any, TextIO

# Control characters except tab and line feed, marks that change the direction of text, line
# separators of Unicode, and lone surrogates (UTF-8 cannot encode these).
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

MESSAGE_CHARACTERS = 4000  # of an error; some libraries put a whole array into a message


def escape(text: str) -> str:
    r"""Return the text with unsafe characters replaced by their Python escapes, such as \x1b.

    Tabs and line feeds stay.

    >>> escape("red \x1b[31m, no UTF-8 \udc80, turned \u202e")
    'red \\x1b[31m, no UTF-8 \\udc80, turned \\u202e'
    """
    if text.isprintable():  # fast path for most texts: no unsafe character is printable
        return text
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def error_message(error: BaseException) -> str:
    """Return the message of an error, escaped and cut after MESSAGE_CHARACTERS.

    If its `__str__` fails, return a note about that.
    """
    try:
        text = str(error)
    except BaseException as failure:
        return f"(its message cannot be read: __str__ raises {type(failure).__name__})"
    if len(text) > MESSAGE_CHARACTERS:
        text = f"{text[:MESSAGE_CHARACTERS]} ... ({len(text):,} characters in all)"
    return escape(text)


class EscapedStream:
    """Text stream that escapes everything before it passes it to another stream.

    All methods except `write` and `writelines` are those of the other stream.
    """

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
    """Return the stream behind an `EscapedStream`, or any other stream as it is.

    The progress bar needs it, because its terminal codes must not be escaped.
    """
    return getattr(stream, "unescaped", stream)
