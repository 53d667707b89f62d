#include "protocol/service/body.hpp"

namespace skiff::protocol::service {
namespace {

/// Whether a body may follow that is not empty.
bool may_have_body(const HttpRequest& request) noexcept {
  return request.body.kind != BodyFraming::Kind::none &&
         (request.body.kind != BodyFraming::Kind::length || request.body.length > 0);
}

bool has_length(const BodyFraming& body) noexcept {
  return body.kind == BodyFraming::Kind::length && body.length > 0;
}

}  // namespace

std::string_view media_type(std::string_view content_type) noexcept {
  const std::string_view type = content_type.substr(0, content_type.find(';'));
  return type.substr(0, type.find_last_not_of(" \t") + 1);
}

bool is_json(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  return same_text(type, "application/json") || same_text(type, "application/merge-patch+json");
}

Result<> check_coding(const HttpRequest& request) {
  const std::string_view coding = request.headers.get("Content-Encoding");
  if (coding.empty() || same_text(coding, "identity") || !may_have_body(request)) return {};
  return fail(Errc::unsupported_media_type,
              "the body is packed with Content-Encoding: " + std::string{coding} + ": send it unpacked",
              "Content-Encoding");
}

Task<Result<std::string>> read_json(HttpExchange* http, std::size_t most) {
  const HttpRequest& request = http->request();
  const bool says_so = is_json(request.headers.get("Content-Type"));
  std::string body;
  if (says_so || !has_length(request.body)) {
    SKIFF_CO_TRY(body, co_await http->read_body(most));
    if (says_so || body.empty()) co_return body;
  }
  co_return fail(Errc::unsupported_media_type, "the body must be JSON and say so: -H 'Content-Type: application/json'");
}

}  // namespace skiff::protocol::service
