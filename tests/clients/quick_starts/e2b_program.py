"""Runs programs that know of a server by the variables of E2B's SDKs alone."""

import os

from client_fixtures import run_program


def runner(server, key, folder):
    """A function that runs a program and returns its stdout."""
    home = folder / "client"
    home.mkdir()

    def run(*command, **more):
        done = run_program(command, home, {"PATH": os.environ["PATH"], "HOME": str(home), "E2B_API_URL": server.url,
                                           "E2B_SANDBOX_URL": server.url, "E2B_API_KEY": key, **more})
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:], server.told()[-3000:])
        return done.stdout

    return run
