#include "container/mcp/client_config.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr const char* kServer = "sandbox";

constexpr std::array kClients{
    McpClient{"claude-desktop", "Claude Desktop", "claude_desktop_config.json (Settings, Developer, Edit Config)",
              "mcpServers", McpClient::Form::json},
    McpClient{"claude-code", "Claude Code", ".mcp.json in the project's directory, or ~/.claude.json for all projects",
              "mcpServers", McpClient::Form::typed_json},
    McpClient{"cursor", "Cursor", ".cursor/mcp.json in the project's directory, or ~/.cursor/mcp.json for all projects",
              "mcpServers", McpClient::Form::json},
    McpClient{"vscode", "VS Code",
              ".vscode/mcp.json in the project's directory, or the file that the command \"MCP: Open User "
              "Configuration\" opens",
              "servers", McpClient::Form::typed_json},
    McpClient{"codex", "Codex", "~/.codex/config.toml", "mcp_servers", McpClient::Form::toml},
    McpClient{"zed", "Zed", "settings.json (the command \"zed: open settings file\")", "context_servers",
              McpClient::Form::json},
};

/// A string of TOML has the escapes of JSON.
std::string toml_table(const McpClient& client, std::span<const std::string> command) {
  std::string arguments;
  for (const std::string& word : command.subspan(1))
    arguments += (arguments.empty() ? "" : ", ") + Ordered(word).dump();
  return "[" + std::string{client.key} + "." + kServer + "]\ncommand = " + Ordered(command.front()).dump() +
         "\nargs = [" + arguments + "]\n";
}

}  // namespace

std::span<const McpClient> mcp_clients() {
  return kClients;
}

Result<McpClient> find_mcp_client(std::string_view name) {
  const auto found = std::ranges::find(kClients, name, &McpClient::name);
  if (found != kClients.end()) return *found;
  std::string known;
  for (const McpClient& client : kClients) known += (known.empty() ? "" : ", ") + std::string{client.name};
  return fail(Errc::invalid_field,
              "there are no lines for a client \"" + std::string{name} + "\"; skiff knows " + known +
                  ". Another client takes the lines of one of these, or the command `skiff mcp`",
              "CLIENT");
}

Result<std::string> server_lines(const McpClient& client, std::span<const std::string> command) {
  for (const std::string& word : command) {
    if (protocol::is_valid_utf8(word)) continue;
    return fail(Errc::invalid_field, "\"" + protocol::to_valid_utf8(word) + "\" is not UTF-8, as the file has to be");
  }
  if (client.form == McpClient::Form::toml) return toml_table(client, command);
  Ordered server;
  if (client.form == McpClient::Form::typed_json) server["type"] = "stdio";
  server["command"] = command.front();
  server["args"] = command.subspan(1);
  const Ordered whole{{client.key, {{kServer, std::move(server)}}}};
  return whole.dump(2) + "\n";
}

}  // namespace skiff::container
