"""A real `skiff` with a home of its own, shown to leave nothing behind."""

import json
import os
import shlex
import subprocess

import proc
from agent import environment


#: The command line of an engine, podman or docker, with whose containers the suites of this machine run; None: without one.
ENGINE = os.environ.get("SKIFF_SUITE")
#: The driver with which they run: local, or another one where tests/CMakeLists.txt says so.
DRIVER = "docker" if ENGINE else os.environ.get("SKIFF_TEST_DRIVER", "local")
#: What it says of an image that it can't have.
NO_IMAGE = "name an image that the engine has" if DRIVER == "docker" else "takes no image"
#: What it says of itself before people rely on it.
NOTICE = "the local driver does not isolate" if DRIVER == "local" else "shares this machine's kernel"


class Skiff:
    #: The driver that SKIFF_DRIVER names; None: skiff chooses one.
    driver = DRIVER

    def __init__(self, folder):
        self.home, self.state = folder / "home", folder / "state"
        self.home.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        program = os.environ.get("SKIFF")
        assert program, "SKIFF must be the path of the skiff to test"
        self.program = program
        self.command = [*shlex.split(os.environ.get("SKIFFD_WRAPPER", "")), program]
        self.sandboxes = self.state / "skiff" / DRIVER

    def environment(self, **more):
        kept = {name: value for name, value in environment().items() if name not in ("XDG_CONFIG_HOME", "NO_COLOR")}
        driver = {"SKIFF_DRIVER": self.driver} if self.driver else {}
        return {**kept, **driver, "HOME": str(self.home), "XDG_STATE_HOME": str(self.state), "SHELL": "/bin/sh", **more}

    def start(self, *arguments, env=None, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.work,
                   **options}
        return subprocess.Popen([*self.command, *map(str, arguments)], env=self.environment(**(env or {})), **options)

    def __call__(self, *arguments, typed=None, status=0, env=None, **options):
        """Runs it to its end: (stdout, stderr), as text."""
        options = {**({"stdin": subprocess.PIPE} if typed is not None else {}), **options}
        process = self.start(*arguments, env=env, **options)
        try:
            out, err = process.communicate(typed, timeout=100)
        finally:
            process.kill()
            process.wait()
        out, err = (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace")
        assert process.returncode == status, (arguments, process.returncode, out[-2000:], err[-2000:])
        return out, err

    def json(self, *arguments, **options):
        return json.loads(self(arguments[0], "-o", "json", *arguments[1:], **options)[0])

    def up(self, name="box", *arguments):
        return self.json("up", name, "-q", *arguments)

    def root(self, name="box"):
        """The sandbox's own directory, as this machine sees it."""
        return self.sandboxes / name / ("root" if self.sandboxes.name == "local" else "root/workspace")

    def workdir(self, name="box"):
        """The same, as its commands see it."""
        return str(self.root(name)) if self.sandboxes.name == "local" else "/workspace"

    def network(self, name="box"):
        """A process in the network of the sandbox; None if that is this machine's."""
        return None if self.sandboxes.name == "local" else self.record(name)["pid"]

    def record(self, name="box"):
        return json.loads((self.sandboxes / name / "record.json").read_text())

    def change_record(self, name="box", **values):
        (self.sandboxes / name / "record.json").write_text(json.dumps({**self.record(name), **values}))

    def names(self):
        return sorted(path.name for path in self.sandboxes.iterdir() if path.name != ".lock") if self.sandboxes.exists() else []

    def processes(self):
        """{pid: command line} of all skiffd that work below the state directory, and of what their commands left."""
        # Whose environment can't be read, as a skiffd's by an ordinary user, has its sandbox among its arguments.
        agents = {pid: line for pid in proc.pids() if f" --root {self.sandboxes}/" in (line := proc.command_line(pid))}
        boxes = {pid: proc.command_line(pid) for pid in proc.with_mounts_of(self.sandboxes)}
        return agents | boxes | proc.belonging(f"HOME={self.home}", str(self.sandboxes))

    def finish(self):
        self("rm", "--all", "--everyone", "-q")
        assert self.names() == []
        left = {pid: line for pid, line in self.processes().items() if pid != os.getpid()}
        assert not left, left


class DirectSkiff(Skiff):
    """A skiff whose variables name an agent."""

    driver = None

    def __init__(self, folder, agent):
        super().__init__(folder)
        self.agent = agent
        self.variables = {"SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token}

    def environment(self, **more):
        return super().environment(**{**self.variables, **more})

    def finish(self):
        assert self.names() == [] and not self.processes()


def as_json(skiff, *words, **options):
    """The output of a command of several words: `Skiff.json` puts the flag behind the first."""
    return json.loads(skiff(*words, "-o", "json", **options)[0])
