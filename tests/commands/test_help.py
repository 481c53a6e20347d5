"""Finding one's way: help, list, info and completion, and where results go; what these say is short, right and at once."""

import os
import re
import subprocess
import sys

import pytest
import typer

import harness
from harness import list_estimators, list_experiments, list_problems
from harness.commands.app import COMMANDS, app, main
from harness.common.paths import CHECKOUT, CONF
from harness.configure.compose import out_folder
from harness.plan.parts import meaning


@pytest.mark.parametrize("command", [*COMMANDS, "help", "data"])
def test_help_of_each_command(cli, command):
    """`COMMAND --help`, `COMMAND -h` and `help COMMAND` are one text, which names every option."""
    code, text, err = cli("help", command)
    assert code == 0 and not err and text.startswith(f"Usage: calharness {command} ")
    assert cli(command, "--help")[1] == cli(command, "-h")[1] == text
    assert max(map(len, text.splitlines())) <= 160
    parameters = typer.main.get_command(app).commands[command].params
    assert all(flag in text for one in parameters for flag in one.opts if flag.startswith("-"))


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


def test_help_holds_no_code_of_a_terminal(cli):
    assert "\x1b" not in cli("--help")[1] + cli("help", "run")[1]


def test_list_alone_counts(cli):
    code, text, _ = cli("list")
    assert (
        code == 0
        and f"problems     {len(list_problems())}" in text
        and "calharness list estimators" in text
    )
    shown = len(cli("list", "problems")[1].splitlines())
    assert (
        f"calharness list problems shows {shown}; {len(list_problems()) - shown} variants" in text
    )


@pytest.mark.parametrize(
    ("group", "every"), [("problems", list_problems), ("estimators", list_estimators)]
)
def test_list_hides_variants_and_says_how_many(cli, group, every):
    """One id first on every line, with a description; what is hidden is counted beside the list, not in it."""
    code, text, err = cli("list", group)
    shown = [line.split()[0] for line in text.splitlines()]
    hidden = set(every()) - set(shown)
    assert (
        code == 0
        and set(shown) < set(every())
        and all(len(line.split()) > 1 for line in text.splitlines())
    )
    assert all(name.endswith(("_legacy", "2024", "2025", "2026")) for name in hidden)
    assert err.startswith(f"{len(hidden)} variants") and "--all" in err
    _, whole, nothing = cli("list", group, "--all")
    assert [line.split()[0] for line in whole.splitlines()] == every() and not nothing


def test_list_by_words_and_properties(cli):
    def found(*arguments):
        return {line.split()[0] for line in cli("list", *arguments)[1].splitlines()}

    canonical = found("estimators", "kde", "notion=canonical")
    assert {"kde", "tuned_kde"} <= canonical and all("kde" in name for name in canonical)
    assert "binned15" not in found("estimators", "notion=canonical") and "kmeans15" in found(
        "estimators", "notion=canonical"
    )
    assert "debiased15" not in found("estimators", "estimand=l1") and "binned15" in found(
        "estimators", "estimand=l1"
    )
    assert found("experiments", "estimator=kde", "berta2026") == set()
    assert {"smoke"} <= found("experiments", "problem=beta_overconfident")
    assert found("experiments", "paper=gruber2025", "--all") == {
        n for n in list_experiments() if n.startswith("gruber2025")
    }
    assert "binned15_gruber2025" in found("estimators", "binned", "paper=gruber2025")
    assert {"Isotonic", "LightGBM"} <= found("calibrators")
    assert "beta_wavy" in found("problems", "wavy", "notion=canonical")


def test_list_is_cut_to_the_terminal(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, cli("list", "estimators")[1].splitlines())) > 60
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = cli("list", "estimators")[1].splitlines()
    assert max(map(len, lines)) == 60 and any(line.endswith("…") for line in lines)


def test_info_shows_every_parameter_with_its_default(cli):
    text = cli("info", "variational_lightgbm_ws")[1]
    rows = {
        line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("  ")
    }
    assert rows["iterations"][:3] == ["10", "1000", "int"] and rows["folds"][:3] == [
        "5",
        "5",
        "int",
    ]
    assert rows["repeats"][2] == "int"
    assert (
        "path" in cli("info", "predictions")[1]
        and "path is missing" in cli("info", "predictions")[1]
    )
    assert (
        "weights" in cli("info", "TabPFN")[1]
        and cli("info", "harness.calibrators.Isotonic")[0] == 0
    )
    assert "1 problem" in cli("info", "cifar10_networks_popordanoska2024")[1]


def test_info_of_an_experiment(cli):
    text = cli("info", "smoke")[1]
    assert (
        "144, of which 126 run here and 18 are skipped" in text
        and "calharness experiment=smoke" in text
    )
    text = cli("info", "gruber2025_fig2a")[1]
    assert "compared with fig2a" in text and "toplabel/kull_densenet40_c10.npz (" in text


def test_info_of_an_own_class(cli, module):
    module(
        "own_info",
        'def mine(p, y, bins=10):\n    """Mean residual over bins.\n\n    bins: how many."""\n    return 0.0\n',
    )
    code, text, _ = cli("info", "own_info.mine")
    assert code == 0 and "Mean residual over bins" in text and "bins" in text and "10" in text


def test_meaning_is_the_sentence_that_names_the_parameter():
    doc = "A mean. `folds` of the data; `level` of the bound. rule = width or mass."
    assert (
        meaning("level", doc) == "`level` of the bound"
        and meaning("rule", doc) == "rule = width or mass"
    )
    assert meaning("seed", doc) == ""
    doc = "Parameters\n----------\nlow, high : float\n    Its ends. Both are finite.\nfolds : int\n    Parts\n    of it.\n\nNotes"
    assert (
        meaning("high", doc) == "Its ends"
        and meaning("folds", doc) == "Parts of it"
        and meaning("of", doc) == ""
    )


def completed(shell, words, cwd):
    """What the program answers to the completion script of a shell, and the heavy modules that it imported."""
    line = " ".join(["calharness", *words])
    environment = {
        **os.environ, "PYTHONPATH": str(CHECKOUT), "_CALHARNESS_COMPLETE": f"complete_{shell}", "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)), "_TYPER_COMPLETE_ARGS": line,
    }  # fmt: skip
    code = "import atexit, sys; from harness.commands.app import main; "
    code += "atexit.register(lambda: print([m for m in ('numpy', 'hydra', 'pandas') if m in sys.modules], file=sys.stderr)); main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["pl"], ["plan"]),
        (["experiment", "=", "smo"], ["smoke"]),
        (["plan", "experiment", "=", "smo"], ["smoke"]),
        (["plan", "experiment=smo"], ["experiment=smoke"]),
        (["estimator=[binned15,kmeans15_"], ["estimator=[binned15,kmeans15_berta2026"]),
        (
            ["experiment=smoke", "estimator.binned15."],
            ["estimator.binned15.bins=", "estimator.binned15.rule="],
        ),
        (["+estimator.ckce.acc"], ["+estimator.ckce.accuracy="]),
        (["-m", "problem", "=", "beta_wa"], ["beta_wavy", "beta_wavy_legacy"]),
        (["info", "certified_interval_"], ["certified_interval_perturbed"]),
        (["info", "Isoto"], ["Isotonic"]),
        (["list", "prob"], ["problems"]),
        (["check", "tuned_uk"], ["tuned_ukkr"]),
        (["data", "fetch", "kull_c"], ["kull_cifar"]),
        (["doctor", "--c"], ["--compact"]),
        (["plan", "rep"], ["reps="]),
        (["figure.d"], ["figure.dpi="]),
        (["plan", "engine", "=", "lo"], ["loky"]),
    ],
)
def test_completion(words, some, capsys, monkeypatch):
    """Words as bash gives them (taken apart at =) or whole, as zsh does."""
    monkeypatch.setenv("_CALHARNESS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(["calharness", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit) as end:
        main([])
    found = capsys.readouterr().out.split()
    assert end.value.code == 0 and found[: len(some)] == some


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_imports_nothing_heavy(shell, tmp_path):
    text, heavy = completed(shell, ["plan", "experiment=smo"], tmp_path)
    assert "experiment=smoke" in text and heavy.splitlines()[-1] == "[]"


def test_the_package_gives_its_whole_surface_when_asked():
    assert set(harness.__all__) <= set(dir(harness)) and all(
        hasattr(harness, name) for name in harness.__all__
    )
    assert harness.math.divergences.__name__ == "harness.math.divergences"
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        harness.no_such_name  # noqa: B018
    with pytest.raises(ImportError):
        from harness import no_such_name  # noqa: F401


def test_results_go_to_the_checkout_or_to_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CALHARNESS_OUT", raising=False)
    monkeypatch.chdir(tmp_path)
    assert out_folder(None) == (tmp_path / "results").resolve()
    monkeypatch.chdir(CHECKOUT / "tests")
    assert out_folder(None) == CHECKOUT / "results"
    monkeypatch.setenv("CALHARNESS_OUT", str(tmp_path / "mine"))
    assert (
        out_folder(None) == (tmp_path / "mine").resolve()
        and out_folder("x") == CHECKOUT / "tests" / "x"
    )
