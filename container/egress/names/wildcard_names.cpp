#include "container/egress/names/wildcard_names.hpp"

namespace skiff::container::egress {

bool WildcardNames::take(const std::string& wildcard, const std::string& host, SteadyTime now) {
  Window& window = windows_[wildcard];
  if (window.end <= now) window = {.end = now + kWindow, .names = {}};
  if (window.names.contains(host)) return true;
  if (window.names.size() >= kMost) return false;
  window.names.insert(host);
  return true;
}

}  // namespace skiff::container::egress
