#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "container/egress/host_name.hpp"
#include "container/egress/judge.hpp"
#include "container/egress/policy.hpp"

namespace skiff::container::egress {

/// The names below wildcards that a sandbox asks for. The owner of a domain reads each name that is looked up, so a
/// sandbox can send it messages in names. Their number keeps that channel small.
class WildcardNames {
 public:
  /// Most names below one wildcard in a window.
  static constexpr std::size_t kMost = 20;
  static constexpr std::chrono::seconds kWindow{60};

  /// Whether the name may be looked up now. One that was taken already in this window is always taken.
  [[nodiscard]] bool take(const std::string& wildcard, const std::string& host, SteadyTime now);
  /// Judges a name that the policy allows; nullopt: it may be looked up now.
  [[nodiscard]] std::optional<Refusal> judge(const Policy& policy, const Target& target);
  /// Forgets all of them: there are other rules.
  void clear() noexcept { windows_.clear(); }

 private:
  struct Window {
    SteadyTime end;
    std::set<std::string, std::less<>> names;
  };
  /// By wildcard; there are no more than the policy has rules.
  std::map<std::string, Window, std::less<>> windows_;
};

}  // namespace skiff::container::egress
