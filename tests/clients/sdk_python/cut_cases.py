"""Connections to SKIFF_URL break at random places for SECONDS; DIRECT_URL does not. Each byte arrives once, and nothing runs twice.
The tests also run this file without `async` and `await`."""

import contextlib
import hashlib
import os
import random
import time

import cases
from skiff_sandbox import AsyncSandbox, Exit, Gap, Output, SkiffError


@contextlib.asynccontextmanager
async def sandbox():
    async with await AsyncSandbox.create(url=os.environ["DIRECT_URL"]) as box:
        async with await persistent(AsyncSandbox.connect, box.id) as behind:
            yield box, behind


async def persistent(work, *arguments, **options):
    """A call that is allowed to give up after several broken connections in a row, and does nothing twice."""
    while True:
        try:
            return await work(*arguments, **options)
        except SkiffError as error:
            if error.code != "connection_failed":
                raise


class Rounds:
    """One kind of use after the other."""

    def __init__(self, direct, behind, seed):
        self.direct, self.behind, self.random, self.number, self.commands = direct, behind, random.Random(seed), 0, 0

    async def round(self):
        self.number += 1
        await self.random.choice([self.run, self.job, self.input, self.file, self.search])()

    def line(self, more):
        """A command that leaves a line behind each time it runs."""
        self.commands += 1
        return f"echo {self.commands} >> ran; {more}"

    async def run(self):
        """Output of a command, known beforehand: `seq` is the same here and there."""
        most = self.random.choice([1, 100, 10_000, 200_000])
        try:
            result = await self.behind.run(self.line(f"seq {most}; seq {most} >&2"), check=True)
        except SkiffError as error:
            if error.code != "connection_failed":
                raise
            return
        assert result.stdout == result.stderr == "".join(f"{n}\n" for n in range(1, most + 1)), self.number
        assert not result.truncated

    async def job(self):
        """A command in the background, whose events begin anew where the last connection gave up."""
        most, id = self.random.choice([10, 1000, 100_000]), f"job-{self.number}"
        line = self.line(f"seq {most}; echo end >&2")
        job = await persistent(self.behind.start, line, id=id)
        at, seen, exit = 0, {"stdout": b"", "stderr": b""}, None
        while exit is None:
            try:
                async for event in job.events(at):
                    if isinstance(event, Output):
                        assert event.offset == at, (event, at)
                        at, seen[event.stream] = event.next, seen[event.stream] + event.data
                    assert not isinstance(event, Gap)
                    exit = event if isinstance(event, Exit) else exit
            except SkiffError as error:
                if error.code != "connection_failed":
                    raise
        assert seen == {"stdout": "".join(f"{n}\n" for n in range(1, most + 1)).encode(), "stderr": b"end\n"}, self.number
        assert exit.exit_code == 0

    async def input(self):
        """Bytes that a command reads, in pieces."""
        data = self.random.randbytes(self.random.choice([10, 5000, 500_000]))
        job = await persistent(self.behind.start, self.line("sha256sum"), id=f"input-{self.number}", stdin=True)
        half = len(data) // 2
        try:
            await job.write(data[:half])
            await job.write(data[half:])
        except SkiffError as error:
            if error.code != "connection_failed":
                raise
            await self.direct.command(job.id).kill()
            return
        await persistent(job.close_stdin)
        exit = await persistent(job.wait)
        assert exit.exit_code == 0
        told = [event.text async for event in self.direct.command(job.id).events()]
        assert told[0].split()[0] == hashlib.sha256(data).hexdigest(), self.number

    async def file(self):
        data = self.random.randbytes(self.random.choice([0, 10, 5000, 400_000, 3_000_000]))
        await persistent(self.behind.files.write, "file.bin", data)
        assert await self.direct.files.read("file.bin") == data
        assert await self.unchanged("file.bin") == data
        await persistent(self.behind.files.remove, "file.bin")

    async def unchanged(self, path):
        """The bytes of a file. The same bytes may be written again meanwhile, by an attempt whose connection was cut."""
        while True:
            try:
                return await persistent(self.behind.files.read, path)
            except SkiffError as error:
                if error.code != "precondition_failed":
                    raise

    async def search(self):
        await self.direct.files.write("text", "".join(f"line {n}\n" for n in range(3000)))
        found = await persistent(self.behind.files.grep, "line", path="text")
        assert [one.line_number for one in found] == list(range(1, 3001))
        await persistent(self.behind.wait_for, path="text")


async def case_each_byte_arrives_once(boxes):
    direct, behind = boxes
    rounds, until = Rounds(direct, behind, int(os.environ["SEED"])), time.monotonic() + float(os.environ["SECONDS"])
    while time.monotonic() < until:
        await rounds.round()
    ran = [int(line) for line in (await direct.files.read_text("ran")).split()]
    assert len(ran) == len(set(ran)), "a command has run twice"
    assert set(ran) <= set(range(1, rounds.commands + 1)) and len(ran) > rounds.commands / 2
    print(f"{rounds.number} rounds, {len(ran)} of {rounds.commands} commands", flush=True)


if __name__ == "__main__":
    cases.main(sandbox)
