#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "protocol/http/message.hpp"

namespace skiff::protocol {

/// Reasons for the end of a stream or connection (RFC 9113, 7).
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

/// One stream of a session. The session, which moves its bytes, and the exchange, which responds, share it. Reactor
/// thread only.
struct Http2Stream {
  Http2Stream(Executor executor, std::int32_t id_in) : id{id_in}, changed{executor} {}

  const std::int32_t id;
  Http2Request request;
  std::size_t header_bytes = 0;  ///< size of its header section so far, as SETTINGS_MAX_HEADER_LIST_SIZE counts
  std::size_t kept_bytes = 0;    ///< bytes of it that are kept
  bool announced = false;        ///< its head is complete: `Http2Session::take_requests` has returned it

  std::string inbox;         ///< bytes that have come and were not read; the windows limit them
  bool is_given_up = false;  ///< its handler gets no more bytes
  bool ended = false;        ///< the request has no more bytes

  std::span<const std::string_view> outbox;  ///< parts that a write waits for; their owner keeps them alive
  std::size_t taken = 0;                     ///< bytes taken from the first part
  bool answered = false;                     ///< the head of its response was queued
  std::optional<Headers> trailers;           ///< sent at the end of the response, when the outbox is empty

  std::optional<Http2Code> closed;  ///< the stream has ended: no_error when both sides have finished
  Event changed;                    ///< notified of changes of the members above
};

}  // namespace skiff::protocol
