"""Work in a container of an engine, by podman's command line and by docker's: the tests that Pods have, too."""

import pathlib
import tempfile

import pytest

import engines
from container_uses import (test_streams_and_the_exit_status_are_the_commands,  # noqa: F401
                            test_output_comes_as_it_is_written, test_much_comes_and_goes_whole,
                            test_an_interrupt_is_passed_on, test_a_shell_has_a_terminal_of_the_right_size,
                            test_files_and_directories_are_copied_either_way,
                            test_paths_from_the_root_of_the_container_are_those_of_docker_and_kubectl,
                            test_background_commands_are_found_again, test_ports_are_forwarded,
                            test_a_name_is_taken_once)
from engines import by_docker, podman  # noqa: F401


@pytest.fixture(scope="module", params=["podman", "docker"])
def shared(request):
    """A launcher with the sandbox `box`."""
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        one = engines.launcher(request.param, pathlib.Path(folder), request)
        one.up()
        yield one
        one.finish()
