#include "container/serve/keys/credential.hpp"

#include <algorithm>
#include <string_view>

namespace skiff::container::serve {
namespace {

constexpr std::string_view kBearer = "Bearer";
constexpr std::string_view kAroundBearer = " \t";

/// The bearer token of an Authorization field, without the blanks around it.
std::string_view bearer_of(std::string_view authorization) {
  authorization.remove_prefix(std::min(authorization.find_first_not_of(kAroundBearer), authorization.size()));
  if (!protocol::same_text(authorization.substr(0, kBearer.size()), kBearer)) return {};
  authorization.remove_prefix(kBearer.size());
  const std::size_t begin = authorization.find_first_not_of(kAroundBearer);
  if (begin == 0 || begin == std::string_view::npos) return {};
  authorization.remove_prefix(begin);
  return authorization.substr(0, authorization.find_last_not_of(kAroundBearer) + 1);
}

}  // namespace

Result<std::string> key_field(const protocol::Headers& headers) {
  constexpr std::string_view kField = "X-API-Key";
  if (headers.count(kField) > 1) return fail(Errc::invalid_request, "X-API-Key is repeated");
  return std::string{headers.get(kField)};
}

std::string bearer_key(const protocol::Headers& headers) {
  return std::string{bearer_of(headers.get("Authorization"))};
}

Result<std::string> presented_key(const protocol::Headers& headers) {
  SKIFF_TRY(auto key, key_field(headers));
  auto bearer = bearer_key(headers);
  if (bearer.empty()) return key;
  if (!key.empty() && key != bearer) {
    return fail(Errc::unauthenticated, "X-API-Key and Authorization contain different keys");
  }
  return bearer;
}

}  // namespace skiff::container::serve
