"""The suites of this machine run with the driver local. With SKIFF_TEST_DRIVER=box they run with boxes: as an ordinary user, to
whom the files of a box belong. With SKIFF_SUITE=podman or docker they run with containers of that command line. Tests that are
about something else are left out."""

import contextlib
import fnmatch
import os
import stat
import tempfile

import pytest

import boxes
from launcher import DRIVER
from not_run import TESTS

#: Tests that are left out with boxes, each with the reason.
OTHER_AGENT = "a server in the agent's place would have to be process 1 of the box"
NOT_WITH_BOX = {
    "../clients/e2b_code/*": "the packages that its code imports are in the user's own directory, which a server's boxes do not see",
    "cli/test_cp_failures.py::test_cp_tells_what_the_agent_has_left_out*": OTHER_AGENT,
    "cli/test_hostile.py::test_a_malformed_field_of_a_command_is_reported*": OTHER_AGENT,
    "cli/test_hostile.py::test_every_command_reports_malformed_answers": OTHER_AGENT,
    "cli/test_hostile.py::test_only_names_that_are_one_word_on_one_line_are_completed": OTHER_AGENT,
    "cli/test_mcp.py::test_only_what_a_server_may_send_passes": OTHER_AGENT,
    "cli/test_mcp.py::test_an_invalid_answer_of_the_agent_becomes_an_error*": OTHER_AGENT,
    "cli/test_exec.py::test_output_goes_on_when_connections_break": OTHER_AGENT,
    "cli/test_mcp.py::test_the_model_is_told_that_the_users_own_machine_is_not_isolated": "it is isolated",
    "cli/test_everyday_lines.py::test_a_line_that_skiff_writes_differently_says_how[[]skiff cp f.txt*": "a box has the path",
    "cli/test_everyday_lines.py::test_a_line_that_skiff_writes_differently_says_how[[]skiff cp web:/etc*": "a box has the path",
    "cli/test_everyday_lines.py::test_a_command_of_another_user_needs_an_agent_that_may": "a box has one user",
    "cli/test_driver_serve.py::test_output_goes_on_when_connections_break": OTHER_AGENT,
    "cli/test_driver_serve.py::test_sessions_are_made_used_listed_and_removed": "its extra roots are directories of this machine",
    "cli/test_files_session.py::test_sessions_are_made_used_listed_and_removed": "its extra roots are directories of this machine",
    "cli/test_up.py::test_up_prints_the_free_port_of_each_dialect": "ports of dialects are sockets (test_box.py)",
    "cli/test_up.py::test_two_sandboxes_on_one_machine_have_different_dialect_ports": "ports of dialects are sockets (test_box.py)",
    "cli/test_up.py::test_a_sandbox_speaks_its_dialect_when_it_starts_again": "ports of dialects are sockets (test_box.py)",
}

#: The same for the containers of an engine, where they count as not run.
NO_PORTS = "ports of dialects are not published (test_docker.py)"
NOT_WITH_ENGINE = {
    "cli/test_command_line.py::test_what_only_a_cluster_has_is_refused_with_the_driver_that_has_it[[]words5]": "containers have a network",
    "cli/test_cp.py::test_a_file_that_is_a_mount_gets_other_contents[[]in]": "a container does not see this machine's new mounts",
    "cli/test_doctor.py::test_the_doctors_advice_helps_where_there_is_no_skiffd": "its PATH has no engine (test_docker.py)",
    "cli/test_everyday_lines.py::test_a_line_that_skiff_writes_differently_says_how[[]skiff cp f.txt*": "a container has the path",
    "cli/test_everyday_lines.py::test_a_line_that_skiff_writes_differently_says_how[[]skiff cp web:/etc*": "a container has the path",
    "cli/test_everyday_lines.py::test_a_line_that_skiff_writes_differently_says_how[[]skiff run web --image=nginx -- true]": "containers have an image",
    "cli/test_everyday_lines.py::test_a_command_of_another_user_needs_an_agent_that_may": "a container has one user",
    "cli/test_files_session.py::test_sessions_are_made_used_listed_and_removed": "its extra roots are directories of this machine",
    "cli/test_logs.py::test_logs_of_the_agent_are_those_of_the_sandbox": "its log is the engine's (test_docker.py)",
    "cli/test_mcp.py::test_the_model_is_told_that_the_users_own_machine_is_not_isolated": "it is isolated",
    "cli/test_up.py::test_up_prints_the_free_port_of_each_dialect": NO_PORTS,
    "cli/test_up.py::test_two_sandboxes_on_one_machine_have_different_dialect_ports": NO_PORTS,
    "cli/test_up.py::test_a_sandbox_speaks_its_dialect_when_it_starts_again": NO_PORTS,
}

_ordinary = contextlib.ExitStack()


def become_ordinary():
    """Root becomes an ordinary user until `be_again`, and so does what it starts."""
    if DRIVER != "box" or os.geteuid() != 0:
        return
    folder = tempfile.gettempdir()
    if not os.stat(folder).st_mode & stat.S_ISVTX:  # that of tests/support/leak_check.py, not everybody's
        os.chown(folder, boxes.ORDINARY, boxes.ORDINARY)
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(boxes.ORDINARY, boxes.ORDINARY, 0)
    os.setresuid(boxes.ORDINARY, boxes.ORDINARY, 0)
    names = {name: os.environ.get(name) for name in ("LOGNAME", "USER")}
    os.environ.update(dict.fromkeys(names, f"skiff-{boxes.ORDINARY}"))

    def be_root():
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)
        os.environ.update({name: value for name, value in names.items() if value is not None})

    _ordinary.callback(be_root)


def be_again():
    _ordinary.close()


def choose(config, items):
    """Leaves out what is not about the suite's driver."""
    if DRIVER == "docker":
        for item in items:
            for pattern, reason in NOT_WITH_ENGINE.items():
                if fnmatch.fnmatchcase(_name(item), pattern):
                    item.add_marker(pytest.mark.skip(reason=f"with an engine: {reason}"))
        return
    if DRIVER != "box":
        return
    left = [item for item in items if any(fnmatch.fnmatchcase(_name(item), pattern) for pattern in NOT_WITH_BOX)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def _name(item):
    return f"{os.path.relpath(item.path, TESTS / 'integration')}::{item.nodeid.partition('::')[2]}"
