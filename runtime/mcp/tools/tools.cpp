#include "runtime/mcp/tools/tools.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"

namespace skiff::runtime::mcp {
namespace {

struct Advice {
  Errc code;
  std::string_view text;
};
constexpr std::array kAdvice{
    Advice{Errc::invalid_field, "Correct that argument and call the tool again."},
    Advice{Errc::unknown_field, "Omit that argument and call the tool again."},
    Advice{Errc::missing_field, "Add that argument and call the tool again."},
    Advice{Errc::invalid_id, "An id has letters, digits, dots, hyphens and underscores, 64 at most."},
    Advice{Errc::session_not_found, "Call list_sessions, or omit session."},
    Advice{Errc::session_conflict, "Call list_sessions and use the existing session, or choose another id."},
    Advice{Errc::too_many_sessions, "Delete a session that you no longer need with delete_session."},
    Advice{Errc::command_not_found, "Call list_commands to see the existing ids."},
    Advice{Errc::command_forgotten, "Its output is no longer kept: run it again if you need it."},
    Advice{Errc::command_ended, "Call read_output for what it has printed and how it ended."},
    Advice{Errc::too_many_commands, "Wait for a command to end with wait_for, or end one with send_signal."},
    Advice{Errc::context_not_found, "Leave context out."},
    Advice{Errc::language_unavailable, "Use another language, or install it with run_command."},
    Advice{Errc::stdin_closed, "Start the command again with background and stdin_open."},
    Advice{Errc::path_not_found, "Call list_directory or find_files to see what is there."},
    Advice{Errc::path_escapes_root, "Use a path below the session's root; run_command can reach others."},
    Advice{Errc::is_a_directory, "Call list_directory, or name a file in it."},
    Advice{Errc::not_a_directory, "Name a directory."},
    Advice{Errc::not_a_regular_file, "Only regular files are read and written."},
    Advice{Errc::directory_not_empty, "Delete its contents first, or run `rm -r` with run_command."},
    Advice{Errc::already_exists, "Choose another path, or delete the existing file."},
    Advice{Errc::edit_not_found, "Call read_file and copy the text exactly, with enough of it to be unique."},
    Advice{Errc::payload_too_large, "Request less at a time, or use run_command."},
    Advice{Errc::in_use, "It is a mount, or the kernel uses it: unmount it with run_command, or choose another path."},
    Advice{Errc::permission_denied, "The sandbox's user may not do this: choose another path."},
    Advice{Errc::no_space, "Delete what you no longer need and try again."},
    Advice{Errc::insufficient_scope, "This credential does not permit it: ask its issuer."},
    Advice{Errc::resource_exhausted, "Try again in a few seconds."},
    Advice{Errc::timeout, "Try again with a longer time limit, or with less at a time."},
};

void append_tool(std::string& out, const Tool& tool, Revision revision) {
  out += '{';
  protocol::append_json_text(out, "name", tool.name);
  if (revision >= Revision::v2025_06_18) protocol::append_json_text(out, "title", tool.title);
  protocol::append_json_text(out, "description", tool.description);
  (out += R"(,"inputSchema":)") += tool.input();
  if (revision >= Revision::v2025_06_18) (out += R"(,"outputSchema":)") += tool.output();
  out += R"(,"annotations":{)";
  protocol::append_json_text(out, "title", tool.title);
  protocol::append_json_flag(out, "readOnlyHint", tool.read_only);
  protocol::append_json_flag(out, "destructiveHint", tool.destructive);
  protocol::append_json_flag(out, "idempotentHint", tool.idempotent);
  protocol::append_json_flag(out, "openWorldHint", tool.open_world);
  out += "}}";
}

std::string content(std::string_view text) {
  std::string out{R"("content":[{"type":"text")"};
  protocol::append_json_text(out, "text", text);
  return out + "}]";
}

std::unexpected<RpcError> bad_params(std::string why) {
  return std::unexpected{RpcError{RpcCode::invalid_params, std::move(why)}};
}

}  // namespace

std::string advice_text(const Error& error) {
  std::string text{name(error.code)};
  text += ": " + error.message;
  if (!error.field.empty() && !error.message.contains(error.field)) text += " (" + error.field + ")";
  if (!text.ends_with('.')) text += '.';
  const auto advice = std::ranges::find(kAdvice, error.code, &Advice::code);
  if (advice != kAdvice.end()) text.append(" ").append(advice->text);
  return text;
}

RpcResult<void> sole_page(const Message& message) {
  SKIFF_TRY(auto cursor, message.cursor());
  if (!cursor.empty()) return bad_params("there is one page only: leave cursor out");
  return {};
}

std::span<const Tool> tools() {
  static const std::vector<Tool> table = [] {
    std::vector<Tool> all;
    for (const auto part : {command_tools(), code_tools(), file_tools(), session_tools()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

Task<RpcResult<std::string>> list_tools(std::shared_ptr<Request> request) {
  SKIFF_CO_TRY_VOID(sole_page(request->message));
  std::string text{R"({"tools":[)"};
  for (const Tool& tool : tools()) {
    if (!request->caller.identity.scopes.allows(tool.scope)) continue;
    if (text.back() != '[') text += ',';
    append_tool(text, tool, request->revision);
  }
  co_return text + "]}";
}

Task<RpcResult<std::string>> call_tool(std::shared_ptr<Request> request) {
  const std::string wanted = request->message.text("name");
  const auto all = tools();
  const auto tool = std::ranges::find(all, wanted, &Tool::name);
  if (tool == all.end()) co_return bad_params("there is no tool \"" + wanted + "\": call tools/list");
  if (auto allowed = require(request->caller.identity, tool->scope); !allowed) {
    co_return bad_params("the tool " + wanted + " is not for this credential: " + allowed.error().message);
  }
  nlohmann::json arguments = nlohmann::json::object();
  if (const auto given = request->message.params.find("arguments");
      given != request->message.params.end() && !given->is_null()) {
    if (!given->is_object()) co_return bad_params("params.arguments must be an object");
    arguments = std::move(*given);
  }
  auto result = co_await tool->run(request, std::move(arguments));
  if (!result) {
    std::string text{R"({"_meta":{"skiff/error":{)"};
    protocol::append_json_text(text, "code", name(result.error().code));
    if (!result.error().field.empty()) protocol::append_json_text(text, "field", result.error().field);
    co_return text + "}}," + content(advice_text(result.error())) + R"(,"isError":true})";
  }
  std::string text = '{' + content(*result);
  if (request->revision >= Revision::v2025_06_18) (text += R"(,"structuredContent":)") += *result;
  co_return text + R"(,"isError":false})";
}

}  // namespace skiff::runtime::mcp
