#include "container/cli/commands/commands.hpp"
#include "container/cli/parse/command.hpp"

namespace skiff::container {

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      run_command(),
      up_command(),
      ps_command(),
      describe_command(),
      stop_command(),
      start_command(),
      extend_command(),
      network_command(),
      egress_log_command(),
      egress_explain_command(),
      egress_profiles_command(),
      secret_set_command(),
      secret_ls_command(),
      secret_rm_command(),
      rm_command(),
      gc_command(),
      console_command(),
      exec_command(),
      shell_command(),
      attach_command(),
      logs_command(),
      top_command(),
      kill_command(),
      tool_command(),
      session_create_command(),
      session_ls_command(),
      session_rm_command(),
      cp_command(),
      changes_command(),
      apply_command(),
      files_ls_command(),
      files_cat_command(),
      files_write_command(),
      files_edit_command(),
      files_stat_command(),
      files_glob_command(),
      files_grep_command(),
      files_rm_command(),
      forward_command(),
      mcp_command(),
      mcp_config_command(),
      token_command(),
      pool_create_command(),
      pool_scale_command(),
      pool_status_command(),
      pool_rm_command(),
      manifest_command(),
      rbac_command(),
      egress_install_command(),
      serve_command(),
      key_create_command(),
      key_ls_command(),
      key_rm_command(),
      key_rotate_command(),
      doctor_command(),
      version_command(),
      licenses_command(),
      completion_command(),
      complete_command(),
  };
  return table;
}

std::string usage(const Command& command) {
  std::string text;
  for (const Word& word : command.words) {
    text += (text.empty() ? "" : " ") + std::string{word.optional ? "[" : ""} + std::string{word.name};
    text += std::string{word.repeated ? "..." : ""} + (word.optional ? "]" : "");
  }
  if (command.rest != Rest::none) {
    text += text.empty() ? "" : " ";
    text += command.rest == Rest::required ? "[--] COMMAND [ARG...]" : "[-- COMMAND [ARG...]]";
  }
  return text;
}

}  // namespace skiff::container
