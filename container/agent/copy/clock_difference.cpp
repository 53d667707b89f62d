#include "container/agent/copy/clock_difference.hpp"

#include <time.h>

#include <cstdlib>

namespace skiff::container {

std::optional<std::chrono::seconds> clock_difference(const protocol::Headers& headers, WallTime now) {
  const std::string date{headers.get("Date")};
  tm parts{};
  // The form that senders must use: Sun, 06 Nov 1994 08:49:37 GMT.
  const char* const end = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != 0) return std::nullopt;
  const std::chrono::sys_seconds theirs{std::chrono::seconds{::timegm(&parts)}};
  return theirs - std::chrono::floor<std::chrono::seconds>(now);
}

std::string clock_words(std::chrono::seconds difference) {
  return std::to_string(std::abs(difference.count())) + " s " + (difference.count() < 0 ? "behind" : "ahead of") +
         " this machine's";
}

}  // namespace skiff::container
