"""Read words of a command line: lists, integers, and pairs NAME=VALUE."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import BadInputError, guess


def split(text: str | None) -> list[str]:
    """Split a text at commas: 'a,b' gives ['a', 'b']. None gives []."""
    return [name for name in (text or "").split(",") if name]


def integers(option: str, text: str | None) -> list[int]:
    """Read integers separated by commas: '0,1' gives [0, 1].

    Raise BadInputError, which names `option`, if one of them is not an integer.
    """
    try:
        return [int(number) for number in split(text)]
    except ValueError:
        raise BadInputError(f"{option} is {text!r}; give integers, such as 0,1.") from None


def named_values(command: str, words: Sequence[str], allowed: Sequence[str]) -> dict[str, str]:
    """Return {name: text of the value} for words NAME=VALUE of a command line.

    Parameters
    ----------
    command : str
        Name of the command in the error message.
    words : sequence of str
        Words of the command line.
    allowed : sequence of str
        Names that the command accepts.

    Raises
    ------
    BadInputError
        If a word has no equals sign, or a name is not allowed.

    Examples
    --------
    >>> named_values("status", ["out=a=b"], ["out"])
    {'out': 'a=b'}
    """
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in allowed:
            takes = ", ".join(f"{known}=" for known in allowed)
            raise BadInputError(
                f"{command} has no option {name!r}{guess(name, allowed)}; it takes {takes}."
            )
        values[name] = value
    return values
