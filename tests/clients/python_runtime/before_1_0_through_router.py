"""k8s-agent-sandbox 0.5.6 through the router, as in through_router.py."""

import cases
from newest import (case_absolute_paths_are_below_the_root, case_errors_have_their_status, case_large_file_both_ways,  # noqa: F401
                    case_many_threads, case_run_failures_are_results, case_run_much_output, case_run_not_utf8,
                    case_run_signal, case_write_read_odd_names, case_write_text_and_nothing, sandbox)

if __name__ == "__main__":
    cases.main(sandbox)
