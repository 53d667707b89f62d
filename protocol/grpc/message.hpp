#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

/// The messages of a gRPC call, each behind five bytes: whether it is compressed, and its length (PROTOCOL-HTTP2.md,
/// "Length-Prefixed-Message").
namespace skiff::protocol {

/// What goes before an uncompressed message of so many bytes, fewer than 4 GiB.
[[nodiscard]] std::string grpc_prefix(std::size_t size);

/// Takes messages out of a stream of bytes, however it is cut into pieces.
class GrpcMessages {
 public:
  static constexpr std::size_t kPrefixBytes = 5;

  /// Above `most` bytes a message is refused before it has come.
  explicit GrpcMessages(std::size_t most) : most_{most} {}

  void feed(std::string bytes);
  /// The next message; nothing: it is not whole yet. Errors: payload_too_large; not_supported for a compressed one; of
  /// no use then.
  [[nodiscard]] Result<std::optional<std::string>> next();

  /// Bytes that are kept.
  [[nodiscard]] std::size_t held() const noexcept { return bytes_.size() - used_; }

 private:
  std::size_t most_;
  std::string bytes_;
  std::size_t used_ = 0;  ///< of `bytes_`, from their start
};

}  // namespace skiff::protocol
