"""A stateful session, and the shells that it is tested with."""

import contextlib
import pathlib
import tempfile

SHELLS = ("dash", "ash", "bash", "sh")


@contextlib.contextmanager
def shell_paths():
    """A path for each. `ash` is busybox under the name that it needs, `sh` bash under the one that makes it POSIX."""
    with tempfile.TemporaryDirectory(prefix="skiff-shells-") as name:
        folder = pathlib.Path(name)
        (folder / "ash").symlink_to("/bin/busybox")
        (folder / "sh").symlink_to("/bin/bash")
        yield {"dash": "/bin/dash", "bash": "/bin/bash", "ash": str(folder / "ash"), "sh": str(folder / "sh")}


class Shell:
    """One stateful session."""

    def __init__(self, agent, kind, path, **fields):
        self.agent, self.kind = agent, kind
        shell = {"path": path, "stateful": True, **fields.pop("shell", {})}
        self.sid = agent.session(shell=shell, **fields)

    def run(self, command=None, **fields):
        return self.agent.run(command, self.sid, **fields)

    def saves(self, command, **fields):
        result = self.run(command, **fields)
        assert result["state_saved"] == "saved", result
        return result

    def says(self, command, **fields):
        """The command's stdout; it must end well, with an empty stderr."""
        result = self.saves(command, **fields)
        assert (result["exit_code"], result["stderr"]) == (0, ""), result
        return result["stdout"]

    def show(self):
        return self.agent.request("GET", f"/v1/sessions/{self.sid}").json()
