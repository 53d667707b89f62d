"""k8s-agent-sandbox 0.5.6, synchronous in direct mode: the cases of the newest one that need nothing of what came later. It
repeats a request after a 5xx and after its own timeout, a command too, so both must not happen."""

import pathlib

import cases
from newest import (case_absolute_paths_are_below_the_root, case_errors_have_their_status, case_large_file_both_ways,  # noqa: F401
                    case_many_threads, case_run_failures_are_results, case_run_much_output, case_run_not_utf8,
                    case_run_signal, case_write_read_odd_names, case_write_text_and_nothing, sandbox)


def case_slow_command_runs_once(sandbox):
    result = sandbox.commands.run("echo x >> runs; sleep 300", timeout=2)
    assert result.exit_code == 1 and "timed out" in result.stderr
    assert (pathlib.Path(cases.ROOT) / "runs").read_text() == "x\n"


if __name__ == "__main__":
    cases.main(sandbox)
