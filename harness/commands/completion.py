"""Completion of the command line: `eval "$(calharness completion bash)"`. The shell calls `calharness completion words ...` at
every tab, so nothing heavy is imported: ids and parameters are read from YAML."""

from __future__ import annotations

import re

from harness.common.paths import CONF
from harness.configure.options import GROUPS, ids, option
from harness.errors import BadInputError

BASH = """_calharness() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" completion words "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
    case "${COMPREPLY[0]-}" in
        *[=.]|*"["*) compopt -o nospace 2>/dev/null ;;
    esac
    return 0
}
complete -o default -F _calharness calharness"""

ZSH = """_calharness() {
    local -a found
    found=("${(@f)$(${words[1]} completion words $((CURRENT - 1)) "${words[@]}" 2>/dev/null)}")
    compadd -Q -S '' -- ${found:#}
}
compdef _calharness calharness"""

COMMANDS = (
    "run",
    "judge",
    "list",
    "info",
    "plan",
    "status",
    "report",
    "results",
    "check",
    "compare",
    "doctor",
    "data",
    "site",
    "completion",
    "help",
)
FLAGS = {
    "run": ("-m", "--cfg", "--traceback", "--help"), "list": ("--all", "--help"), "doctor": ("--compact", "--repair", "--help"),
    "results": ("--compute", "--store", "--help"), "compare": ("--rebuild", "--help"),
    "judge": ("--html", "--json", "--fail-above", "--save-calibrator", "--level", "--group", "--seed", "--help"),
}  # fmt: skip
LISTS = ("problems", "estimators", "experiments", "calibrators", "papers")
VALUES = {
    "notion": ("binary", "top_label", "classwise", "canonical", "all", "main"), "engine": ("serial", "loky", "dask", "ray"),
    "on_error": ("record", "raise"), "refresh": ("true", "false"),
    "profile": ("true", "false"), "same_draws_as_paper": ("true", "false"),
    "reliability": ("overall", "classes", "none"), "estimand": ("l1", "l2_squared", "rms", "kl", "linf"),
}  # fmt: skip


def command(arguments: list[str]) -> int:
    """`completion bash|zsh` prints the script; `completion words INDEX WORD ...` what may stand at the word of that index."""
    if arguments in (["bash"], ["zsh"]):
        print({"bash": BASH, "zsh": ZSH}[arguments[0]])
        return 0
    if len(arguments) > 1 and arguments[0] == "words" and arguments[1].isdigit():
        for word in candidates(arguments[2:], int(arguments[1])):
            print(word)
        return 0
    raise BadInputError(f"completion of what? it takes bash or zsh, found {' '.join(arguments) or 'nothing'}.")


def candidates(words: list[str], index: int) -> list[str]:
    """What the word words[index] can become. bash takes words apart at =, zsh does not: what replaces the word is returned."""
    words = [*words, *[""] * (index + 1 - len(words))]
    typed = "" if words[index] == "=" else words[index].lstrip("'\"")
    start = index
    while start > 1 and "=" in (words[start], words[start - 1]):
        start -= 1
    whole = "".join(words[start : index + 1]).lstrip("'\"")
    return [word[len(whole) - len(typed) :] for word in _complete(words[1:start], whole) if word.startswith(whole)]


def _complete(before: list[str], word: str) -> list[str]:
    """Whole words that may stand after the words `before`."""
    command = before[0] if before and before[0] in COMMANDS else None
    if command == "help":
        return list(COMMANDS[:-1])
    if command == "completion":
        return ["bash", "zsh"]
    if command == "info":
        return [name for group in GROUPS for name in ids(group)] + _calibrators()
    if command == "list":
        return _list(before[1:], word)
    if command == "check":
        return ids("estimator")
    if command == "compare":
        return list(FLAGS["compare"]) if word.startswith("-") else _compare(word)
    if command == "judge":
        return _judge(word)
    if command == "data":
        return _data(before[1:])
    if word.startswith("-"):
        return list(FLAGS.get(command or "run", ("--help",)))
    if command == "status":
        return ["out="]
    return ([] if before else list(COMMANDS)) + _override(before, word)


def _list(before: list[str], word: str) -> list[str]:
    if not before:
        return list(LISTS)
    if before[0] == "papers":
        return _papers()
    if "=" in word:
        key = word.partition("=")[0]
        values = VALUES.get(key) or (ids(key) if key in GROUPS else _papers() if key == "paper" else ())
        return [f"{key}={value}" for value in values]
    return ["--all", "notion=", "estimand=", "paper=", "problem=", "estimator="]


def _compare(word: str) -> list[str]:
    name, equals, _ = word.partition("=")
    if equals:
        values = ids("problem") if name == "problem" else [one for one in VALUES.get(name, ()) if one != "all"]
        return [f"{name}={value}" for value in values]
    options = ("problem", "calibrator", "n", "reps", "family", "notion", "estimand", "out", "jobs", "limit", "baseline")
    return [*(f"{one}=" for one in options), *ids("estimator")]


def _judge(word: str) -> list[str]:
    """Options, once one is begun; else nothing, and the shell offers files."""
    if word.startswith("-"):
        return list(FLAGS["judge"])
    reader = ("labels", "probabilities", "logits", "positive", "class_names", "top_label", "split", "renormalise", "float32")
    return [f"{name}=" for name in reader] if word and "=" not in word else []


def _data(before: list[str]) -> list[str]:
    if not before:
        return ["list", "fetch", "verify", "make"]
    if before == ["make"]:
        return ["tabular_oof", "digits_networks", "perturbed_networks", "imagenet_brightness"]
    if before in (["fetch"], ["verify"]):
        from harness.common.paths import PACKS

        listing = PACKS.read_text()
        groups = dict.fromkeys(re.findall(r"\bgroup: ([\w.-]+)", listing))
        return [*groups, *re.findall(r"^([\w.-]+):", listing, flags=re.M), "tabrepo"]
    return []


def _override(before: list[str], word: str) -> list[str]:
    plus = word[: len(word) - len(word.lstrip("+"))]
    name, equals, value = word[len(plus) :].partition("=")
    if equals:
        return [f"{plus}{name}={text}" for text in _values(name, value)]
    group, _, rest = name.partition(".")
    if rest and group in ("problem", "estimator") or name in ("problem.", "estimator."):
        one, dot, _ = rest.partition(".")
        if dot:
            return [f"{plus}{group}.{one}.{key}=" for key in _parameters(group, one, plus)]
        return [f"{plus}{group}.{one}." for one in ids(group)]
    text = _config()
    if group == "figure" and "." in name:
        return [f"{plus}figure.{key}=" for key in re.findall(r"^  (\w+):", text.split("\nfigure:")[1], flags=re.M)]
    top = re.findall(r"^(\w+):", text, flags=re.M)[1:]
    dotted = [f"{plus}{one}." for one in ("problem", "estimator", "figure")]
    return [f"{plus}{one}=" for one in (*GROUPS, *top) if one not in ("figure", "sweep", "labels", "reasons")] + dotted


def _values(name: str, value: str) -> list[str]:
    if name in ("problem", "estimator"):
        head = value[: max(value.rfind("["), value.rfind(","), value.rfind("(")) + 1]
        return [head + one for one in ids(name)]
    if name == "experiment":
        return ids(name)
    return list(VALUES.get(name, ()))


def _parameters(group: str, name: str, plus: str) -> list[str]:
    """Parameters of an id: those of its YAML, and behind a + also those that only its class has."""
    if name not in ids(group):
        return []
    if plus:
        from harness.configure import catalogue

        return catalogue.parameters(group, name)
    return [key for key in option(group, name).config if key != "_target_"]


def _config() -> str:
    return (CONF / "config.yaml").read_text().split("\nhydra:")[0]


def _papers() -> list[str]:
    from harness.configure import catalogue

    return catalogue.papers()


def _calibrators() -> list[str]:
    from harness.configure import catalogue

    return catalogue.calibrators()
