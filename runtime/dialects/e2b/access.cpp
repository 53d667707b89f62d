#include "runtime/dialects/e2b/access.hpp"

#include <openssl/crypto.h>

#include <charconv>
#include <chrono>
#include <utility>

#include "protocol/json/base64.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

bool same_secret(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Reads seconds since 1970; nothing: the text is not a number.
std::optional<std::int64_t> expiry_of(std::string_view text) {
  std::int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return seconds;
}

std::unexpected<Error> wrong_signature() {
  return fail(Errc::unauthenticated, "the signature is not right", "signature");
}

}  // namespace

bool Access::matches(std::string_view token) {
  if (!digest_) return false;
  const TokenDigest digest = digest_of(token);
  if (CRYPTO_memcmp(digest.data(), digest_->data(), digest.size()) != 0) return false;
  if (token_.empty()) token_ = token;
  return true;
}

Result<> Access::close(std::string token) {
  if (!is_token_form(token)) {
    return fail(Errc::invalid_field, "accessToken: expected 1 to 8192 printable characters", "accessToken");
  }
  digest_ = digest_of(token);
  token_ = std::move(token);
  return {};
}

Result<bool> Access::check(const protocol::Headers& headers) {
  if (!is_closed()) return false;
  auto token = headers.find("X-Access-Token");
  // The code interpreter's clients show a token for the contexts in this field alone.
  if (!token) token = headers.find("E2B-Traffic-Access-Token");
  if (!token) return fail(Errc::unauthenticated, "X-Access-Token is missing");
  if (headers.count("X-Access-Token") > 1 || !matches(*token)) {
    return fail(Errc::unauthenticated, "X-Access-Token is not right");
  }
  return true;
}

bool Access::is_signed(const protocol::HttpRequest& request) const {
  return is_closed() && !request.headers.contains("X-Access-Token") && request.target.parameter("signature");
}

Result<bool> Access::check_file(const protocol::HttpRequest& request, std::string_view operation, WallTime now) {
  const auto given = request.target.parameter("signature");
  if (!is_signed(request)) return check(request.headers);
  if (token_.empty()) {
    return fail(Errc::unauthenticated, "no signature can be checked before the token was used once", "signature");
  }
  std::string text{request.target.parameter("path").value_or("")};
  text += ':';
  text += operation;
  text += ':';
  text += request.target.parameter("username").value_or("");
  text += ':' + token_;
  const auto expiry = request.target.parameter("signature_expiration");
  if (expiry) text += ':' + std::string{*expiry};
  const Sha256::Digest digest = Sha256::of(text);
  std::string expected = "v1_" + protocol::encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (expected.ends_with('=')) expected.pop_back();
  if (!same_secret(expected, *given)) return wrong_signature();
  if (expiry) {
    const auto seconds = expiry_of(*expiry);
    if (!seconds) return wrong_signature();
    if (std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count() > *seconds) {
      return fail(Errc::unauthenticated, "the signature has expired", "signature_expiration");
    }
  }
  return true;
}

}  // namespace skiff::runtime::dialects::e2b
