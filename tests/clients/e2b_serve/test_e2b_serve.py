"""The SDKs make, use, list, pause, resume and kill sandboxes of a `skiff serve`, by its address and an API key alone."""

import pathlib

import pytest

import installed

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parent / "e2b"
older = pytest.mark.skipif(not installed.all_versions(), reason="SKIFF_CLIENTS=newest")


def run_python(run_client, version, program):
    assert run_client(installed.python_of(PACKAGES / f"{version}.txt"), HERE / program).startswith("done with")


def run_javascript(run_client, tmp_path, name, package):
    # Node looks for packages beside the program.
    program = tmp_path / name
    program.write_text((HERE / name).read_text().replace("from 'e2b'", f"from '{package}'"))
    (tmp_path / "node_modules").symlink_to(installed.node_modules(PACKAGES))
    assert run_client(installed.node(), program) == "done\n"


def test_the_python_sdk(run_client):
    run_python(run_client, "newest", "with_sdk.py")


@older
@pytest.mark.parametrize("version", ["middle", "older"])
def test_an_older_python_sdk(run_client, version):
    run_python(run_client, version, "with_older_sdk.py")


def test_the_javascript_sdk(run_client, tmp_path):
    run_javascript(run_client, tmp_path, "with_sdk.mjs", "e2b")


@older
@pytest.mark.parametrize("package", ["e2b-middle", "e2b-older"])
def test_an_older_javascript_sdk(run_client, tmp_path, package):
    run_javascript(run_client, tmp_path, "with_older_sdk.mjs", package)
