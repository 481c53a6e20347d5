"""Fetching published files: checksum, resume, refusal."""

import hashlib
import http.server
import threading

import pytest

from harness.errors import BadInput
from harness.sources import packs

CONTENT = bytes(range(256)) * 40


class Server(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT, with or without ranges; /wrong serves something else."""

    asked: list = []

    def do_GET(self):
        start = self.headers.get("Range")
        Server.asked.append((self.path, start))
        body = b"something else" if self.path == "/wrong" else CONTENT
        ranged = start and self.path != "/whole"
        if ranged:
            body = body[int(start.removeprefix("bytes=").rstrip("-")) :]
        self.send_response(206 if ranged else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Server.asked = []
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def pack(*urls, digest=hashlib.sha256(CONTENT).hexdigest()):
    return packs.Pack("one", "folder/one.bin", digest, len(CONTENT), "MIT", "nobody", tuple(urls))


def test_fetch_then_nothing_to_do(address, tmp_path):
    path = packs.fetch(pack(f"{address}/one"), tmp_path)
    assert path.read_bytes() == CONTENT and len(Server.asked) == 1
    assert packs.fetch(pack(f"{address}/one"), tmp_path) == path and len(Server.asked) == 1


@pytest.mark.parametrize("where", ["one", "whole"])
def test_a_partial_file_is_resumed(address, tmp_path, where):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.bin.part").write_bytes(CONTENT[:1000])
    assert packs.fetch(pack(f"{address}/{where}"), tmp_path).read_bytes() == CONTENT
    assert Server.asked == [(f"/{where}", "bytes=1000-")]


def test_the_next_mirror_is_tried(address, tmp_path):
    assert packs.fetch(pack("http://127.0.0.1:9/gone", f"{address}/wrong", f"{address}/one"), tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_is_no_file(address, tmp_path):
    with pytest.raises(BadInput, match="sha256 is"):
        packs.fetch(pack(f"{address}/wrong"), tmp_path)
    assert not list(tmp_path.rglob("one.bin*"))


def test_a_present_file_with_another_checksum_is_left_alone(address, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.bin").write_bytes(b"mine")
    with pytest.raises(BadInput, match="left as it is"):
        packs.fetch(pack(f"{address}/one"), tmp_path)
    assert (tmp_path / "folder" / "one.bin").read_bytes() == b"mine" and not Server.asked


def test_a_pack_without_address_says_what_to_do(tmp_path):
    with pytest.raises(BadInput, match="not published as a single file.*Put it at"):
        packs.fetch(pack(), tmp_path)


def test_a_pack_without_known_checksum_is_the_users_to_bring(tmp_path, monkeypatch, capsys):
    """Never downloaded, an address or not; once it is there it is taken, and its checksum shown."""
    own = packs.Pack("one", "folder/one.bin", None, None, "MIT", "nobody", ("http://127.0.0.1:9/one",), "Ask nobody.")
    with pytest.raises(BadInput, match="is not downloaded, for no checksum of it is known; Ask nobody. Put it at"):
        packs.fetch(own, tmp_path)
    assert packs.verify([own], tmp_path) == 0 and "absent" in capsys.readouterr().out
    path = tmp_path / "folder" / "one.bin"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert packs.fetch(own, tmp_path) == path
    assert packs.verify([own], tmp_path) == 0 and digest in capsys.readouterr().out
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(packs, "packs", lambda: {"one": own})
    assert packs.command(["list"]) == 0
    line = capsys.readouterr().out
    assert "? MB" in line and "present" in line and digest in line


def test_listing_and_verifying(tmp_path, monkeypatch, capsys, cli):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    code, text, _ = cli("data", "list")
    assert code == 0 and "cifar10_resnet20" in text and "absent" in text
    assert cli("data", "verify")[0] == 0
    path = tmp_path / "cifar_logits" / "cifar10_resnet20_chenyaofo.npz"
    path.parent.mkdir()
    path.write_bytes(b"damaged")
    code, text, _ = cli("data", "verify", "cifar10_resnet20")
    assert code == 1 and "WRONG: sha256" in text
    monkeypatch.delenv("CALHARNESS_DATA")
    code, _, err = cli("data", "verify")
    assert code == 2 and "CALHARNESS_DATA is not set" in err


def test_every_pack_is_described():
    for one in packs.packs().values():
        assert one.licence and one.citation and (one.urls or one.note)
        assert (len(one.sha256) == 64 and one.bytes > 0) if one.sha256 else (not one.urls and one.note)
