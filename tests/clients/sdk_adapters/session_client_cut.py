"""The client of sessions where connections break in the middle of a stream: no output is lost or comes twice."""

import contextlib

import cases
from skiff_sandbox.integrations.kubebox import SandboxClient


@contextlib.asynccontextmanager
async def client():
    made = SandboxClient(url=cases.URL)
    await made.connect()
    yield made
    await made.disconnect()


async def case_a_stream_goes_on_where_it_was(client):
    seen = [part.output async for part in await client.run_command("default", "seq 200000")]
    assert "".join(seen) == "".join(f"{n}\n" for n in range(1, 200001))


if __name__ == "__main__":
    cases.main(client)
