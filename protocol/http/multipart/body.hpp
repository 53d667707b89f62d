#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/async/task.hpp"
#include "protocol/http/multipart/parser.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::protocol {

/// Reads the multipart body of a request, part by part. Errors of both calls: those of the body and of
/// `MultipartParser`; invalid_request when the body ends before its last boundary.
class MultipartBody {
 public:
  MultipartBody(HttpExchange& http, std::string_view boundary) : http_{http}, parser_{boundary} {}

  /// Skips the rest of the current part and goes to the next one; returns false after the last one, when the whole body
  /// was read.
  [[nodiscard]] Task<Result<bool>> next_part();
  [[nodiscard]] const PartHead& head() const noexcept { return parser_.head(); }
  /// Reads the next bytes of the part, 0 at its end. `into` must not be empty.
  [[nodiscard]] Task<Result<std::size_t>> read_some(std::span<char> into);

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
  static_assert(kBufferBytes > MultipartParser::kWindow);

  /// Returns the parser's next event other than `more`. The bytes of `data` stay in the buffer for the caller.
  [[nodiscard]] Task<Result<MultipartParser::Step>> advance();
  [[nodiscard]] Task<Result<>> fill();

  HttpExchange& http_;
  MultipartParser parser_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  std::size_t begin_ = 0;  ///< start of the bytes that the parser has not used
  std::size_t end_ = 0;
  bool in_part_ = false;
};

}  // namespace skiff::protocol
