#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/dialects/sandboxd/process_messages.hpp"
#include "runtime/dialects/sandboxd/reflection.hpp"

/// Whatever a client sends as a message is read, or refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::runtime::dialects::sandboxd;
  const std::string_view message{reinterpret_cast<const char*>(data), size};
  (void)read_process_request(message);
  (void)read_write_stdin(message);
  (void)read_send_signal(message);
  (void)read_resize(message);
  (void)reflection_answer(message);
  return 0;
}
