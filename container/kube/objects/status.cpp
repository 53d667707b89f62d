#include "container/kube/objects/status.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/net/retry_after.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::kube {
namespace {

using protocol::field;

/// Longest part of an answer that is not a Status that a message repeats.
constexpr std::size_t kShownText = 300;

struct WireCause {
  std::string reason;
  std::string message;
  std::string field_name;
  static constexpr auto fields = std::tuple{field("reason", &WireCause::reason, "", {.optional = true}),
                                            field("message", &WireCause::message, "", {.optional = true}),
                                            field("field", &WireCause::field_name, "", {.optional = true})};
};

struct WireDetails {
  std::vector<WireCause> causes;
  std::int64_t retry_after_seconds = 0;
  static constexpr auto fields =
      std::tuple{field("causes", &WireDetails::causes, "", {.optional = true}),
                 field("retryAfterSeconds", &WireDetails::retry_after_seconds, "", {.optional = true})};
};

struct WireMetadata {
  std::string continue_token;
  static constexpr auto fields = std::tuple{field("continue", &WireMetadata::continue_token, "", {.optional = true})};
};

struct WireStatus {
  std::string kind;
  std::string message;
  std::string reason;
  unsigned code = 0;
  WireDetails details;
  WireMetadata metadata;
  static constexpr auto fields = std::tuple{field("kind", &WireStatus::kind, "", {.optional = true}),
                                            field("message", &WireStatus::message, "", {.optional = true}),
                                            field("reason", &WireStatus::reason, "", {.optional = true}),
                                            field("code", &WireStatus::code, "", {.maximum = 999, .optional = true}),
                                            field("details", &WireStatus::details, "", {.optional = true}),
                                            field("metadata", &WireStatus::metadata, "", {.optional = true})};
};

/// Decodes a Status; nullopt if the text is not one.
std::optional<Status> decode_status(std::string_view text) {
  std::vector<std::string> ignored;
  auto wire = protocol::decode<WireStatus>(text, {}, &ignored);
  if (!wire || wire->kind != "Status") return std::nullopt;
  Status status{.code = wire->code,
                .reason = std::move(wire->reason),
                .message = std::move(wire->message),
                .causes = {},
                .retry_after = {},
                .continue_token = std::move(wire->metadata.continue_token)};
  for (WireCause& cause : wire->details.causes) {
    status.causes.push_back({std::move(cause.reason), std::move(cause.message), std::move(cause.field_name)});
  }
  if (const std::int64_t seconds = wire->details.retry_after_seconds;
      seconds > 0 && seconds <= net::kMostRetryAfter.count()) {
    status.retry_after = std::chrono::seconds{seconds};
  }
  return status;
}

Errc code_of(const Status& status) {
  switch (status.code) {
    case 401:
      return Errc::unauthenticated;
    case 403:
      return Errc::permission_denied;
    case 404:
      return Errc::not_found;
    case 405:
      return Errc::method_not_allowed;
    case 409:
      return status.reason == "AlreadyExists" ? Errc::already_exists : Errc::precondition_failed;
    case 410:
      return Errc::precondition_failed;
    case 413:
      return Errc::payload_too_large;
    case 415:
      return Errc::unsupported_media_type;
    case 422:
      return Errc::invalid_field;
    case 429:
      return Errc::resource_exhausted;
    case 504:
      return Errc::timeout;
    default:
      return status.code >= 400 && status.code < 500 ? Errc::invalid_request : Errc::io_error;
  }
}

/// One line of an answer that is not a Status: a proxy's page, or an agent's error.
std::string one_line(std::string_view text) {
  std::string shown = protocol::to_valid_utf8(text.substr(0, kShownText));
  std::ranges::replace_if(shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  while (shown.ends_with(' ')) shown.pop_back();
  return shown;
}

Failure create_failure(Status status, std::string_view attempted) {
  std::string text{attempted};
  text += ": ";
  text += status.message;
  text += " (" + (status.reason.empty() ? std::string{} : status.reason + ", ") + std::to_string(status.code) + ")";
  Error error{code_of(status), std::move(text)};
  if (!status.causes.empty()) error.field = status.causes.front().field;
  const bool is_quota = status.message.contains("exceeded quota") || status.message.contains("failed quota");
  const bool is_refused = status.code == 401 || (status.code == 403 && !is_quota);
  if (error.field.empty() && (is_refused || status.code >= 500)) error.field = kClusterFault;
  return {.error = std::move(error), .status = std::move(status)};
}

}  // namespace

Failure read_failure(const protocol::HttpResponseHead& head, std::string_view body, std::string_view attempted) {
  Status status;
  if (auto decoded = decode_status(body)) {
    status = std::move(*decoded);
  } else {
    status.message = one_line(body);
  }
  status.code = head.status;  // the body's code is a copy of it, or another server's
  if (status.message.empty()) status.message = std::string{protocol::reason_phrase(head.status)};
  if (auto wait = net::retry_after(head.headers)) status.retry_after = wait;
  return create_failure(std::move(status), attempted);
}

Failure read_status(std::string_view status_json, std::string_view attempted) {
  auto decoded = decode_status(status_json);
  if (!decoded) {
    return {.error = {Errc::invalid_request,
                      std::string{attempted} + ": the API server's answer is not a Status: " + one_line(status_json)}};
  }
  return create_failure(std::move(*decoded), attempted);
}

}  // namespace skiff::kube
