"""Archives as other programs make them: what can be unpacked is, what can't is called by its name."""

import bz2
import io
import lzma
import os
import subprocess
import tarfile
import zipfile

import pytest

from tools import tool

MIB = 1 << 20


def with_holes(path, pieces):
    """A file of 64 MiB with a little text at each of `pieces`."""
    with open(path, "wb") as file:
        file.truncate(64 * MIB)
        for offset in pieces:
            file.seek(offset)
            file.write(b"text at %d" % offset)


def put(agent, archive, path="x"):
    return agent.request("PUT", f"/v1/files:archive?path={path}", body=archive)


@pytest.mark.parametrize("form", [["--format=gnu"], ["--format=pax", "--sparse-version=0.0"], ["--format=pax", "--sparse-version=0.1"],
                                  ["--format=pax", "--sparse-version=1.0"]], ids=lambda words: " ".join(words))
@pytest.mark.parametrize("pieces", [[], [0], [5 * MIB], [64 * MIB - 20], list(range(0, 60 * MIB, MIB))], ids=len)
def test_sparse_files_arrive_with_their_holes(agent, tmp_path, form, pieces):
    with_holes(tmp_path / ("long-name-" * 12), pieces)
    (tmp_path / "after").write_text("behind it")
    made = subprocess.run([tool("tar"), *form, "-S", "-C", tmp_path, "-cf", "-", "--sort=name", "long-name-" * 12, "after"], stdout=subprocess.PIPE,
                          check=True).stdout
    assert len(made) < 2 * MIB
    answer = put(agent, made)
    assert answer.status == 200 and answer.json()["entries"] == 2, answer
    arrived = agent.root / "x" / ("long-name-" * 12)
    assert arrived.read_bytes() == (tmp_path / ("long-name-" * 12)).read_bytes()
    assert arrived.stat().st_blocks * 512 < 8 * MIB
    assert (agent.root / "x/after").read_text() == "behind it"


def test_a_sparse_file_is_as_large_as_it_says(agent, tmp_path):
    """A bomb of holes counts by its size."""
    with open(tmp_path / "f", "wb") as file:
        file.truncate(1 << 40)
    made = subprocess.run([tool("tar"), "-S", "-C", tmp_path, "-cf", "-", "f"], stdout=subprocess.PIPE, check=True).stdout
    put(agent, made).problem(413, "payload_too_large")


def plain(name="f", **fields):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        for field, value in fields.items():
            setattr(member, field, value)
        archive.addfile(member, io.BytesIO(b"x" * member.size))
    return buffer.getvalue()


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("f", "x")
    return buffer.getvalue()


@pytest.mark.parametrize("name, made", [
    ("xz", lambda: lzma.compress(plain())), ("lzma", lambda: lzma.compress(plain(), format=lzma.FORMAT_ALONE)),
    ("bzip2", lambda: bz2.compress(plain())), ("zip", zipped), ("7z", lambda: b"7z\xbc\xaf\x27\x1c\0\x04" + bytes(100)),
    ("lz4", lambda: b"\x04\x22\x4d\x18" + bytes(1000)), ("rar", lambda: b"Rar!\x1a\x07\x01\0" + bytes(1000)),
    ("cpio", lambda: b"070701" + b"0" * 1000), ("compress", lambda: b"\x1f\x9d\x90" + bytes(20))])
def test_another_form_is_called_by_its_name(agent, name, made):
    problem = put(agent, made()).problem(415, "unsupported_media_type")
    assert name in problem["detail"] and "gzip" in problem["detail"]
    assert not any((agent.root / "x").iterdir()) if (agent.root / "x").exists() else True


@pytest.mark.parametrize("name", ["BZh91AY", "070701", "LZIP", "MSCF", "Rar!x", "PK\x03\x04"])
def test_a_member_may_be_called_like_one(agent, name):
    assert put(agent, plain(name)).status == 200
    assert (agent.root / "x" / name).exists()


def test_an_archive_that_is_cut_short_is_refused(agent):
    whole = plain(size=5000)
    for length in (1, 100, 511, 512, 513, 3000):
        assert put(agent, whole[:length]).problem(400, "malformed_archive")


def test_labels_and_lists_of_directories_are_passed_over(agent, tmp_path):
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/e/f").write_text("x")
    made = subprocess.run([tool("tar"), "--format=gnu", "-V", "a label", "-g", tmp_path / "snapshot", "-C", tmp_path, "-cf", "-", "d"],
                          stdout=subprocess.PIPE, check=True).stdout
    types = {made[156:157], *(made[at + 156:at + 157] for at in range(0, len(made), 512) if made[at + 257:at + 262] == b"ustar")}
    assert {b"V", b"D"} <= types
    assert put(agent, made).status == 200
    assert (agent.root / "x/d/e/f").read_text() == "x"


def test_a_link_with_two_names_arrives_as_one(agent, tmp_path):
    """cp -al creates such links."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t/one").symlink_to("nowhere")
    os.link(tmp_path / "t/one", tmp_path / "t/two", follow_symlinks=False)
    made = subprocess.run([tool("tar"), "-C", tmp_path, "-cf", "-", "t"], stdout=subprocess.PIPE, check=True).stdout
    assert put(agent, made).status == 200
    one, two = (os.lstat(agent.root / "x/t" / name) for name in ("one", "two"))
    assert os.readlink(agent.root / "x/t/two") == "nowhere" and one.st_ino == two.st_ino
    for behind in (tarfile.TarInfo("l/f"), tarfile.TarInfo("m/f")):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, kind, target in (("l", tarfile.SYMTYPE, str(tmp_path)), ("m", tarfile.LNKTYPE, "l")):
                member = tarfile.TarInfo(name)
                member.type, member.linkname = kind, target
                archive.addfile(member)
            archive.addfile(behind)
        put(agent, buffer.getvalue()).problem(403, "path_escapes_root")
    assert not (tmp_path / "f").exists()


def test_a_file_that_is_linked_to_itself_stays(agent):
    """Archives of Mesa, kexec-tools and others have such members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        file, itself = tarfile.TarInfo("d/f"), tarfile.TarInfo("d/f")
        file.size, itself.type, itself.linkname = 4, tarfile.LNKTYPE, "./d/f"
        archive.addfile(file, io.BytesIO(b"text"))
        archive.addfile(itself)
    assert put(agent, buffer.getvalue()).status == 200
    assert (agent.root / "x/d/f").read_bytes() == b"text"


def test_a_later_volume_says_so(agent):
    archive = bytearray(plain())
    archive[156:157] = b"M"
    total = sum(archive[:148]) + 8 * 32 + sum(archive[156:512])
    archive[148:156] = b"%06o\0 " % total
    assert "volume" in put(agent, bytes(archive)).problem(501, "not_supported")["detail"]


def test_parts_of_a_second_and_the_sticky_bit_are_kept_both_ways(agent):
    (agent.root / "d/e").mkdir(parents=True)
    (agent.root / "d/f").write_text("x")
    os.symlink("f", agent.root / "d/link")
    (agent.root / "d/e").chmod(0o1777)
    stamps = {"e": 1_700_000_000_500_000_001, "f": 1_700_000_001_900_000_002, "link": -1_500_000_003}
    for name, stamp in stamps.items():
        os.utime(agent.root / "d" / name, ns=(stamp, stamp), follow_symlinks=False)
    packed = agent.request("GET", "/v1/files:archive?path=d").body
    assert put(agent, packed).status == 200
    for name, stamp in stamps.items():
        assert os.stat(agent.root / "x" / name, follow_symlinks=False).st_mtime_ns == stamp, name
    assert (agent.root / "x/e").stat().st_mode & 0o7777 == 0o1777
