#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::runtime::dialects::e2b {

/// A code of the Connect protocol and the HTTP status of a unary call that ends with it (connectrpc.com/docs/protocol,
/// "Error Codes").
struct ConnectCode {
  std::string_view word;
  unsigned status;
};

/// The code of an error in the Connect protocol. `unavailable` is kept for an agent that drains: E2B's clients take it
/// for the end of the sandbox.
[[nodiscard]] ConnectCode connect_code(Errc code) noexcept;

/// The JSON of an error: {"code":"not_found","message":"..."}
[[nodiscard]] std::string connect_error(const Error& error);

}  // namespace skiff::runtime::dialects::e2b
