"""A false agent of a sandbox sends archives that no tar writes: `skiff cp` writes nothing outside its destination."""

import pytest

from speaking import Said, in_place_of_the_agent


def member(name, kind, content=b"", link=b"", mode=0o644):
    """One of a tar archive, as it was asked for."""
    head = bytearray(512)
    for at, text in ((0, name), (100, b"%07o" % mode), (108, b"0000000"), (116, b"0000000"), (124, b"%011o" % len(content)),
                     (136, b"%011o" % 0), (148, b" " * 8), (156, kind), (157, link), (257, b"ustar\00000")):
        head[at:at + len(text)] = text
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + content + b"\0" * (-len(content) % 512)


def extended(**records):
    text = b""
    for name, value in records.items():
        body = f" {name}={value}\n".encode()
        size = next(n for n in range(len(body), len(body) + 9) if len(str(n)) + len(body) == n)
        text += str(size).encode() + body
    return member(b"head", b"x", text)


@pytest.fixture
def liar(skiff):
    """An agent that sends `liar["archive"]`, whatever it is asked for."""
    says = {"archive": b""}

    def say(asked):
        if ":stat" in asked.path:
            return {"items": [{"type": "directory"}]}
        return Said(headers={"Content-Type": "application/x-tar"}, body=says["archive"] + bytes(1024))

    skiff.up()
    with in_place_of_the_agent(skiff, say):
        yield says


@pytest.mark.parametrize("head", [b"", extended(comment="pax: a link may have content")], ids=["ustar", "pax"])
@pytest.mark.parametrize("content", [b"", b"x" * 40, b"x" * 512], ids=["empty", "some", "block"])
def test_a_hard_link_that_is_called_a_directory_links_nothing(skiff, liar, head, content):
    own = skiff.home / "own"
    own.write_text("precious")
    own.chmod(0o600)
    (skiff.work / "got").mkdir()
    liar["archive"] = head + member(b"x/", b"1", content, str(own).encode(), 0o777)
    skiff("cp", "box:tree/.", "got", status=125)
    status = own.stat()
    assert (own.read_text(), status.st_nlink, status.st_mode & 0o7777) == ("precious", 1, 0o600)
    assert list((skiff.work / "got").iterdir()) == []


def test_a_directory_that_was_there_lets_nobody_in_whom_it_kept_out(skiff, liar):
    got = skiff.work / "got"
    (got / "below").mkdir(parents=True)
    (got / "below").chmod(0o700)
    got.chmod(0o750)
    liar["archive"] = member(b"./", b"5", mode=0o777) + member(b"below/", b"5", mode=0o1777) + member(b"new/", b"5", mode=0o770)
    skiff("cp", "box:tree/.", "got")
    assert [path.stat().st_mode & 0o7777 for path in (got, got / "below", got / "new")] == [0o750, 0o700, 0o770]


@pytest.mark.parametrize("source", ["..", "a/..", "a/../"])
def test_the_name_of_a_copy_does_not_lead_out_of_its_destination(skiff, liar, source):
    (skiff.work / "way/out").mkdir(parents=True)
    liar["archive"] = member(b"f", b"0", b"x")
    skiff("cp", f"box:{source}", "way/out")
    assert list((skiff.work / "way").iterdir()) == [skiff.work / "way/out"]
    assert (skiff.work / "way/out/f").read_text() == "x"
