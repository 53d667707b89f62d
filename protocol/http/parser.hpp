#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::protocol {

struct HeadLimits {
  std::size_t header_bytes = 32 * 1024;
  std::size_t target_bytes = 8 * 1024;
  bool bare_feeds = false;  ///< lines may also end with a line feed alone, as clients take it from servers
};

/// A request that is answered without a handler, with this status; the connection ends then.
struct HeadFailure {
  unsigned status = 400;
  Error error;
};

template <class T>
using HeadResult = std::expected<T, HeadFailure>;

/// Looks for the end of a head in bytes that grow, each byte once.
class HeadScanner {
 public:
  explicit HeadScanner(HeadLimits limits) : limits_{limits} {}
  /// The size of the head with its empty line, 0 if it is not complete. `bytes` begins with what was given before.
  /// 400 on a line that does not end as it has to, 414 and 431 above the limits.
  [[nodiscard]] HeadResult<std::size_t> scan(std::string_view bytes);

 private:
  HeadLimits limits_;
  std::size_t first_line_ = 0;  ///< its size, once it is complete
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;
};

/// The same head with CRLF at the end of each line (`HeadLimits::bare_feeds`).
[[nodiscard]] std::string with_returns(std::string_view head);

/// True for a header field's name or a method (RFC 9110, 5.6.2).
[[nodiscard]] bool is_token(std::string_view text) noexcept;
/// True if nothing in it is a control character other than a tab.
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;

/// Checks and splits a whole head, which `HeadScanner` has found. Everything about which two parties could disagree is
/// refused: 400; a version other than 1.0 and 1.1 is 505, a transfer coding other than chunked 501, an expectation
/// other than 100-continue 417.
[[nodiscard]] HeadResult<HttpRequest> parse_request_head(std::string_view head, std::size_t target_bytes);

/// The same for the head of a response to a request with this method. A status without the space behind it, which
/// belongs there also without a reason, is taken.
[[nodiscard]] Result<HttpResponseHead> parse_response_head(std::string_view head, std::string_view request_method);

}  // namespace skiff::protocol
