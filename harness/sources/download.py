"""Download files and resume partial downloads.

The caller must compare the checksum before it uses a file.
"""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.common.escaping import escape
from harness.common.reading import refuse_special
from harness.errors import BadInputError

BLOCK_BYTES = 1 << 20
LARGEST = 1 << 36  # largest accepted number of bytes if the size of the file is unknown


def download(
    url: str,
    partial: Path,
    note: Callable[[int], None] = lambda received: None,
    size: int | None = None,
) -> str | None:
    """Download `url` into the file `partial`, continuing at the end of its present content.

    Parameters
    ----------
    url : str
        Address of the file.
    partial : path
        File that receives the data. It is created if it does not exist.
    note : callable
        Called after every block with the number of bytes received so far.
    size : int, optional
        Size of the file in bytes, None if unknown. A longer answer is refused. An answer that ends
        earlier is incomplete.

    Returns
    -------
    str or None
        The sha256 that the server states, or None. It is taken from the header X-Linked-ETag of a
        redirect, or from X-Linked-ETag or ETag of the answer.

    Raises
    ------
    OSError
        In these cases:

        * The server does not answer, or sends less than it announced or than `size`. The data so
          far are kept for the next attempt.
        * The answer is longer than `size`, or the server redirects from https to another protocol.
          The partial file is then not used.
    BadInputError
        If `partial` is a symbolic link, a device, a pipe or a socket.
    """
    if partial.is_symlink():
        raise BadInputError(f"{partial} is a symbolic link, which no download follows; remove it.")
    refuse_special(partial)
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    redirects = _Redirects()
    try:
        answer = urllib.request.build_opener(redirects).open(request, timeout=60)
    except urllib.error.HTTPError as error:
        # 416: the server has no data after `start`, so the partial file may be complete or too long
        if error.code != 416 or not start:
            raise
        partial.unlink()
        return download(url, partial, note, size)
    except (http.client.HTTPException, ValueError) as error:  # no valid answer, or redirect
        raise OSError(
            f"the server's answer cannot be understood ({type(error).__name__})"
        ) from error
    most = LARGEST if size is None else size
    with answer, open(partial, "ab" if start else "wb") as file:
        if start and answer.status != 206:  # the server sends the whole file again
            file.truncate(0)
            start = 0
        length = answer.headers.get("Content-Length")
        is_length = length is not None and re.fullmatch(r"\d{1,15}", length)
        expected = start + int(length) if is_length else size
        try:
            while start <= most and (block := answer.read(BLOCK_BYTES)):
                file.write(block[: most + 1 - start])
                start += len(block)
                note(start)
        except http.client.HTTPException as error:
            raise OSError(
                f"the connection broke after {start:,} bytes ({type(error).__name__})"
            ) from error
    if start > most:
        partial.unlink()
        raise OSError(f"the server sends more than the expected {most:,} bytes")
    if expected is not None and start != expected:
        raise OSError(f"the connection ended after {start:,} of {expected:,} bytes")
    stated = (redirects.linked, answer.headers.get("X-Linked-ETag"), answer.headers.get("ETag"))
    tags = (str(tag or "").removeprefix("W/").strip('"').lower() for tag in stated)
    return next((tag for tag in tags if re.fullmatch("[0-9a-f]{64}", tag)), None)


def failure_text(error: BaseException) -> str:
    """Return a clause that says why a download failed.

    >>> failure_text(urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")))
    'connection refused'
    """
    if isinstance(error, urllib.error.HTTPError):
        return escape(" ".join(str(error).split()))
    reason = getattr(error, "reason", error)
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return escape(" ".join(str(reason).split())) or type(error).__name__


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Handler that follows redirects, except from https to another protocol.

    It stores the checksum that a redirect states.
    """

    linked: str | None = None

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        self.linked = headers.get("X-Linked-ETag") or self.linked
        scheme = urllib.parse.urlsplit(newurl).scheme
        if scheme not in ("http", "https") or (req.type == "https" and scheme != "https"):
            raise urllib.error.URLError(
                f"the server redirects from {req.type} to {scheme}, which is not followed"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)
