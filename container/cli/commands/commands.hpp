#pragma once

#include "container/cli/parse/command.hpp"

/// Each command has its own file.
namespace skiff::container {

[[nodiscard]] Command run_command();
[[nodiscard]] Command up_command();
[[nodiscard]] Command exec_command();
[[nodiscard]] Command shell_command();
[[nodiscard]] Command attach_command();
[[nodiscard]] Command logs_command();
[[nodiscard]] Command top_command();
[[nodiscard]] Command kill_command();
[[nodiscard]] Command cp_command();
[[nodiscard]] Command changes_command();
[[nodiscard]] Command apply_command();
[[nodiscard]] Command session_create_command();
[[nodiscard]] Command session_ls_command();
[[nodiscard]] Command session_rm_command();
[[nodiscard]] Command files_ls_command();
[[nodiscard]] Command files_cat_command();
[[nodiscard]] Command files_write_command();
[[nodiscard]] Command files_edit_command();
[[nodiscard]] Command files_stat_command();
[[nodiscard]] Command files_glob_command();
[[nodiscard]] Command files_grep_command();
[[nodiscard]] Command files_rm_command();
[[nodiscard]] Command forward_command();
[[nodiscard]] Command console_command();
[[nodiscard]] Command ps_command();
[[nodiscard]] Command describe_command();
[[nodiscard]] Command stop_command();
[[nodiscard]] Command start_command();
[[nodiscard]] Command extend_command();
[[nodiscard]] Command rm_command();
[[nodiscard]] Command gc_command();
[[nodiscard]] Command pool_create_command();
[[nodiscard]] Command pool_scale_command();
[[nodiscard]] Command pool_status_command();
[[nodiscard]] Command pool_rm_command();
[[nodiscard]] Command mcp_command();
[[nodiscard]] Command mcp_config_command();
[[nodiscard]] Command token_command();
[[nodiscard]] Command manifest_command();
[[nodiscard]] Command network_command();
[[nodiscard]] Command egress_log_command();
[[nodiscard]] Command egress_explain_command();
[[nodiscard]] Command egress_profiles_command();
[[nodiscard]] Command egress_install_command();
[[nodiscard]] Command secret_set_command();
[[nodiscard]] Command secret_ls_command();
[[nodiscard]] Command secret_rm_command();
[[nodiscard]] Command tool_command();
[[nodiscard]] Command doctor_command();
[[nodiscard]] Command rbac_command();
[[nodiscard]] Command serve_command();
[[nodiscard]] Command key_create_command();
[[nodiscard]] Command key_ls_command();
[[nodiscard]] Command key_rm_command();
[[nodiscard]] Command key_rotate_command();
[[nodiscard]] Command version_command();
[[nodiscard]] Command licenses_command();
[[nodiscard]] Command completion_command();
/// The command that the completion scripts call; it has no group, so no list shows it.
[[nodiscard]] Command complete_command();

}  // namespace skiff::container
