#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "protocol/json/base64.hpp"
#include "runtime/auth/browser_guard.hpp"
#include "runtime/auth/credentials.hpp"
#include "runtime/auth/jwt.hpp"

/// What a stranger sends before anybody knows who it is. The first byte picks: a token as it came; header and claims
/// (split at the first line end) that are then really signed, so that what is behind the signature is reached; the
/// header fields.
namespace {

namespace runtime = skiff::runtime;
using skiff::protocol::encode_base64url;

constexpr skiff::WallTime kNow{std::chrono::seconds{1'800'000'000}};

void require(bool holds) {
  if (!holds) std::abort();
}

/// A key pair made from a constant: runs repeat.
struct Issuer {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{nullptr, &EVP_PKEY_free};
  std::vector<runtime::PublicKey> keys;

  Issuer() {
    const std::array<unsigned char, 32> seed{1, 2, 3};
    key.reset(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
    std::string der{"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12};
    std::array<unsigned char, 32> raw{};
    std::size_t size = raw.size();
    require(EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &size) == 1);
    der.append(reinterpret_cast<const char*>(raw.data()), size);
    const std::string pem =
        "-----BEGIN PUBLIC KEY-----\n" + skiff::protocol::encode_base64(der) + "\n-----END PUBLIC KEY-----\n";
    keys = runtime::PublicKey::parse_pem(pem).value();
  }

  [[nodiscard]] std::string sign(std::string_view header, std::string_view claims) const {
    const std::string text = encode_base64url(header) + "." + encode_base64url(claims);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
    std::array<unsigned char, 64> signature{};
    std::size_t size = signature.size();
    require(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
    require(EVP_DigestSign(context.get(), signature.data(), &size, reinterpret_cast<const unsigned char*>(text.data()),
                           text.size()) == 1);
    return text + "." + encode_base64url({reinterpret_cast<const char*>(signature.data()), size});
  }
};

void check_token(const Issuer& issuer, std::string_view token) {
  const auto claims = runtime::verify_jwt(token, issuer.keys, "box-1", kNow);
  if (!claims) {
    require(claims.error().code == skiff::Errc::unauthenticated);
    return;
  }
  require(claims->expires > kNow);
  require(claims->not_before <= kNow);
  // Once it has expired the same token is refused.
  require(!runtime::verify_jwt(token, issuer.keys, "box-1", claims->expires));
}

void check_headers(std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string_view first = text.substr(0, end);
  const std::string_view rest = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  const auto token = runtime::presented_token({first, std::nullopt, rest});
  require(!token || !*token || runtime::is_token_form(**token));

  static const runtime::BrowserGuard guard =
      runtime::BrowserGuard::create({"*.example"}, {"https://app.example"}).value();
  const auto local = boost::asio::ip::make_address("10.0.0.1");
  static_cast<void>(guard.check_host(first, local));
  if (guard.check_origin(first, "http", rest)) require(first != "null");
  static_cast<void>(runtime::parse_token_file(text));
  static_cast<void>(runtime::PublicKey::parse_pem(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Issuer issuer;
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data + 1), size - 1};
  switch (data[0] % 3) {
    case 0:
      check_token(issuer, text);
      break;
    case 1: {
      const std::size_t end = text.find('\n');
      const bool has_header = end != std::string_view::npos;
      check_token(issuer, issuer.sign(has_header ? text.substr(0, end) : R"({"alg":"EdDSA"})",
                                      has_header ? text.substr(end + 1) : text));
      break;
    }
    default:
      check_headers(text);
  }
  return 0;
}
