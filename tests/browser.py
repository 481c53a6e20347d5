"""Open pages from the disk in headless Chromium, the system's, driven by Playwright."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZES = {"phone": (390, 844), "desk": (1280, 900)}
QUIET = ("data:", "blob:", "about:")


@dataclass
class Watched:
    """A page, and its console errors and failed or outside requests since it was opened."""

    page: Any
    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # files that were not found

    def overflow(self) -> int:
        """Pixels by which the document is wider than the window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def assert_quiet(self) -> None:
        """No console error, no request to outside, no file missed."""
        assert not self.errors and not self.outside and not self.absent, (
            self.errors,
            self.outside,
            self.absent,
        )


def sort_by(page: Any, table: str, column: int, direction: str) -> None:
    """Click on the order button of a column (from 1) and wait: DataTables sorts in a later task."""
    head = f"{table} thead th:nth-child({column})"
    page.click(f"{head} button >> nth=0" if page.locator(f"{head} button").count() else head)
    page.wait_for_function(f"document.querySelector('{head}').ariaSort === '{direction}'")


class Browser:
    """One Chromium for many pages."""

    def __init__(self, started: Any) -> None:
        self.started = started

    @contextlib.contextmanager
    def opened(self, path: Path | str, size: str = "desk", dark: bool = False) -> Iterator[Watched]:
        """A page from the disk: its path, with #place if wanted; `size` is one of SIZES."""
        width, height = SIZES[size]
        context = self.started.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            offline=True,
            reduced_motion="reduce",
        )
        page = context.new_page()
        seen = Watched(page)
        page.on(
            "console",
            lambda entry: seen.errors.append(entry.text) if entry.type == "error" else None,
        )
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                None if asked.url.startswith(("file:", *QUIET)) else seen.outside.append(asked.url)
            ),
        )
        page.on("requestfailed", lambda asked: seen.absent.append(asked.url))
        file, mark, place = str(path).partition("#")
        page.goto(Path(file).resolve().as_uri() + mark + place, wait_until="load")
        try:
            yield seen
        finally:
            context.close()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium; the test is skipped, with the reason, where it or Playwright is not there."""
    where = next((path for path in map(shutil.which, NAMES) if path), None)
    if where is None:
        pytest.skip(f"no Chromium: none of {', '.join(NAMES)} is on the path")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: it drives Chromium"
    )
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=where, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield Browser(started)
        finally:
            started.close()
