#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container {

/// A client of the Model Context Protocol that starts its servers itself.
struct McpClient {
  /// How its configuration lists servers: JSON objects below a key, with or without their type, or tables of TOML.
  enum class Form : std::uint8_t { json, typed_json, toml };

  std::string_view name;   ///< the word for it on the command line
  std::string_view title;  ///< its name for people
  std::string_view file;   ///< the file that lists its servers
  std::string_view key;    ///< what stands above the servers
  Form form = Form::json;
};

/// The clients that are known, in the order of the help.
[[nodiscard]] std::span<const McpClient> mcp_clients();
/// `invalid_field`, with the list of those that are known.
[[nodiscard]] Result<McpClient> find_mcp_client(std::string_view name);

/// The lines of its configuration for the server `sandbox`, which it starts as this command; the first word is the
/// path of the program. `invalid_field` if a word is not UTF-8.
[[nodiscard]] Result<std::string> server_lines(const McpClient& client, std::span<const std::string> command);

}  // namespace skiff::container
