"""Downloads that go on where they broke off. What comes is never trusted: who calls compares its checksum before it is used."""

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

BLOCK_BYTES = 1 << 20
LARGEST = 1 << 36  # bytes of a file of unknown size


def download(
    url: str,
    partial: Path,
    note: Callable[[int], None] = lambda received: None,
    size: int | None = None,
) -> str | None:
    """GET `url` into `partial`, going on behind what that file already holds.

    Parameters
    ----------
    url : str
    partial : path of the file that grows
    note : called with the number of bytes received so far after every block
    size : how many bytes the file has, None if that is not known; a server that sends more is not listened to

    Returns
    -------
    str or None
        The sha256 that the server names for the file (a hub names it on its redirect, as X-Linked-ETag), None if it names none.

    Raises
    ------
    OSError
        If there is no answer, or if it is shorter than announced; what came is kept for the next attempt. Also if it is longer
        than it can be, or the server leads from https to another protocol; then nothing is kept.
    """
    start = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={start}-"} if start else {})
    redirects = _Redirects()
    try:
        answer = urllib.request.build_opener(redirects).open(request, timeout=60)
    except urllib.error.HTTPError as error:
        if (
            error.code != 416 or not start
        ):  # 416: nothing follows what we have, which may be all or too much
            raise
        partial.unlink()
        return download(url, partial, note, size)
    except (
        http.client.HTTPException,
        ValueError,
    ) as error:  # an answer, or a redirect, that is none
        raise OSError(
            f"the server's answer cannot be understood ({type(error).__name__})"
        ) from error
    most = LARGEST if size is None else size
    with answer, open(partial, "ab" if start else "wb") as f:
        if start and answer.status != 206:  # the server sends the whole file again
            f.truncate(0)
            start = 0
        length = answer.headers.get("Content-Length")
        expected = (
            start + int(length)
            if length is not None and re.fullmatch(r"\d{1,15}", length)
            else None
        )
        try:
            while start <= most and (block := answer.read(BLOCK_BYTES)):
                f.write(block[: most + 1 - start])
                start += len(block)
                note(start)
        except http.client.HTTPException as error:
            raise OSError(
                f"the connection broke after {start:,} bytes ({type(error).__name__})"
            ) from error
    if start > most:
        partial.unlink()
        raise OSError(f"the server sends more than the {most:,} bytes that the file has")
    if expected is not None and start != expected:
        raise OSError(f"the connection ended after {start:,} of {expected:,} bytes")
    named = (redirects.linked, answer.headers.get("X-Linked-ETag"), answer.headers.get("ETag"))
    tags = (str(tag or "").removeprefix("W/").strip('"').lower() for tag in named)
    return next((tag for tag in tags if re.fullmatch("[0-9a-f]{64}", tag)), None)


def said(error: BaseException) -> str:
    """Why a download failed, in words.

    >>> said(urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")))
    'connection refused'
    """
    if isinstance(error, urllib.error.HTTPError):
        return escape(" ".join(str(error).split()))
    reason = getattr(error, "reason", error)
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return escape(" ".join(str(reason).split())) or type(error).__name__


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but for those from https to another protocol, and keeps the checksum that they carry."""

    linked: str | None = None

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        self.linked = headers.get("X-Linked-ETag") or self.linked
        to = urllib.parse.urlsplit(newurl).scheme
        if to not in ("http", "https") or req.type == "https" and to != "https":
            raise urllib.error.URLError(
                f"the server leads from {req.type} to {to}, which is not followed"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)
