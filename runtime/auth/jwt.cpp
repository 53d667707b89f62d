#include "runtime/auth/jwt.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kMostDepth = 16;
/// 9999-12-31T23:59:59Z, the latest time in RFC 3339.
constexpr double kLatest = 253'402'300'799.0;

std::unexpected<Error> refuse(const std::string& why) {
  return fail(Errc::unauthenticated, "the token is not valid: " + why);
}

/// Parses the object in one base64url part. It refuses duplicate names, because two readers could use different values.
Result<Json> read_part(std::string_view part, std::string_view what) {
  const auto text = protocol::decode_base64url(part);
  if (!text) return refuse("its " + std::string{what} + " is not base64url");
  std::set<std::string> names;
  bool repeated = false;
  bool too_deep = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    too_deep = too_deep || depth > static_cast<int>(kMostDepth);
    if (event == Json::parse_event_t::key && depth == 1) {
      repeated = repeated || !names.insert(value.get_ref<const std::string&>()).second;
    }
    return !too_deep;
  };
  Json object = Json::parse(*text, watch, /*allow_exceptions=*/false);
  if (too_deep || !object.is_object()) return refuse("its " + std::string{what} + " is not a JSON object");
  if (repeated) return refuse("its " + std::string{what} + " holds a name twice");
  return object;
}

/// Reads a NumericDate (RFC 7519 section 2); empty if the claim is absent.
Result<std::optional<WallTime>> read_time(const Json& claims, const char* name) {
  const auto claim = claims.find(name);
  if (claim == claims.end()) return std::nullopt;
  const double seconds = claim->is_number() ? claim->get<double>() : -1.0;
  if (!(seconds >= 0.0 && seconds <= kLatest)) return refuse(std::string{name} + " is not a time");
  return WallTime{std::chrono::microseconds{std::llround(seconds * 1e6)}};
}

bool names_audience(const Json& claims, std::string_view audience) {
  const auto claim = claims.find("aud");
  if (claim == claims.end()) return false;
  const auto is_it = [audience](const Json& value) {
    return value.is_string() && value.get_ref<const std::string&>() == audience;
  };
  return claim->is_array() ? std::ranges::any_of(*claim, is_it) : is_it(*claim);
}

Result<JwtClaims> read_claims(const Json& claims, std::string_view audience, WallTime now) {
  JwtClaims read;
  SKIFF_TRY(const auto expires, read_time(claims, "exp"));
  if (!expires) return refuse("it has no exp");
  if (now >= *expires) return refuse("it has expired");
  read.expires = *expires;
  for (const char* name : {"nbf", "iat"}) {
    SKIFF_TRY(const auto time, read_time(claims, name));
    if (!time) continue;
    if (now < *time - kJwtLeeway) return refuse(std::string{name} + " is in the future");
    read.not_before = std::max(read.not_before, *time - kJwtLeeway);
  }
  if (!names_audience(claims, audience)) return refuse("aud is not this sandbox");
  if (const auto subject = claims.find("sub"); subject != claims.end()) {
    if (!subject->is_string()) return refuse("sub is not a string");
    read.subject = subject->get<std::string>();
  }
  if (const auto id = claims.find("jti"); id != claims.end()) {
    if (!id->is_string()) return refuse("jti is not a string");
    read.id = id->get<std::string>();
  }
  if (const auto scope = claims.find("scope"); scope != claims.end()) {
    if (!scope->is_string()) return refuse("scope is not a string");
    read.scopes = Scopes::parse_claim(scope->get_ref<const std::string&>());
  }
  if (const auto session = claims.find("session"); session != claims.end()) {
    if (!session->is_string() || !is_valid_id(session->get_ref<const std::string&>())) {
      return refuse("session is not an id");
    }
    read.session = session->get<std::string>();
  }
  return read;
}

}  // namespace

bool looks_like_jwt(std::string_view token) noexcept {
  return std::ranges::count(token, '.') == 2;
}

Result<JwtClaims> verify_jwt(std::string_view token, std::span<const PublicKey> keys, std::string_view audience,
                             WallTime now) {
  if (token.size() > kLongestJwt) return refuse("it is longer than 8 KiB");
  if (!looks_like_jwt(token)) return refuse("it has not three parts");
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  const std::string_view signed_part = token.substr(0, second);

  // Use only alg and crit of the header; ignore keys that it may name or contain.
  SKIFF_TRY(const auto header, read_part(token.substr(0, first), "header"));
  const auto algorithm = header.find("alg");
  if (algorithm == header.end() || *algorithm != "EdDSA") return refuse("its alg is not EdDSA");
  if (header.contains("crit")) return refuse("its header holds crit");

  const auto signature = protocol::decode_base64url(token.substr(second + 1));
  if (!signature || signature->size() != kSignatureBytes) return refuse("its signature is malformed");
  const std::span bytes{reinterpret_cast<const unsigned char*>(signature->data()), signature->size()};
  if (!std::ranges::any_of(keys, [&](const PublicKey& key) { return key.verify(signed_part, bytes); })) {
    return refuse("its signature is by none of the configured keys");
  }

  SKIFF_TRY(const auto claims, read_part(token.substr(first + 1, second - first - 1), "claims"));
  return read_claims(claims, audience, now);
}

}  // namespace skiff::runtime
