#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "runtime/api/call.hpp"
#include "runtime/mcp/outbox.hpp"

namespace skiff::runtime::mcp {

/// A stream of messages over one connection (Streamable HTTP): server-sent events, or a single message as the body.
struct Delivery {
  std::shared_ptr<Outbox> outbox;
  std::uint64_t after = 0;  ///< the number of the last message that the client has
  std::string stream = {};  ///< the beginning of event ids: `7` gives `7-1`; empty: the stream can't be resumed
  bool may_be_plain =
      false;  ///< an answer that comes within a second, and before any other message, is sent as the body
  bool begins_empty = false;  ///< begins with an event that has an id and no data, from which the stream can be resumed
};

/// Sends a stream. It ends when the outbox is closed and all of it was sent, when another connection has taken the
/// stream over, or when the credential has expired. Errors: cancelled when the client is gone.
[[nodiscard]] Task<Result<>> deliver(api::Call* call, Delivery delivery);

}  // namespace skiff::runtime::mcp
