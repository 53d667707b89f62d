#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

/// The header and trailer fields of gRPC in HTTP/2: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
namespace skiff::protocol {

/// The status of a call, `grpc-status`.
enum class GrpcCode : std::uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

struct GrpcStatus {
  GrpcCode code = GrpcCode::ok;
  std::string message = {};  ///< UTF-8
};

/// Returns the status for an error.
[[nodiscard]] GrpcStatus grpc_status(const Error& error);

/// Returns the trailers of a call: `grpc-status`, and the first 1,000 bytes of `grpc-message`, percent-encoded.
[[nodiscard]] Headers grpc_trailers(const GrpcStatus& status);

/// Returns true for application/grpc, also with +proto or parameters; other codecs are not supported.
[[nodiscard]] bool is_grpc_content_type(std::string_view content_type) noexcept;

/// Parses `grpc-timeout`: at most 8 digits and one of H, M, S, m, u, n. Rounds up to milliseconds. Errors:
/// invalid_field.
[[nodiscard]] Result<std::chrono::milliseconds> parse_grpc_timeout(std::string_view text);

}  // namespace skiff::protocol
