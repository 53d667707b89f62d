"""A TCP proxy that cuts connections at places that a seed chooses, in requests and in answers, for as long as it runs. How long
tests use it is SKIFF_CUT_SECONDS; SEED repeats the places of an earlier run."""

import asyncio
import contextlib
import os
import random
import threading

PIECE = 16_384
# A third of the connections is left alone; the others are cut behind so many bytes of one direction.
WHOLE = 1 / 3
SHORT, LONG = 1_000, 400_000
SECONDS = int(os.environ.get("SKIFF_CUT_SECONDS", 10))


def chosen_seed():
    return int(os.environ.get("SEED") or random.randrange(10**9))


class RandomCuts:
    def __init__(self, target, seed):
        self.target, self.random, self.cuts = target, random.Random(seed), 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.tasks = set()  # the loop itself holds them weakly

    def __enter__(self):
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._accept, "127.0.0.1", 0), self.loop).result()
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_):
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def _end(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        upstream_reader, upstream = await asyncio.open_connection(*self.target)
        allowances = [None, None]
        if self.random.random() > WHOLE:
            most = self.random.choice((SHORT, LONG))
            allowances[self.random.randrange(2)] = self.random.randrange(most)
        is_reset = self.random.random() < 0.5
        ways = [asyncio.ensure_future(self._pass(*way)) for way in
                ((reader, upstream, allowances[0]), (upstream_reader, writer, allowances[1]))]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            if any(way.result() for way in done):
                self.cuts += 1
                if is_reset:
                    writer.transport.abort()
            elif ways[0] in done and not ways[1].done():  # the client sends no more, and may still read
                await asyncio.wait(ways)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for side in (writer, upstream):
                side.close()

    async def _pass(self, reader, writer, allowance):
        """Passes bytes on until their end, or as many as are allowed: whether the connection is to be cut."""
        with contextlib.suppress(OSError):
            while piece := await reader.read(PIECE):
                if allowance is not None and len(piece) > allowance:
                    writer.write(piece[:allowance])
                    await writer.drain()
                    return True
                writer.write(piece)
                await writer.drain()
                allowance = allowance - len(piece) if allowance is not None else None
        return False
