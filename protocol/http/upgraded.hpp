#pragma once

#include <string>

#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// A connection that is no longer HTTP.
struct Upgraded {
  Stream stream;
  std::string buffered;             ///< bytes that the client has sent already; they come before those of the stream
  ReceiveBudget* budget = nullptr;  ///< budget for unread bytes; null: no limit
  std::string who = {};             ///< holder of the share in that budget
};

}  // namespace skiff::protocol
