#include "protocol/grpc/message.hpp"

#include <cstdint>
#include <utility>

namespace skiff::protocol {

std::string grpc_prefix(std::size_t size) {
  std::string prefix{'\0'};
  for (int shift = 24; shift >= 0; shift -= 8) prefix += static_cast<char>(size >> static_cast<unsigned>(shift));
  return prefix;
}

void GrpcMessages::feed(std::string bytes) {
  bytes_.erase(0, std::exchange(used_, 0));
  if (bytes_.empty()) {
    bytes_ = std::move(bytes);
  } else {
    bytes_ += bytes;
  }
}

Result<std::optional<std::string>> GrpcMessages::next() {
  const std::string_view rest = std::string_view{bytes_}.substr(used_);
  if (rest.size() < kPrefixBytes) return std::nullopt;
  if (rest.front() != '\0') {
    return fail(Errc::not_supported, "compressed messages are not supported: send them with grpc-encoding identity");
  }
  std::size_t size = 0;
  for (const char byte : rest.substr(1, kPrefixBytes - 1)) size = size << 8U | static_cast<unsigned char>(byte);
  if (size > most_) {
    return fail(Errc::payload_too_large, "the message has " + std::to_string(size) + " bytes, more than the " +
                                             std::to_string(most_) + " that are taken");
  }
  if (rest.size() < kPrefixBytes + size) return std::nullopt;
  const std::size_t begin = used_ + kPrefixBytes;
  used_ = begin + size;
  if (used_ < bytes_.size()) return bytes_.substr(begin, size);
  // The last message in the buffer, usually a large one, is moved and not copied.
  bytes_.erase(0, begin);
  used_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace skiff::protocol
