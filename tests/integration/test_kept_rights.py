"""A file that is replaced by new bytes allows nobody more than before: its mode, access list, owner and group, and what users have noted
at it (xattr(7)), are the old ones, whatever way it was written in."""

import errno
import os
import stat
import struct

import pytest

from writing import DIALECTS, WAYS, WITH_MODE, Everything

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
OLD, NEW = b"old text\n", b"new\n"
NOBODY = 0xFFFFFFFF


def access_list(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, permissions, who) for tag, permissions, who in entries)


# The group reads, user 33 writes: the mode shows the mask, 0660.
LIST = access_list((1, 6, NOBODY), (2, 6, 33), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))


def set_attribute(path, name, value):
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            pytest.skip("this file system has no such attributes")
        raise


@pytest.fixture
def everything(start_agent):
    return Everything(start_agent(*DIALECTS))


@pytest.mark.parametrize("way", WAYS)
def test_an_access_list_and_attributes_of_users_are_kept(everything, way):
    file = everything.agent.root / "f"
    file.write_bytes(OLD)
    file.chmod(0o640)
    set_attribute(file, ACCESS, LIST)
    set_attribute(file, "user.origin", b"here")
    assert everything.write(way, "f", OLD, NEW) < 300
    assert file.read_bytes() == NEW
    assert os.getxattr(file, "user.origin") == b"here"
    kept = {(tag, who): permissions for tag, permissions, who in struct.iter_unpack("<HHI", os.getxattr(file, ACCESS)[4:])}
    assert kept[4, NOBODY] == 4 and kept[2, 33] == 6
    assert stat.S_IMODE(file.stat().st_mode) == (0o660 if way not in WITH_MODE else 0o644)


@pytest.mark.parametrize("way", WAYS)
def test_a_list_that_the_directory_gives_to_new_files_is_not_for_old_ones(everything, way):
    file = everything.agent.root / "f"
    file.write_bytes(OLD)
    file.chmod(0o640)
    set_attribute(everything.agent.root, DEFAULT, access_list((1, 7, NOBODY), (2, 7, 33), (4, 5, NOBODY), (16, 7, NOBODY), (32, 5, NOBODY)))
    assert everything.write(way, "f", OLD, NEW) < 300
    assert file.read_bytes() == NEW
    assert ACCESS not in os.listxattr(file)
    assert stat.S_IMODE(file.stat().st_mode) == (0o640 if way not in WITH_MODE else 0o644)
    # A new one gets it.
    assert everything.agent.request("PUT", "/v1/files/new", body=NEW).status == 201
    assert ACCESS in os.listxattr(everything.agent.root / "new")


def test_a_mode_that_is_asked_for_is_the_lists_mask(everything):
    file = everything.agent.root / "f"
    file.write_bytes(OLD)
    set_attribute(file, ACCESS, LIST)
    assert everything.agent.request("PUT", "/v1/files/f?mode=640", body=NEW).status == 200
    kept = {(tag, who): permissions for tag, permissions, who in struct.iter_unpack("<HHI", os.getxattr(file, ACCESS)[4:])}
    assert (kept[16, NOBODY], kept[4, NOBODY], kept[32, NOBODY]) == (4, 4, 0)


def test_a_rewritten_file_has_the_metadata_of_the_new_upload(everything):
    octets = {"Content-Type": "application/octet-stream"}
    first = everything.e2b.door.request("POST", "/files?path=f", body=b"1", headers={**octets, "X-Metadata-Author": "ann"})
    if first.status == 501:
        pytest.skip("this file system keeps no metadata")
    everything.e2b.door.request("POST", "/files?path=f", body=b"2", headers={**octets, "X-Metadata-Author": "bob"})
    assert everything.e2b.unary("filesystem.Filesystem/Stat", {"path": "f"})["entry"]["metadata"] == {"author": "bob"}
    everything.e2b.door.request("POST", "/files?path=f", body=b"3", headers=octets)
    assert "metadata" not in everything.e2b.unary("filesystem.Filesystem/Stat", {"path": "f"})["entry"]
