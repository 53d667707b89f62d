#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

/// The messages of a gRPC call. Each follows five bytes: whether it is compressed, and its length (PROTOCOL-HTTP2.md,
/// "Length-Prefixed-Message").
namespace skiff::protocol {

/// Returns the prefix of an uncompressed message of `size` bytes, fewer than 4 GiB.
[[nodiscard]] std::string grpc_prefix(std::size_t size);

/// Extracts messages from a stream of bytes that comes in arbitrary pieces.
class GrpcMessages {
 public:
  static constexpr std::size_t kPrefixBytes = 5;

  /// Refuses a message above `most` bytes by its length, before its bytes come.
  explicit GrpcMessages(std::size_t most) : most_{most} {}

  void feed(std::string bytes);
  /// Returns the next message; nothing if it is incomplete. Errors: payload_too_large; not_supported for a compressed
  /// message. After an error the object is unusable.
  [[nodiscard]] Result<std::optional<std::string>> next();

  /// The number of buffered bytes.
  [[nodiscard]] std::size_t held() const noexcept { return bytes_.size() - used_; }

 private:
  std::size_t most_;
  std::string bytes_;
  std::size_t used_ = 0;  ///< used bytes at the start of `bytes_`
};

}  // namespace skiff::protocol
