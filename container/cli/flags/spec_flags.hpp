#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/settings/settings.hpp"
#include "container/cli/flags/pod_flags.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// The flags that describe a new sandbox.
class SpecFlags {
 public:
  /// Rows point into this object.
  [[nodiscard]] std::vector<Setting> rows();
  /// The rows for the sandboxes of a pool, without options of a taken sandbox such as its lease and labels.
  [[nodiscard]] std::vector<Setting> rows_of_a_pool();
  /// `given` are the flags on the command line (`SettingsTable::Arguments`): for a sandbox from a pool, only these
  /// count as requests. Errors name the flag.
  [[nodiscard]] Result<SandboxSpec> spec(std::string name, std::string owner, std::span<const std::string> given) const;

 private:
  std::string image_;
  std::vector<std::string> env_;
  std::string env_file_;
  std::string mount_;
  std::vector<std::string> exposed_;
  std::vector<std::string> egress_;
  std::string egress_file_;
  bool is_fenced_ = false;
  std::vector<std::string> egress_secrets_;
  std::uint64_t pids_ = 0;
  std::vector<std::string> labels_;
  std::chrono::milliseconds ttl_{0};
  std::chrono::milliseconds idle_ttl_{0};
  std::chrono::milliseconds wait_{120'000};
  PodFlags pod_;
};

/// Parses NAME=VALUE, or NAME alone, whose value comes from our own environment, as in docker.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& entries);

}  // namespace skiff::container
