#include "container/serve/credential.hpp"

#include <string_view>

namespace skiff::container::serve {
namespace {

constexpr std::string_view kBearer = "Bearer ";

}  // namespace

Result<std::string> key_field(const protocol::Headers& headers) {
  constexpr std::string_view kField = "X-API-Key";
  if (headers.count(kField) > 1) return fail(Errc::invalid_request, "X-API-Key is repeated");
  return std::string{headers.get(kField)};
}

Result<std::string> presented_key(const protocol::Headers& headers) {
  SKIFF_TRY(auto key, key_field(headers));
  const std::string_view authorization = headers.get("Authorization");
  if (authorization.size() <= kBearer.size() ||
      !protocol::same_text(authorization.substr(0, kBearer.size()), kBearer)) {
    return key;
  }
  const std::string_view bearer = authorization.substr(kBearer.size());
  if (!key.empty() && key != bearer) {
    return fail(Errc::unauthenticated, "X-API-Key and Authorization show two different keys");
  }
  return std::string{bearer};
}

}  // namespace skiff::container::serve
