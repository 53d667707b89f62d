#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/grpc/message.hpp"
#include "runtime/dialects/e2b/files/user_context.hpp"
#include "runtime/dialects/e2b/messages.hpp"
#include "runtime/dialects/e2b/rpc.hpp"

namespace {

using namespace skiff::runtime::dialects::e2b;
constexpr std::size_t kMostOfEnvelope = 4096;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The messages of `bytes` when they come in steps of at most `step`.
std::vector<std::string> messages_of(std::string_view bytes, std::size_t step) {
  skiff::protocol::GrpcMessages envelopes{kMostOfEnvelope};
  std::vector<std::string> found;
  while (!bytes.empty()) {
    envelopes.feed(std::string{bytes.substr(0, step)});
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (;;) {
      auto message = envelopes.next();
      if (!message) return found;
      if (!*message) break;
      found.push_back(std::move(**message));
    }
  }
  return found;
}

void read(std::string_view message) {
  (void)read_start(message);
  (void)read_connect(message);
  (void)read_update(message);
  (void)read_send_input(message);
  (void)read_stream_input(message);
  (void)read_send_signal(message);
  (void)read_close_stdin(message);
  (void)read_path(message);
  (void)read_move(message);
  (void)read_watcher_id(message);
  (void)read_init(message);
}

}  // namespace

/// Whatever a client sends in envelopes is read, or refused; however it is cut, the messages are the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto messages = messages_of(bytes, size + 1);
  require(messages == messages_of(bytes, 1));
  std::string again;
  for (const std::string& message : messages) {
    append_envelope(again, Envelope::message, message);
    read(message);
  }
  require(bytes.starts_with(again));
  read(bytes);
  const auto path = absolute_path(bytes, "/base", "/home");
  require(!path || (path->starts_with('/') && path->find("//") == std::string::npos && !path->ends_with("/..")));
  return 0;
}
