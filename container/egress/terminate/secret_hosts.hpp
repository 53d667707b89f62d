#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "container/egress/host_name.hpp"

namespace skiff::container::egress {

/// The servers for which a sandbox has secrets: one secret for each.
class SecretHosts {
 public:
  static constexpr std::size_t kMost = 16;

  /// Adds the hosts of a secret, in the form of `Secret::hosts`. `invalid_field` if another one is for such a host, and
  /// for more than `kMost` secrets.
  [[nodiscard]] Result<> add(const std::string& secret, const std::vector<std::string>& hosts);
  /// The secret for this server; null if there is none.
  [[nodiscard]] const std::string* find(const Target& target) const;
  /// The names of the secrets.
  [[nodiscard]] const std::set<std::string>& secrets() const noexcept { return secrets_; }
  /// HOST:PORT of each server, as rules.
  [[nodiscard]] std::vector<std::string> rules() const;

 private:
  std::set<std::string> secrets_;
  std::map<std::string, std::string> by_target_;
};

/// The names in these hosts, without ports, each once.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<std::string>& hosts);

}  // namespace skiff::container::egress
