"""Fetching published files: checksum, resume, refusal."""

import hashlib
import re

import pytest
from http_server import Silent, serving

from harness.commands import data
from harness.errors import BadInputError
from harness.sources import packs

CONTENT = bytes(range(256)) * 40


class Server(Silent):
    """Serve CONTENT. Serve other bytes at /wrong, half of CONTENT at /broken, and nothing at
    /none.
    """

    asked: list = []

    def do_GET(self):
        start = self.headers.get("Range")
        Server.asked.append((self.path, start))
        if self.path == "/none":
            self.send_error(404)
            return
        body = b"something else" if self.path == "/wrong" else CONTENT
        ranged = start and self.path != "/whole"
        if ranged:
            body = body[int(start.removeprefix("bytes=").rstrip("-")) :]
        self.send_response(206 if ranged else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/broken" else body)


@pytest.fixture
def address():
    Server.asked = []
    with serving(Server) as place:
        yield f"http://{place}"


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


def test_a_partial_file_that_is_a_link_is_not_followed(address, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine.txt").write_bytes(CONTENT[:1000])
    (tmp_path / "folder" / "one.bin.part").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(BadInputError, match="one.bin.part"):
        packs.fetch(pack(f"{address}/one"), tmp_path)
    assert (tmp_path / "mine.txt").read_bytes() == CONTENT[:1000] and not Server.asked


def test_the_next_mirror_is_tried(address, tmp_path):
    assert (
        packs.fetch(
            pack("http://127.0.0.1:9/gone", f"{address}/wrong", f"{address}/one"), tmp_path
        ).read_bytes()
        == CONTENT
    )


def test_a_wrong_checksum_is_no_file(address, tmp_path):
    with pytest.raises(BadInputError, match="sha256 is"):
        packs.fetch(pack(f"{address}/wrong"), tmp_path)
    assert not list(tmp_path.rglob("one.bin*"))


def test_a_present_file_with_another_checksum_is_left_alone(address, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.bin").write_bytes(b"mine")
    with pytest.raises(BadInputError, match="move the file"):
        packs.fetch(pack(f"{address}/one"), tmp_path)
    assert (tmp_path / "folder" / "one.bin").read_bytes() == b"mine" and not Server.asked


def test_a_pack_without_address_says_what_to_do(tmp_path):
    with pytest.raises(BadInputError, match="not published as a single file.*Put it at"):
        packs.fetch(pack(), tmp_path)


def test_a_pack_without_known_checksum_is_the_users_to_bring(tmp_path, monkeypatch, capsys):
    """Such a pack is never downloaded. If its file is there, its checksum is shown."""
    shipped = packs.Pack(
        "one",
        "folder/one.bin",
        None,
        None,
        "MIT",
        "nobody",
        ("http://127.0.0.1:9/one",),
        "Ask nobody.",
    )
    with pytest.raises(
        BadInputError,
        match="checksum",
    ):
        packs.fetch(shipped, tmp_path)
    assert packs.verify([shipped], tmp_path) == 0 and "absent" in capsys.readouterr().out
    path = tmp_path / "folder" / "one.bin"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert packs.fetch(shipped, tmp_path) == path
    assert packs.verify([shipped], tmp_path) == 0 and digest in capsys.readouterr().out
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(packs, "packs", lambda: {"one": shipped})
    assert data.list_packs() == 0
    line = capsys.readouterr().out
    assert "? MB" in line and "present" in line and digest in line


@pytest.fixture
def group(address, tmp_path, monkeypatch):
    """Return URLs of four packs, which tests may change. Three of the packs form the group
    `some`.
    """
    urls = {"first": ["first"], "second": ["second"], "third": ["third"], "apart": ["apart"]}
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))

    def known():
        return {
            name: packs.Pack(
                name,
                f"some/{name}.bin",
                hashlib.sha256(CONTENT).hexdigest(),
                len(CONTENT),
                "MIT",
                "nobody",
                tuple(f"{address}/{path}" for path in paths),
                "Ask nobody.",
                group="" if name == "apart" else "some",
            )
            for name, paths in urls.items()
        }

    monkeypatch.setattr(packs, "packs", known)
    return urls


def test_a_group_is_fetched_and_what_is_there_is_not_fetched_again(group, tmp_path, cli):
    code, text, err = cli("data", "fetch", "some")
    assert code == 0 and "3 files, complete" in text and "3 of 3: third" in err
    assert sorted(path.name for path in (tmp_path / "some").iterdir()) == [
        "first.bin",
        "second.bin",
        "third.bin",
    ]
    Server.asked.clear()
    assert cli("data", "fetch", "some")[0] == 0 and not Server.asked
    assert cli("data", "verify", "some")[0] == 0
    assert cli("data", "fetch", "apart")[0] == 0 and (tmp_path / "some" / "apart.bin").is_file()


def test_a_group_goes_on_past_a_file_that_fails(group, tmp_path, cli):
    """The other files come, failures are listed, and the same command resumes."""
    group["first"], group["second"] = ["none", "wrong"], ["broken"]
    code, text, err = cli("data", "fetch", "some")
    assert code == 1 and "2 could not be fetched" in text
    assert (
        "first could not be fetched" in err
        and "404" in err
        and "sha256 is" in err
        and "second could not be fetched" in err
    )
    assert sorted(path.name for path in (tmp_path / "some").iterdir()) == [
        "second.bin.part",
        "third.bin",
    ]
    group["first"], group["second"] = ["none", "first"], ["second"]
    Server.asked.clear()
    assert cli("data", "fetch", "some")[0] == 0
    assert Server.asked == [
        ("/none", None),
        ("/first", None),
        ("/second", f"bytes={len(CONTENT) // 2}-"),
    ]


def test_a_file_of_a_group_that_is_not_downloaded_is_listed(group, cli):
    group["first"] = []
    code, _, err = cli("data", "fetch", "some")
    assert code == 1 and "first is not published as a single file; Ask nobody. Put it at" in err


def test_an_unknown_name_names_the_groups(cli):
    code, _, err = cli("data", "fetch", "kull")
    assert (
        code == 2
        and "there is no pack 'kull'" in err
        and "kull_cifar" in err
        and "`calharness data list`" in err
    )


def test_the_logits_of_kull_can_be_fetched():
    """Ten networks, each with two addresses of a fixed commit."""
    chosen = [pack for pack in packs.packs().values() if pack.group == "kull_cifar"]
    assert len(chosen) == 10 and sum(pack.bytes for pack in chosen) == 34_148_502
    for pack in chosen:
        name = pack.path.rpartition("/")[2]
        assert len(pack.urls) == 2 and all(
            re.search(r"/NN_calibration/(raw/)?[0-9a-f]{40}/logits/" + name, u) for u in pack.urls
        )


def test_listing_and_verifying(tmp_path, monkeypatch, capsys, cli):
    monkeypatch.setenv("CALHARNESS_DATA", str(tmp_path))
    code, text, _ = cli("data", "list")
    assert (
        code == 0 and "cifar10_resnet20" in text and "absent" in text and "\nkull_cifar:\n" in text
    )
    assert all(f"  {name} " in text for name in packs.packs())
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
    for each_pack in packs.packs().values():
        assert each_pack.licence and each_pack.citation and (each_pack.urls or each_pack.note)
        assert (
            (len(each_pack.sha256) == 64 and each_pack.bytes > 0)
            if each_pack.sha256
            else (not each_pack.urls and each_pack.note)
        )
