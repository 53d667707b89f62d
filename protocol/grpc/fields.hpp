#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

/// What gRPC puts into HTTP/2's header and trailer fields:
/// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
namespace skiff::protocol {

/// How a call has ended, `grpc-status`.
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

/// The status that says what an error says.
[[nodiscard]] GrpcStatus grpc_status(const Error& error);

/// The trailers of a call: `grpc-status`, and `grpc-message` percent-encoded, at most 1,000 bytes of it.
[[nodiscard]] Headers grpc_trailers(const GrpcStatus& status);

/// True for application/grpc, also with +proto or a parameter behind it: other codecs are not spoken here.
[[nodiscard]] bool is_grpc_content_type(std::string_view content_type) noexcept;

/// `grpc-timeout`: at most 8 digits and one of H, M, S, m, u, n. Part of a millisecond counts as one. Errors:
/// invalid_field.
[[nodiscard]] Result<std::chrono::milliseconds> parse_grpc_timeout(std::string_view text);

}  // namespace skiff::protocol
