#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/settings/settings.hpp"
#include "container/sandbox/pod_options.hpp"

namespace skiff::container {

/// The flags that describe a new sandbox in a cluster.
class PodFlags {
 public:
  /// Rows point into this object.
  [[nodiscard]] std::vector<Setting> rows();
  /// Reads the overrides' file. Errors name the flag.
  [[nodiscard]] Result<PodOptions> options() const;

 private:
  template <class T>
  setting::Target target(const PodOption<T>& option);
  template <class T>
  Result<> take(const PodOption<T>& option, T& into) const;

  PodOptions pod_;
  // Values of flags whose options have other types, by the flag.
  std::map<std::string_view, std::string> texts_;
  std::map<std::string_view, std::uint64_t> numbers_;
  std::map<std::string_view, std::vector<std::string>> lists_;
  std::map<std::string_view, std::chrono::milliseconds> times_;
};

/// NAME=VALUE entries of a repeated flag.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& entries,
                                                                     std::string_view flag);

}  // namespace skiff::container
