#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/net/client_hello.hpp"

/// The bytes must say the same at once and one by one, and a name has no other characters than those of DNS.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using skiff::protocol::ClientHelloReader;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  ClientHelloReader whole;
  ClientHelloReader slow;
  whole.add(bytes);
  for (std::size_t i = 0; i < size && slow.state() == ClientHelloReader::State::incomplete; ++i) {
    slow.add(bytes.substr(i, 1));
  }
  if (whole.state() != slow.state() || whole.name() != slow.name()) std::abort();
  if ((whole.state() == ClientHelloReader::State::complete) == whole.name().empty()) std::abort();
  if (whole.name().find_first_of(std::string_view{"\0/:@ *", 6}) != std::string::npos) std::abort();
  return 0;
}
