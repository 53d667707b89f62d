#include "container/agent/egress_token.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

constexpr std::string_view kAudience = "egress";
/// No other header is taken, so a token cannot choose how it is checked.
constexpr std::string_view kHeader = R"({"alg":"EdDSA","typ":"JWT"})";
constexpr std::size_t kMostPems = std::size_t{64} << 10U;

}  // namespace

Result<std::string> sign_egress_token(const SigningKey& key, std::string_view sandbox_id, WallTime now) {
  const auto issued = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  const nlohmann::ordered_json claims{{"aud", kAudience}, {"sub", sandbox_id}, {"iat", std::int64_t{issued}}};
  std::string token = protocol::encode_base64url(kHeader);
  token.append(1, '.').append(protocol::encode_base64url(claims.dump()));
  SKIFF_TRY(const auto signature, key.sign(token));
  token.append(1, '.').append(protocol::encode_base64url(signature));
  return token;
}

Result<EgressKeys> EgressKeys::parse_pems(std::string_view pems) {
  if (pems.size() > kMostPems) return fail(Errc::invalid_field, "the public keys are too long");
  const std::unique_ptr<BIO, decltype(&BIO_free)> source{BIO_new_mem_buf(pems.data(), static_cast<int>(pems.size())),
                                                         &BIO_free};
  EgressKeys keys;
  while (source) {
    std::shared_ptr<void> key{PEM_read_bio_PUBKEY(source.get(), nullptr, nullptr, nullptr),
                              [](void* it) { EVP_PKEY_free(static_cast<EVP_PKEY*>(it)); }};
    if (!key) break;
    if (EVP_PKEY_get_id(static_cast<EVP_PKEY*>(key.get())) != EVP_PKEY_ED25519) {
      return fail(Errc::invalid_field, "a public key is not of Ed25519");
    }
    keys.keys_.push_back(std::move(key));
  }
  if (keys.keys_.empty()) return fail(Errc::invalid_field, "there is no public key");
  return keys;
}

bool EgressKeys::have_signed(std::string_view text, std::string_view signature) const {
  return std::ranges::any_of(keys_, [&](const std::shared_ptr<void>& key) {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
    return context &&
           EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, static_cast<EVP_PKEY*>(key.get())) == 1 &&
           EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  });
}

std::optional<std::string> EgressKeys::sandbox_of(std::string_view token) const {
  const std::size_t last = token.rfind('.');
  const std::string head = protocol::encode_base64url(kHeader) + '.';
  if (last == std::string_view::npos || last <= head.size() || !token.starts_with(head)) return std::nullopt;
  const auto signature = protocol::decode_base64url(token.substr(last + 1));
  if (!signature || !have_signed(token.substr(0, last), *signature)) return std::nullopt;
  const auto text = protocol::decode_base64url(token.substr(head.size(), last - head.size()));
  const auto claims = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json{};
  if (!claims.is_object() || !claims.contains("sub") || !claims["sub"].is_string()) return std::nullopt;
  if (!claims.contains("aud") || claims["aud"] != kAudience) return std::nullopt;
  auto sandbox = claims["sub"].get<std::string>();
  if (sandbox.empty()) return std::nullopt;
  return sandbox;
}

}  // namespace skiff::container
