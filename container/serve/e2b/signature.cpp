#include "container/serve/e2b/signature.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/bytes/sha.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container::serve::e2b {
namespace {

bool has_expired(std::string_view text, WallTime now) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) return true;
  return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count() > seconds;
}

}  // namespace

bool may_be_signed(const protocol::HttpRequest& request, WallTime now) {
  constexpr std::size_t kLength = 46;  // v1_ and the base64 of 32 bytes
  const auto signature = request.target.parameter("signature");
  const auto expiration = request.target.parameter("signature_expiration");
  return signature && request.target.path == "/files" && signature->starts_with("v1_") &&
         signature->size() == kLength && !(expiration && has_expired(*expiration, now));
}

bool is_signed(const protocol::HttpRequest& request, std::string_view access_token, WallTime now) {
  const auto signature = request.target.parameter("signature");
  if (!may_be_signed(request, now)) return false;
  std::string text{request.target.parameter("path").value_or("")};
  text += request.method == "POST" ? ":write:" : ":read:";
  text += request.target.parameter("username").value_or("");
  text.append(":").append(access_token);
  const auto expiration = request.target.parameter("signature_expiration");
  if (expiration) text.append(":").append(*expiration);
  const Sha256::Digest digest = Sha256::of(text);
  std::string expected = protocol::encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (expected.ends_with('=')) expected.pop_back();
  // Compare digests, so that the time does not reveal how much of the signature is right.
  return Sha256::of("v1_" + expected) == Sha256::of(*signature);
}

}  // namespace skiff::container::serve::e2b
