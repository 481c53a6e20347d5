"""Check the flags and overrides of a run as typed, before Hydra reads them."""

from __future__ import annotations

import re
from typing import NoReturn

from hydra._internal.utils import get_args_parser

from harness.configure import messages
from harness.configure.catalogue import setting_names
from harness.configure.compose import check_overrides, search_path
from harness.configure.options import GROUPS, find_config_dir, ids
from harness.errors import BadInputError


def check_flags(arguments: list[str]) -> list[str]:
    """Return the arguments of a command in the order that Hydra needs: flags, then overrides.

    Raises
    ------
    BadInputError
        If a flag is unknown or has a wrong value, or if an option or id is unknown.
    """
    parser = get_args_parser()
    flags = {flag for action in parser._actions for flag in action.option_strings}
    for text, after in zip(arguments, [*arguments[1:], ""]):
        if text.startswith("-") and text.partition("=")[0] not in flags:
            raise BadInputError(messages.unknown_flag(text, after))

    def refuse(message: str) -> NoReturn:
        raise BadInputError(
            f"the arguments {' '.join(arguments)} cannot be read: {message}; `calharness help run` "
            "shows the flags."
        )

    parser.error = refuse  # type: ignore[method-assign]
    parsed = parser.parse_intermixed_args(arguments)
    if parsed.config_path or parsed.config_name:
        raise BadInputError(
            "--config-path and --config-name are not supported; use --config-dir=FOLDER to add "
            "experiments, "
            "problems and estimators."
        )
    folder = find_config_dir(parsed.overrides)
    check_overrides(parsed.overrides, sweep=parsed.multirun)
    for text in parsed.overrides:
        name = re.split(r"[.=]", text.lstrip("+~"))[0]
        if name not in setting_names() and name.partition("/")[0] != "hydra":
            raise BadInputError(messages.unknown_option(name))
        words = re.fullmatch(r"\w+=([\w.,-]+)", text)
        for word in words[1].split(",") if words and name in GROUPS else ():
            if word not in ids(name, folder):
                raise BadInputError(messages.unknown_id(name, word, folder))
    if parsed.multirun and not any(
        re.match(r"\+*(experiment|problem)[=.]", text) for text in parsed.overrides
    ):
        raise BadInputError(
            "-m is given without an experiment= or problem= to run; add one, for example "
            "`calharness -m experiment=smoke seed=0,1`."
        )
    parsed_flags = [text for text in arguments if text not in parsed.overrides]
    return [*parsed_flags, *parsed.overrides, *search_path(parsed.overrides)]
