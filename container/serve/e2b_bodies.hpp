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
#include "container/serve/sandbox_log.hpp"
#include "container/serve/templates.hpp"
#include "protocol/json/schema.hpp"

/// What E2B's SDKs send and read. Fields that they add later are passed over.
namespace skiff::container::serve::e2b {

inline constexpr std::int64_t kLongestTimeout = std::int64_t{365} * 24 * 3600;

struct AutoResume {
  bool enabled = false;
  static constexpr auto fields =
      std::tuple{protocol::field("enabled", &AutoResume::enabled, "The next request starts it", {.optional = true})};
};

struct NewSandbox {
  std::string template_id{Templates::kBase};
  std::int64_t timeout = 15;  ///< seconds, as E2B has it
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
      protocol::field("templateID", &NewSandbox::template_id, "What it is made from", {.optional = true}),
      protocol::field("timeout", &NewSandbox::timeout, "Its lease in seconds",
                      {.minimum = 0, .maximum = kLongestTimeout, .optional = true}),
      protocol::field("metadata", &NewSandbox::metadata, "To find it by", {.optional = true}),
      protocol::field("envVars", &NewSandbox::env, "Of all its commands",
                      {.text = protocol::Text::no_nul, .keys = protocol::Text::env_name, .optional = true}),
      protocol::field("autoPause", &NewSandbox::auto_pause, "Kept at the end of its lease", {.optional = true}),
      protocol::field("autoResume", &NewSandbox::auto_resume, "When it is paused", {.optional = true}),
      protocol::field("allow_internet_access", &NewSandbox::allow_internet_access, "What it may reach"),
      protocol::field("network", &NewSandbox::network, "Not offered", {.optional = true}),
      protocol::field("mcp", &NewSandbox::mcp, "Not offered", {.optional = true}),
      protocol::field("iam", &NewSandbox::iam, "Not offered", {.optional = true}),
      protocol::field("volumeMounts", &NewSandbox::volume_mounts, "Not offered", {.optional = true})};
};

/// Of /timeout, /connect and /resume.
struct Timeout {
  std::optional<std::int64_t> timeout = {};
  static constexpr auto fields = std::tuple{
      protocol::field("timeout", &Timeout::timeout, "Seconds from now on", {.minimum = 0, .maximum = kLongestTimeout})};
};

struct Refresh {
  std::int64_t duration = 15;
  static constexpr auto fields =
      std::tuple{protocol::field("duration", &Refresh::duration, "Seconds from now on",
                                 {.minimum = 0, .maximum = kLongestTimeout, .optional = true})};
};

/// How E2B's API tells an error.
struct Refusal {
  static constexpr std::string_view kSchemaName = "E2bError";
  std::int64_t code = 0;
  std::string message;
  static constexpr auto fields = std::tuple{protocol::field("code", &Refusal::code, "The status"),
                                            protocol::field("message", &Refusal::message, "What went wrong")};
};

/// What a client is told of a sandbox that is his to reach.
struct Reached {
  std::string domain;        ///< with a port where it needs one
  std::string access_token;  ///< empty: null
};
[[nodiscard]] std::string reached_json(const Sandbox& sandbox, const Reached& how);

/// One of a list; with `how` all that there is to tell.
[[nodiscard]] std::string sandbox_json(const Sandbox& sandbox, Size size, const Reached* how = nullptr);

/// An entry of /metrics, from what the agent says of itself. `bad_gateway` when that is not what it should be.
[[nodiscard]] Result<std::string> metric_json(const std::string& answer);

/// {"logs": [...]}, or with `lines` what the first version of that route gives: "logs" as lines, and "logEntries".
[[nodiscard]] std::string logs_json(const std::vector<LogEntry>& entries, bool lines);

}  // namespace skiff::container::serve::e2b
