"""Help, list, info and completion are short, right and quick; where results go."""

import os
import re
import subprocess
import sys

import pytest
import typer

from harness import list_estimators, list_experiments, list_problems
from harness.commands.app import COMMANDS, app, main
from harness.common.paths import CHECKOUT, CONF
from harness.configure.compose import out_folder
from harness.plan.documentation import find_meaning


def first_words(text):
    return [line.split()[0] for line in text.splitlines()]


@pytest.mark.parametrize("command", [*COMMANDS, "data"])
def test_help_of_each_command(cli, command):
    """`COMMAND --help`, `COMMAND -h` and `help COMMAND` are one text with every option."""
    code, text, err = cli("help", command)
    assert code == 0 and not err and text.startswith(f"Usage: calharness {command} ")
    assert cli(command, "--help")[1] == cli(command, "-h")[1] == text
    assert max(map(len, text.splitlines())) <= 160 and "\x1b" not in text
    parameters = typer.main.get_command(app).commands[command].params
    flags = [flag for parameter in parameters for flag in parameter.opts]
    assert all(flag in text for flag in flags if flag.startswith("-"))


def test_help_of_a_run_names_every_option_of_the_configuration(cli):
    text = cli("experiment=smoke", "--help")[1]
    assert text == cli("help", "run")[1]
    settings = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    names = re.findall(r"^ *(\w+):", settings.split("experiment: null")[1], flags=re.M)
    assert {"n", "reps", "figure", "dpi"} <= set(names)
    assert all(re.search(rf"^ +{name}:", text, flags=re.M) for name in names)


def test_help_of_a_command_within_a_command(cli):
    assert cli("data", "fetch", "--help")[1].startswith("Usage: calharness data fetch ")
    assert "--images" in cli("data", "make", "imagenet_brightness", "--help")[1]


def test_list_alone_counts(cli):
    code, text, _ = cli("list")
    count = len(list_problems())
    assert code == 0 and f"problems     {count}" in text and "calharness list estimators" in text
    shown = len(cli("list", "problems")[1].splitlines())
    assert f"calharness list problems shows {shown}; {count - shown} variants" in text


@pytest.mark.parametrize(
    "group, ids", [("problems", list_problems()), ("estimators", list_estimators())]
)
def test_list_hides_variants_and_counts_them(cli, group, ids):
    code, text, err = cli("list", group)
    hidden = set(ids) - set(first_words(text))
    assert code == 0 and {"problems": "beta_wavy", "estimators": "oracle"}[group] in text
    assert all(len(line.split()) > 1 for line in text.splitlines())
    assert hidden and all(name.endswith(("_legacy", "2024", "2025", "2026")) for name in hidden)
    assert err.startswith(f"{len(hidden)} variants") and "--all" in err
    _, whole, nothing = cli("list", group, "--all")
    assert first_words(whole) == ids and not nothing


@pytest.mark.parametrize(
    "words, some, others",
    [
        ("estimators kde notion=canonical", {"kde", "tuned_kde"}, {"kmeans15"}),
        ("estimators notion=canonical", {"kmeans15"}, {"binned15"}),
        ("estimators estimand=l1", {"binned15"}, {"debiased15"}),
        ("estimators binned paper=gruber2025", {"binned15_gruber2025"}, {"binned15"}),
        ("experiments problem=beta_overconfident", {"smoke"}, set()),
        ("experiments paper=gruber2025 --all", {"gruber2025_fig1"}, {"smoke"}),
        ("calibrators", {"Isotonic", "LightGBM"}, set()),
        ("problems wavy notion=canonical", {"beta_wavy"}, {"beta_shifted"}),
    ],
)
def test_list_by_words_and_properties(cli, words, some, others):
    code, text, _ = cli("list", *words.split())
    ids = set(first_words(text))
    assert code == 0 and some <= ids and not others & ids
    if "paper=" in words and "--all" in words:
        assert ids == {name for name in list_experiments() if name.startswith("gruber2025")}


@pytest.mark.parametrize(
    "words, message",
    [
        ("experiments estimator=kde berta2026", "no experiment matches"),
        ("estimators notion=canonicl", "no estimator matches"),
        ("calibrators notion=binary", "allowed are paper"),
    ],
)
def test_a_list_without_matches(cli, words, message):
    code, _, err = cli("list", *words.split())
    assert code == 2 and message in err


@pytest.mark.parametrize("words", [("list", "estimators"), ("info", "kde")])
def test_tables_fit_the_given_width_but_are_whole_in_a_pipe(cli, monkeypatch, words):
    def longest(*flags):
        return max(map(len, cli(*words, *flags)[1].splitlines()))

    monkeypatch.delenv("COLUMNS", raising=False)
    whole = longest()
    monkeypatch.setenv("COLUMNS", "120")
    assert longest() <= 120 < whole
    assert longest("--wide") == whole


def test_info_shows_every_parameter_with_its_default(cli):
    lines = cli("info", "variational_lightgbm_ws")[1].splitlines()
    rows = {words[0]: words[1:4] for words in map(str.split, lines) if len(words) > 3}
    assert rows["iterations"] == ["10", "1000", "int"] and rows["folds"] == ["5", "5", "int"]
    assert rows["repeats"][2] == "int"


@pytest.mark.parametrize(
    "name, parts",
    [
        ("beta_overconfident", ["Beta", "slope: 0.4", "0.1371566207"]),
        ("variational_isotonic", ["berta2026", "Isotonic"]),
        ("predictions", ["path", "path is missing"]),
        ("TabPFN", ["weights"]),
        ("harness.calibrators.Isotonic", ["Isotonic"]),
        ("cifar10_networks_popordanoska2024", ["1 problem"]),
        (
            "smoke",
            [
                "override /problem",
                "144, of which 126 run here and 18 are skipped",
                "calharness experiment=smoke",
            ],
        ),
        ("gruber2025_fig2a", ["compared with fig2a", "toplabel/kull_densenet40_c10.npz ("]),
    ],
)
def test_info(cli, name, parts):
    code, text, _ = cli("info", name)
    assert code == 0 and all(part in text for part in parts)


def test_info_of_an_own_class(cli, module):
    module(
        "own_info", 'def mine(p, y, bins=10):\n    """Mean residual over bins."""\n    return 0.0\n'
    )
    code, text, _ = cli("info", "own_info.mine")
    assert code == 0 and "Mean residual over bins" in text and "bins" in text and "10" in text


def test_meaning_is_the_sentence_that_names_the_parameter():
    doc = "A mean. `folds` of the data; `level` of the bound. rule = width or mass."
    assert find_meaning("level", doc) == "`level` of the bound"
    assert find_meaning("rule", doc) == "rule = width or mass" and find_meaning("seed", doc) == ""
    doc = (
        "Parameters\n----------\nlow, high : float\n    Its ends. Both are finite.\n"
        "folds : int\n    Parts\n    of it.\n\nNotes"
    )
    assert find_meaning("high", doc) == "Its ends" and find_meaning("folds", doc) == "Parts of it"
    assert find_meaning("of", doc) == ""


@pytest.mark.parametrize(
    "line, first",
    [
        ("pl", "plan"),
        ("experiment = smo", "smoke"),
        ("plan experiment = smo", "smoke"),
        ("plan experiment=smo", "experiment=smoke"),
        ("estimator=[binned15,kmeans15_", "estimator=[binned15,kmeans15_berta2026"),
        ("experiment=smoke estimator.binned15.", "estimator.binned15.bins="),
        ("+estimator.ckce.acc", "+estimator.ckce.accuracy="),
        ("-m problem = beta_wa", "beta_wavy"),
        ("info certified_interval_", "certified_interval_perturbed"),
        ("info Isoto", "Isotonic"),
        ("list prob", "problems"),
        ("check tuned_uk", "tuned_ukkr"),
        ("data fetch kull_c", "kull_cifar"),
        ("doctor --c", "--compact"),
        ("plan rep", "reps="),
        ("figure.d", "figure.dpi="),
        ("plan engine = lo", "loky"),
    ],
)
def test_completion(line, first, capsys, monkeypatch):
    """bash splits words at =, zsh does not."""
    monkeypatch.setenv("_CALHARNESS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"calharness {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split())))
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 0 and capsys.readouterr().out.split()[0] == first


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_imports_nothing_heavy(shell, tmp_path):
    line = "calharness plan experiment=smo"
    environment = {
        **os.environ, "PYTHONPATH": str(CHECKOUT), "COMP_WORDS": line, "COMP_CWORD": "2",
        "_CALHARNESS_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line,
    }  # fmt: skip
    code = (
        "import atexit, sys; from harness.commands.app import main; "
        "heavy = lambda: [m for m in ('numpy', 'hydra', 'pandas') if m in sys.modules]; "
        "atexit.register(lambda: print(heavy(), file=sys.stderr)); main()"
    )
    command, options = [sys.executable, "-c", code], {"cwd": tmp_path, "env": environment}
    process = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    assert "experiment=smoke" in process.stdout and process.stderr.splitlines()[-1] == "[]"


def test_results_go_to_the_checkout_or_to_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CALHARNESS_OUT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert out_folder(None) == (tmp_path / "results").resolve()
    monkeypatch.chdir(CHECKOUT / "tests")
    assert out_folder(None) == CHECKOUT / "results"
    monkeypatch.setenv("CALHARNESS_OUT", str(tmp_path / "mine"))
    assert out_folder(None) == (tmp_path / "mine").resolve()
    assert out_folder("x") == CHECKOUT / "tests" / "x"
