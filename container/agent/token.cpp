#include "container/agent/token.hpp"

#include <algorithm>
#include <ranges>

#include "base/id.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

constexpr std::chrono::seconds kLongestLifetime = std::chrono::days{365};
/// iat is this long before now, so that an agent whose clock is behind ours accepts the token.
constexpr std::chrono::seconds kBackdated{60};

void append_text(std::string& out, std::string_view key, std::string_view text) {
  protocol::append_json_key(out, key);
  protocol::append_json_string(out, protocol::to_valid_utf8(text));
}

void append_time(std::string& out, std::string_view key, std::chrono::sys_seconds time) {
  protocol::append_json_key(out, key);
  protocol::append_json_integer(out, std::int64_t{time.time_since_epoch().count()});
}

}  // namespace

Result<> check_grant(const TokenGrant& grant) {
  bool any = false;
  for (const auto part : std::views::split(grant.scope, ' ')) {
    const std::string_view word{part.begin(), part.end()};
    if (word != "read" && word != "exec" && word != "ports" && word != "admin") {
      return fail(Errc::invalid_field, "scope \"" + grant.scope + "\": expected any of read, exec, ports, admin",
                  "scope");
    }
    any = true;
  }
  if (!any) return fail(Errc::invalid_field, "a token needs at least one scope", "scope");
  if (grant.lifetime < std::chrono::seconds{1} || grant.lifetime > kLongestLifetime) {
    return fail(Errc::invalid_field, "a token is valid for 1 s to 365 days", "ttl");
  }
  return {};
}

Result<std::string> sign_token(const SigningKey& key, std::string_view sandbox_id, std::string_view subject,
                               const TokenGrant& grant, WallTime now) {
  SKIFF_TRY_VOID(check_grant(grant));
  const auto issued = std::chrono::floor<std::chrono::seconds>(now);
  std::string claims{'{'};
  append_text(claims, "aud", sandbox_id);
  append_text(claims, "sub", grant.subject.empty() ? std::string{subject} : std::string{subject} + '/' + grant.subject);
  append_text(claims, "scope", grant.scope);
  append_text(claims, "jti", new_id("t"));
  append_time(claims, "iat", issued - kBackdated);
  append_time(claims, "exp", issued + grant.lifetime);
  claims += '}';
  std::string token = protocol::encode_base64url(R"({"alg":"EdDSA","typ":"JWT"})");
  token.append(1, '.').append(protocol::encode_base64url(claims));
  SKIFF_TRY(auto signature, key.sign(token));
  token.append(1, '.').append(protocol::encode_base64url(signature));
  return token;
}

}  // namespace skiff::container
