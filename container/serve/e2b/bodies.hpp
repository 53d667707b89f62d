#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "container/sandbox/sandbox.hpp"
#include "container/serve/fleet/sandbox_log.hpp"
#include "container/serve/fleet/templates.hpp"
#include "protocol/json/schema.hpp"

/// The bodies that E2B's SDKs send and read. Fields that they add later are ignored.
namespace skiff::container::serve::e2b {

inline constexpr std::int64_t kLongestTimeout = std::int64_t{365} * 24 * 3600;

struct AutoResume {
  bool enabled = false;
  static constexpr auto fields = std::tuple{protocol::field(
      "enabled", &AutoResume::enabled, "True: the next request starts the paused sandbox", {.optional = true})};
};

struct NewSandbox {
  std::string template_id{Templates::kBase};
  std::int64_t timeout = 15;  ///< seconds; the default is E2B's
  std::map<std::string, std::string> metadata = {};
  std::map<std::string, std::string> env = {};
  bool auto_pause = false;
  AutoResume auto_resume = {};
  std::optional<bool> allow_internet_access = {};
  nlohmann::json network = {};
  nlohmann::json mcp = {};
  nlohmann::json iam = {};
  nlohmann::json volume_mounts = {};

  static constexpr auto fields = std::tuple{
      protocol::field("templateID", &NewSandbox::template_id, "Name of the template", {.optional = true}),
      protocol::field("timeout", &NewSandbox::timeout, "Lease in seconds",
                      {.minimum = 0, .maximum = kLongestTimeout, .optional = true}),
      protocol::field("metadata", &NewSandbox::metadata, "Labels", {.optional = true}),
      protocol::field("envVars", &NewSandbox::env, "Variables of all its commands",
                      {.text = protocol::Text::no_nul, .keys = protocol::Text::env_name, .optional = true}),
      protocol::field("autoPause", &NewSandbox::auto_pause,
                      "True: pause the sandbox at the end of its lease instead of removing it", {.optional = true}),
      protocol::field("autoResume", &NewSandbox::auto_resume, "Whether a request starts the paused sandbox",
                      {.optional = true}),
      protocol::field("allow_internet_access", &NewSandbox::allow_internet_access,
                      "false: no network; otherwise the template decides"),
      protocol::field("network", &NewSandbox::network, "Rules for the network; supported are all and none",
                      {.optional = true}),
      protocol::field("mcp", &NewSandbox::mcp, "Not supported", {.optional = true}),
      protocol::field("iam", &NewSandbox::iam, "Not supported", {.optional = true}),
      protocol::field("volumeMounts", &NewSandbox::volume_mounts, "Not supported", {.optional = true})};
};

/// The body of /timeout, /connect and /resume.
struct Timeout {
  std::optional<std::int64_t> timeout = {};
  static constexpr auto fields = std::tuple{protocol::field(
      "timeout", &Timeout::timeout, "New lease, in seconds from now on", {.minimum = 0, .maximum = kLongestTimeout})};
};

struct Refresh {
  std::int64_t duration = 15;
  static constexpr auto fields =
      std::tuple{protocol::field("duration", &Refresh::duration, "Shortest remaining lease, in seconds from now on",
                                 {.minimum = 0, .maximum = kLongestTimeout, .optional = true})};
};

/// The form of errors in E2B's API.
struct Refusal {
  static constexpr std::string_view kSchemaName = "E2bError";
  std::int64_t code = 0;
  std::string message;
  static constexpr auto fields = std::tuple{protocol::field("code", &Refusal::code, "HTTP status"),
                                            protocol::field("message", &Refusal::message, "Text of the error")};
};

/// The fields for a client that may reach the sandbox.
struct Reached {
  std::string domain = {};         ///< domain of the sandboxes, with a port if needed
  std::string access_token = {};   ///< empty: null
  std::string traffic_token = {};  ///< for ports; empty: null
};
[[nodiscard]] std::string reached_json(const Sandbox& sandbox, const Reached& how);

/// A sandbox as an entry of a list; with `how`, all its fields.
[[nodiscard]] std::string sandbox_json(const Sandbox& sandbox, Size size, const Reached* how = nullptr);

/// An entry of /metrics, from the agent's report about itself. `bad_gateway` if the report is invalid.
[[nodiscard]] Result<std::string> metric_json(const std::string& answer);

/// {"logs": [...]}, or with `lines` the form of the route's first version: "logs" as lines, and "logEntries".
[[nodiscard]] std::string logs_json(const std::vector<LogEntry>& entries, bool lines);

}  // namespace skiff::container::serve::e2b
