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
  bool bare_feeds = false;  ///< lines may also end with a bare line feed, which clients accept from servers
};

/// The failure of a request that gets a response with this status without a handler; the connection then ends.
struct HeadFailure {
  unsigned status = 400;
  Error error;
};

template <class T>
using HeadResult = std::expected<T, HeadFailure>;

/// Finds the end of a head in a growing buffer; it looks at each byte once.
class HeadScanner {
 public:
  explicit HeadScanner(HeadLimits limits) : limits_{limits} {}
  /// Returns the size of the head with its empty line, 0 if it is incomplete. `bytes` begins with the bytes of the
  /// earlier calls. Errors: 400 for a wrong line end, 414 and 431 above the limits.
  [[nodiscard]] HeadResult<std::size_t> scan(std::string_view bytes);

 private:
  HeadLimits limits_;
  std::size_t first_line_ = 0;  ///< size of the first line, once it is complete
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;
};

/// Returns the head with CRLF at the end of each line (`HeadLimits::bare_feeds`).
[[nodiscard]] std::string with_returns(std::string_view head);

/// Returns true for a valid name of a header field or method (RFC 9110, 5.6.2).
[[nodiscard]] bool is_token(std::string_view text) noexcept;
/// Returns true if the only control characters are tabs.
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;

/// Checks and splits a whole head that `HeadScanner` has found. It refuses everything about which two parties could
/// disagree: 400, also a transfer coding other than chunked. A version other than 1.0 and 1.1 is 505, an expectation
/// other than 100-continue 417.
[[nodiscard]] HeadResult<HttpRequest> parse_request_head(std::string_view head, std::size_t target_bytes);

/// Checks and splits the head of a response to a request with this method. A status line without the space after the
/// status, which is required even without a reason, is accepted.
[[nodiscard]] Result<HttpResponseHead> parse_response_head(std::string_view head, std::string_view request_method);

}  // namespace skiff::protocol
