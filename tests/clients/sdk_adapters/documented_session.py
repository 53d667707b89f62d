"""The code in the document of the sandbox client, unchanged: the modules that it imports from are this example."""

import contextlib
import os
import subprocess

import cases
import documented
from skiff_sandbox.integrations import kubebox as skiff_kubebox

QUICK_START = '''
import asyncio
from kubebox import Kubebox, SandboxClient, CommandMode

async def main():
    # Configure the cluster using your KUBEBOX_CONFIG
    KUBEBOX_CONFIG = "..."
    kubebox = Kubebox(KUBEBOX_CONFIG)

    # Create a pod and service
    pod = kubebox.create_pod("test-pod", username="test-user")
    service = kubebox.create_service("test-pod", username="test-user")

    # Wait until they're ready
    await pod.wait_until_ready()
    await service.wait_until_ready()
    ip = await service.get_external_ip()

    # Connect client
    client = SandboxClient(private_key="YOUR_PRIVATE_KEY", url=f"http://{ip}")
    await client.connect()

    # Initialize session and stream a command
    await client.initialize_session("test-session", "workspace")
    result = await client.run_command(
        "test-session",
        "echo 'Hello World'",
        mode=CommandMode.STREAM
    )
    async for output in result:
        print(output.output)

asyncio.run(main())
'''

FILES = '''
# Read file
content = await client.get_file("session-id", "path/to/file")

# Write file
await client.write_file("session-id", "path/to/file", "content")

# Check if a file exists
exists = await client.file_exists("session-id", "path/to/file")
'''


@contextlib.contextmanager
def nothing():
    with documented.modules(kubebox=vars(skiff_kubebox)):
        yield


def case_the_quick_start(_):
    try:
        printed, _ = documented.run(QUICK_START)
        assert printed == "Hello World\n\n\n", printed
    finally:
        subprocess.run([os.environ["SKIFF"], "rm", "test-pod", "-q"], check=True)


def case_file_operations(_):
    """It takes a client and a session for granted, and a file."""
    given = '''
from kubebox import SandboxClient
client = SandboxClient(url=address)
await client.initialize_session("session-id", "files")
await client.write_file("session-id", "path/to/file", "before")
'''
    _, names = documented.run(given + FILES, address=cases.URL)
    assert names["content"] == "before" and names["exists"] is True


if __name__ == "__main__":
    cases.main(nothing)
