#include "protocol/grpc/fields.hpp"

#include <charconv>

#include "protocol/json/utf8.hpp"

namespace skiff::protocol {
namespace {

/// Trailers count against the client's limit for header fields, 8 KiB by default.
constexpr std::size_t kMostMessageBytes = 1'000;

GrpcCode code_of(Errc code) {
  switch (code) {
    case Errc::invalid_request:
    case Errc::invalid_field:
    case Errc::unknown_field:
    case Errc::missing_field:
    case Errc::invalid_id:
    case Errc::name_too_long:
    case Errc::too_many_links:
    case Errc::is_a_directory:
    case Errc::not_a_directory:
    case Errc::not_a_regular_file:
      return GrpcCode::invalid_argument;
    case Errc::unauthenticated:
      return GrpcCode::unauthenticated;
    case Errc::insufficient_scope:
    case Errc::path_escapes_root:
    case Errc::permission_denied:
    case Errc::cannot_switch_user:
      return GrpcCode::permission_denied;
    case Errc::not_found:
    case Errc::command_not_found:
    case Errc::command_forgotten:
    case Errc::session_not_found:
    case Errc::path_not_found:
      return GrpcCode::not_found;
    case Errc::command_ended:
    case Errc::stdin_closed:
    case Errc::not_a_terminal:
    case Errc::in_use:
      return GrpcCode::failed_precondition;
    case Errc::payload_too_large:
    case Errc::resource_exhausted:
    case Errc::too_many_commands:
    case Errc::no_space:
      return GrpcCode::resource_exhausted;
    case Errc::not_supported:
      return GrpcCode::unimplemented;
    case Errc::draining:
    case Errc::egress_waiting:
    case Errc::too_many_connections:
      return GrpcCode::unavailable;
    case Errc::cancelled:
      return GrpcCode::cancelled;
    case Errc::timeout:
    case Errc::request_timeout:
      return GrpcCode::deadline_exceeded;
    default:
      return GrpcCode::internal;
  }
}

}  // namespace

GrpcStatus grpc_status(const Error& error) {
  return {.code = code_of(error.code), .message = error.message};
}

Headers grpc_trailers(const GrpcStatus& status) {
  Headers trailers{{"grpc-status", std::to_string(static_cast<unsigned>(status.code))}};
  if (status.message.empty()) return trailers;
  std::string text = to_valid_utf8(status.message);
  if (text.size() > kMostMessageBytes) {
    text.resize(kMostMessageBytes);
    text.resize(text.size() - incomplete_tail(text));
  }
  std::string encoded;
  encoded.reserve(text.size());
  for (const char byte : text) {
    if (byte >= ' ' && byte <= '~' && byte != '%') {
      encoded += byte;
    } else {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      const auto value = static_cast<unsigned char>(byte);
      encoded += '%';
      encoded += kDigits[value >> 4U];
      encoded += kDigits[value & 15U];
    }
  }
  trailers.add("grpc-message", encoded);
  return trailers;
}

bool is_grpc_content_type(std::string_view content_type) noexcept {
  constexpr std::string_view kGrpc = "application/grpc";
  if (content_type.size() < kGrpc.size() || !same_text(content_type.substr(0, kGrpc.size()), kGrpc)) return false;
  std::string_view rest = content_type.substr(kGrpc.size());
  rest = rest.substr(0, rest.find(';'));
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  return rest.empty() || same_text(rest, "+proto");
}

Result<std::chrono::milliseconds> parse_grpc_timeout(std::string_view text) {
  using std::chrono::nanoseconds;
  constexpr std::size_t kMostDigits = 8;
  std::int64_t number = 0;
  const auto end = text.data() + text.size() - (text.empty() ? 0 : 1);
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool is_number = text.size() >= 2 && text.size() <= kMostDigits + 1 && parsed.ec == std::errc{} &&
                         parsed.ptr == end && text.front() != '-';
  std::int64_t unit = 0;
  switch (text.empty() ? '\0' : text.back()) {
    case 'H':
      unit = 3'600'000'000'000;
      break;
    case 'M':
      unit = 60'000'000'000;
      break;
    case 'S':
      unit = 1'000'000'000;
      break;
    case 'm':
      unit = 1'000'000;
      break;
    case 'u':
      unit = 1'000;
      break;
    case 'n':
      unit = 1;
      break;
    default:
      break;
  }
  if (!is_number || unit == 0) {
    return fail(Errc::invalid_field, "grpc-timeout must be one to eight digits and one of H, M, S, m, u and n",
                "grpc-timeout");
  }
  // 99,999,999 hours in nanoseconds overflow the integer.
  const std::int64_t most = std::chrono::nanoseconds{std::chrono::hours{24 * 365}}.count();
  if (number > most / unit) return std::chrono::hours{24 * 365};
  return std::chrono::ceil<std::chrono::milliseconds>(nanoseconds{number * unit});
}

}  // namespace skiff::protocol
