"""A connection that breaks in the middle of a stream: the package's client connects again by itself, and says no more."""

import asyncio
import json
import sys

from cases import client_of, told
from kubebox import CommandExit

COUNT = 60_000


async def main():
    client = client_of(sys.argv[1])
    await client.connect()
    await client.initialize_session("s", "workspace")
    process = await client.run_command("s", f"i=0; while [ $i -lt {COUNT} ]; do echo $i; i=$((i+1)); done; exit 5")
    text, code = "", None
    async for event in process:
        if isinstance(event, CommandExit):
            code = event.exit_code
        else:
            text += event.output
    seen, repeated = 0, 0
    for line in text.splitlines():
        number = int(line)
        assert number <= seen, f"{seen} is missing"
        repeated += number < seen
        seen = max(seen, number + 1)
    assert (seen, code) == (COUNT, told(5)), (seen, code)
    print("\n" + json.dumps({"case": "reconnect", "failure": None, "repeated": repeated}))
    await client.disconnect()


asyncio.run(asyncio.wait_for(main(), 100))
