#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json/schema.hpp"
#include "runtime/api/code/frames.hpp"

namespace {

using namespace skiff;
using namespace skiff::runtime::api;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The lines of `bytes` when they come in steps of at most `step`.
std::vector<std::string> lines_of(std::string_view bytes, std::size_t step) {
  CodeLines lines;
  std::vector<std::string> found;
  while (!bytes.empty()) {
    lines.add(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (auto line = lines.next(); line && *line; line = lines.next()) found.push_back(std::move(**line));
  }
  return found;
}

}  // namespace

/// Lines do not depend on how their bytes come, and a frame that was read is read again from what is written of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto lines = lines_of(bytes, bytes.size() + 1);
  require(lines == lines_of(bytes, 3));
  for (const std::string& line : lines) {
    const auto frame = read_code_frame(line);
    if (!frame) continue;
    const std::string text = protocol::to_json(*frame);
    const auto again = read_code_frame(text);
    require(again && protocol::to_json(*again) == text);
  }
  return 0;
}
