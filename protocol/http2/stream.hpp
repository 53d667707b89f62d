#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/event.hpp"
#include "protocol/http/message.hpp"

namespace skiff::protocol {

/// Why a stream or connection ends (RFC 9113, 7).
enum class Http2Code : std::uint32_t {
  no_error = 0,
  protocol_error = 1,
  internal_error = 2,
  flow_control_error = 3,
  refused_stream = 7,
  cancel = 8,
  compression_error = 9,
  enhance_your_calm = 11,
};

/// The head of a request.
struct Http2Request {
  std::string method;
  std::string path;       ///< as sent
  std::string authority;  ///< may be empty
  Headers headers;        ///< without the pseudo-header fields
};

/// One stream of a session, shared by the session, which moves its bytes, and the exchange that answers it. Reactor
/// thread only.
struct Http2Stream {
  Http2Stream(Executor executor, std::int32_t id_in) : id{id_in}, changed{executor} {}

  const std::int32_t id;
  Http2Request request;
  std::size_t header_bytes = 0;  ///< of its header section so far, as SETTINGS_MAX_HEADER_LIST_SIZE counts
  std::size_t kept_bytes = 0;    ///< of these, what is kept
  bool announced = false;        ///< its head is whole: `Http2Session::take_requests` has given it

  std::string inbox;         ///< came and was not read; the windows bound it
  bool is_given_up = false;  ///< its handler gets no more of it
  bool ended = false;        ///< no byte of the request follows

  std::span<const std::string_view> outbox;  ///< what a write waits to have taken; its owner keeps it alive
  std::size_t taken = 0;                     ///< of the first part
  bool answered = false;                     ///< its response's head was queued
  std::optional<Headers> trailers;           ///< they end the response when the outbox is empty

  std::optional<Http2Code> closed;  ///< it is over: no_error when both sides had said all
  Event changed;                    ///< something of the above has
};

}  // namespace skiff::protocol
