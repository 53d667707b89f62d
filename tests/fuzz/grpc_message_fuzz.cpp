#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/grpc/fields.hpp"
#include "protocol/grpc/message.hpp"

namespace {

using namespace skiff::protocol;
constexpr std::size_t kMostFramed = 4096;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The messages of `bytes` when they come in steps of at most `step`, and a last one that says why it ended.
std::vector<std::string> messages_of(std::string_view bytes, std::size_t step) {
  GrpcMessages messages{kMostFramed};
  std::vector<std::string> found;
  while (!bytes.empty()) {
    messages.feed(std::string{bytes.substr(0, step)});
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (;;) {
      auto next = messages.next();
      if (!next) {
        found.push_back("error: " + next.error().message);
        return found;
      }
      if (!*next) break;
      require((*next)->size() <= kMostFramed);
      found.push_back(std::move(**next));
    }
  }
  return found;
}

}  // namespace

/// Checks that the messages do not depend on how the bytes are cut, and that header fields are read or refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  require(messages_of(bytes, bytes.size() + 1) == messages_of(bytes, 1U + data[0] % 32U));
  (void)is_grpc_content_type(bytes);
  if (auto timeout = parse_grpc_timeout(bytes)) require(timeout->count() >= 0);
  const Headers trailers = grpc_trailers({GrpcCode::internal, std::string{bytes}});
  for (const char c : trailers.get("grpc-message")) require(c >= ' ' && c <= '~');
  return 0;
}
