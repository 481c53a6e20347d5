"""A fresh clone: its links open, it is small, and Git ignores what a command draws again."""

import re
import shutil
import subprocess

import pytest
from printed import ROOT

from harness.pages import index

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="not a Git checkout"
)
MOST = 75e6  # bytes of results/
DRAWN = (".html", ".svg", ".pdf", ".tex")  # endings of files that `make results` draws
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/**/*.md", "results/**/README.md")
LINK = re.compile(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)|(?:href|src)=\"([^\"]+)\"")


def git(*arguments):
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")


@pytest.fixture(scope="module")
def tracked():
    return [path for path in git("ls-files", "-z") if path and (ROOT / path).is_file()]


def links(text):
    """Return the relative links of a page in Markdown, outside of code."""
    text = re.sub(r"^ *(```|~~~).*?^ *\1|<!--.*?-->", "", text, flags=re.M | re.S)
    found = [markdown or html for markdown, html in LINK.findall(re.sub("`[^`\n]*`", "", text))]
    return [link for link in found if not re.match(r"[a-z]+:|#", link)]


def test_links_of_pages_lead_to_files_of_the_repository(tracked):
    folders = {parent.as_posix() for path in tracked for parent in (ROOT / path).parents}
    known = folders | {(ROOT / path).as_posix() for path in tracked}
    pages = [path for pattern in PAGES for path in ROOT.glob(pattern) if "site" not in path.parts]
    pages = [page for page in pages if page.relative_to(ROOT).as_posix() in tracked]
    assert len(pages) > 40
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in links(page.read_text())
        if (page.parent / link.partition("#")[0]).resolve().as_posix() not in known
    ]
    assert dead == []


def test_the_repository_holds_no_file_of_results_that_a_command_draws(tracked):
    results = [path for path in tracked if path.startswith("results/")]
    assert [path for path in results if path.endswith(DRAWN)] == []
    assert sum((ROOT / path).stat().st_size for path in results) <= MOST


@pytest.mark.parametrize("end", DRAWN)
def test_git_ignores_what_is_drawn(end):
    names = [f"results/berta2026/fig1{end}", f"results/arena/index{end}", f"results/new{end}"]
    assert git("check-ignore", *names)[0].split() == names


def test_the_pages_in_markdown_are_those_of_the_stored_results(tracked, tmp_path):
    """The same pages come from the files of the repository alone."""
    pages = [path for path in tracked if re.fullmatch("results/([a-z]+[0-9]+/)?README.md", path)]
    for path in tracked:
        if path.startswith("results/") and path.endswith((".csv", ".png", "arena/README.md")):
            copy = tmp_path / path.removeprefix("results/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(ROOT / path)
    index.save(tmp_path)
    assert len(pages) == 6
    for path in pages:
        drawn = (tmp_path / path.removeprefix("results/")).read_text()
        assert drawn == (ROOT / path).read_text(), path
