#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "container/cli/pod_flags.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// The flags by which a new sandbox is described.
class SpecFlags {
 public:
  /// Rows point into this object.
  [[nodiscard]] std::vector<Setting> rows();
  /// Those of many sandboxes alike: without what belongs to the one that is taken, as its lease and its labels.
  [[nodiscard]] std::vector<Setting> rows_of_a_pool();
  /// `given`: the flags of the command line (`SettingsTable::Arguments`), for what is more than a default when a pool
  /// is to give the sandbox. Errors name the flag.
  [[nodiscard]] Result<SandboxSpec> spec(std::string name, std::string owner, std::span<const std::string> given) const;

 private:
  std::string image_;
  std::vector<std::string> env_;
  std::string env_file_;
  std::vector<std::string> labels_;
  std::chrono::milliseconds ttl_{0};
  std::chrono::milliseconds idle_ttl_{0};
  std::chrono::milliseconds wait_{120'000};
  PodFlags pod_;
};

/// NAME=VALUE, or NAME alone for what it is in our own environment, as docker has it.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& entries);

}  // namespace skiff::container
