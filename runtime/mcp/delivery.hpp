#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "runtime/api/call.hpp"
#include "runtime/mcp/outbox.hpp"

namespace skiff::runtime::mcp {

/// A stream of messages over one connection (Streamable HTTP): server-sent events, or the one message as it is.
struct Delivery {
  std::shared_ptr<Outbox> outbox;
  std::uint64_t after = 0;    ///< the last message that the client has
  std::string stream = {};    ///< what event ids begin with: `7` gives `7-1`; empty: it can't be resumed
  bool may_be_plain = false;  ///< an answer that comes within a second, with nothing before it, is the body itself
  bool begins_empty = false;  ///< with an event that has an id and no data: from there on it can be resumed
};

/// Ends when the outbox is closed and all of it was sent, another connection took the stream over, or the credential
/// expired. Errors: cancelled when the client is gone.
[[nodiscard]] Task<Result<>> deliver(api::Call* call, Delivery delivery);

}  // namespace skiff::runtime::mcp
