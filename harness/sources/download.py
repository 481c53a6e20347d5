"""Downloads that go on where they broke off."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

BLOCK_BYTES = 1 << 20


def download(url: str, partial: Path, note: Callable[[int], None] = lambda received: None) -> str | None:
    """GET `url` into `partial`, going on behind what that file already holds.

    Parameters
    ----------
    url : str
    partial : path of the file that grows
    note : called with the number of bytes received so far after every block

    Returns
    -------
    str or None
        The sha256 that the server names for the file (a hub names it on its redirect, as X-Linked-ETag), None if it names none.

    Raises
    ------
    OSError
        If there is no answer, or if it is shorter than announced; what came is kept for the next attempt.
    """
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    redirects = _Redirects()
    try:
        answer = urllib.request.build_opener(redirects).open(request, timeout=60)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:  # 416: nothing follows what we have, which may be all or too much
            raise
        partial.unlink()
        return download(url, partial, note)
    with answer, open(partial, "ab" if start else "wb") as f:
        if start and answer.status != 206:  # the server sends the whole file again
            f.truncate(0)
            start = 0
        length = answer.headers.get("Content-Length")
        expected = None if length is None else start + int(length)
        try:
            while block := answer.read(BLOCK_BYTES):
                f.write(block)
                start += len(block)
                note(start)
        except http.client.HTTPException as error:
            raise OSError(f"the connection broke after {start:,} bytes ({type(error).__name__})") from error
    if expected is not None and start != expected:
        raise OSError(f"the connection ended after {start:,} of {expected:,} bytes")
    named = (redirects.linked, answer.headers.get("X-Linked-ETag"), answer.headers.get("ETag"))
    tags = (str(tag or "").removeprefix("W/").strip('"').lower() for tag in named)
    return next((tag for tag in tags if re.fullmatch("[0-9a-f]{64}", tag)), None)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects and keeps the checksum that they carry."""

    linked = None

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        self.linked = headers.get("X-Linked-ETag") or self.linked
        return super().redirect_request(req, fp, code, msg, headers, newurl)
