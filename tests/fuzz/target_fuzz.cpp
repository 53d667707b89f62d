#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/http/target.hpp"

/// A target that is taken must give back what it was made of: its segments and parameters survive another round.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::protocol;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto target = Target::parse(text);
  if (!target || target->fault) return 0;
  if (target->path == "*") return 0;
  std::string again;
  for (const std::string& segment : target->segments) {
    if (segment.find('\0') != std::string::npos) std::abort();
    again += "/" + percent_encode(segment);
  }
  char separator = '?';
  for (const auto& [name, value] : target->query) {
    if (name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) std::abort();
    again += separator + percent_encode(name) + "=" + percent_encode(value);
    separator = '&';
  }
  const auto second = Target::parse(again);
  if (!second || second->segments != target->segments || second->query.size() != target->query.size()) std::abort();
  for (std::size_t i = 0; i < target->query.size(); ++i) {
    if (second->query[i].name != target->query[i].name || second->query[i].value != target->query[i].value)
      std::abort();
  }
  return 0;
}
