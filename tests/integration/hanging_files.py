"""A file system that hangs: a FUSE server that speaks to /dev/fuse itself (linux/fuse.h). It has the files `held`, which
can't be opened until it is told so, `free`, and `endless`, a line of a GiB that comes in small pieces, `large` and `larger`, as
large as a file may be to be hashed, in smaller ones, and what makes it a cgroup with one controller; nobody learns before that
that there is no `hung` and no `skiff-...`. As on any that behaves, the one who waits can be killed."""

import errno
import os
import stat
import struct
import threading

import pytest

from confined import WAYS

LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 16, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, INTERRUPT, DESTROY, BATCH_FORGET = 27, 28, 29, 36, 38, 42
UNANSWERED = {FORGET, BATCH_FORGET, INTERRUPT}
IN_HEADER, OUT_HEADER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
INODES = {b"held": 2, b"free": 3, b"endless": 4, b"cgroup.controllers": 5, b"cgroup.subtree_control": 6, b"large": 7, b"larger": 8}
HUNG = b"hung"
GROUP = b"skiff-"
CONTENT = b"here\n"
CONTROLLERS = b"pids\n"
assert len(CONTENT) == len(CONTROLLERS)
SIZES = {4: 1 << 30, 7: 64 << 20, 8: 64 << 20}
PIECES = {4: b"x" * 256, 7: b"x" * 16, 8: b"x" * 16}
DIRECT_IO = 1
VALID_SECONDS = 3600


def _attributes(inode):
    mode = stat.S_IFDIR | 0o755 if inode == 1 else stat.S_IFREG | 0o644
    size = 0 if inode == 1 else SIZES.get(inode, len(CONTENT))
    return struct.pack("<QQQQQQIIIIIIIIII", inode, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


class HangingFiles:
    """Use it in a `with`, around the agent that `wrapper` starts."""

    def __init__(self, folder):
        """`folder` is a directory below the agent's own."""
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            pytest.skip(f"no file system can be served here: {error}")
        self.folder = folder
        self.waiting = {}  # numbers of requests, and what each is told in the end
        self.hangs = True
        self.pieces = 0  # of the files that come in such
        self.changed = threading.Condition()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def wrapper(self):
        options = f"fd={self.device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        script = f'mkdir -p {self.folder} && mount -i -t fuse -o {options} hanging {self.folder} && exec "$@"'
        return [*WAYS[os.getuid() != 0], "sh", "-c", script, "sh"]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.let_go()
        self.over.set()
        self.thread.join(20)  # the mount goes with the last process that sees it
        assert not self.thread.is_alive(), "somebody still holds the file system"
        os.close(self.device)

    def until_held(self, count):
        """Waits until so many requests hang."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.waiting) >= count, 20), f"{len(self.waiting)} of {count} hang"

    def let_go(self):
        """Ends the hanging: files come at once and whole from now on."""
        with self.changed:
            self.hangs = False
            waiting, self.waiting = self.waiting, {}
        for unique, answer in waiting.items():
            self._answer(unique, *answer)

    def _answer(self, unique, data=b"", error=0):
        try:
            os.write(self.device, OUT_HEADER.pack(OUT_HEADER.size + len(data), -error, unique) + data)
        except OSError as failure:
            if failure.errno not in (errno.ENOENT, errno.ENODEV, errno.EPERM):  # whoever asked is gone
                raise

    def _hold(self, unique, *answer):
        with self.changed:
            if self.hangs:
                self.waiting[unique] = answer
                self.changed.notify_all()
                return
        self._answer(unique, *answer)

    def _serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError as failure:
                if failure.errno in (errno.EINTR, errno.ENOENT):
                    continue
                # EPERM: not mounted yet, which nothing tells. ENODEV: not any more.
                if failure.errno == errno.EPERM and not self.over.wait(0.002):
                    continue
                return
            _, opcode, unique, inode, *_ = IN_HEADER.unpack_from(request)
            body = request[IN_HEADER.size:]
            if opcode == INTERRUPT:
                asked, = struct.unpack_from("<Q", body)
                with self.changed:
                    known = asked in self.waiting
                    self.waiting.pop(asked, None)
                if known:
                    self._answer(asked, error=errno.EINTR)
            elif opcode == OPEN and inode == INODES[b"held"]:
                self._hold(unique, struct.pack("<QII", 0, 0, 0))
            elif opcode == LOOKUP and (body.rstrip(b"\0") == HUNG or body.startswith(GROUP)):
                self._hold(unique, b"", errno.ENOENT)
            elif opcode == READ and inode in PIECES:
                self.pieces += 1
                _, _, size = struct.unpack_from("<QQI", body)
                self._answer(unique, PIECES[inode] if self.hangs else b"x" * size)
            elif opcode not in UNANSWERED:
                self._answer(unique, *self._result(opcode, inode, body))

    @staticmethod
    def _result(opcode, inode, body):
        if opcode == INIT:
            major, minor, read_ahead, _ = struct.unpack_from("<IIII", body)
            return struct.pack("<IIIIHHIIHHI7I", 7, min(minor, 31), read_ahead, 0, 0, 0, 1 << 16, 1, 0, 0, 0, *[0] * 7),
        if opcode == LOOKUP:
            found = INODES.get(body.rstrip(b"\0"))
            if not found:
                return b"", errno.ENOENT
            return struct.pack("<QQQQII", found, 0, VALID_SECONDS, VALID_SECONDS, 0, 0) + _attributes(found),
        if opcode == GETATTR:
            return struct.pack("<QII", VALID_SECONDS, 0, 0) + _attributes(inode),
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, DIRECT_IO if inode in PIECES else 0, 0),
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return (CONTROLLERS if inode == INODES[b"cgroup.controllers"] else CONTENT)[offset:offset + size],
        if opcode == WRITE:
            return struct.pack("<II", struct.unpack_from("<QQI", body)[2], 0),
        if opcode in (READDIR, RELEASE, RELEASEDIR, FLUSH, DESTROY):
            return b"",
        return b"", errno.ENOSYS
