#include "container/kube/auth/credentials.hpp"

#include <chrono>
#include <utility>

#include "base/small_file.hpp"
#include "protocol/http/parser.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::kube {
namespace {

/// The file is in memory (tmpfs), so reading is cheap; the kubelet replaces it after 80 % of the token's lifetime.
constexpr std::chrono::seconds kTokenFileAge{10};
/// Programs that renew certificates do so hours before they expire.
constexpr std::chrono::seconds kCertificateAge{60};
constexpr std::size_t kMostPemBytes = 1024 * 1024;
/// A credential is not sent in its last seconds: it must still be valid when it arrives.
constexpr std::chrono::seconds kExpiryMargin{5};
constexpr std::size_t kLongestToken = 64 * 1024;

/// Bytes that the name of a header cannot contain are percent-encoded
/// (kubernetes.io/docs/reference/access-authn-authz/authentication, "User impersonation").
std::string header_key(std::string_view key) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name;
  for (const char c : key) {
    if (c != '%' && protocol::is_token(std::string_view{&c, 1})) {
      name += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    name += '%';
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 15U];
  }
  return name;
}

}  // namespace

Credentials::Credentials(Executor executor, std::shared_ptr<BlockingPool> pool, const Access& access)
    : access_{access},
      pool_{std::move(pool)},
      ca_pem_{access.ca_pem},
      certificate_pem_{access.identity.certificate_pem},
      key_pem_{access.identity.key_pem},
      read_certificates_again_{std::chrono::steady_clock::now() + kCertificateAge},
      ran_{executor} {}

void Credentials::refused(unsigned edition) noexcept {
  read_again_ = {};
  read_certificates_again_ = {};
  if (edition == edition_) has_given_ = false;
}

/// If a file cannot be read or is incomplete, the values that were read before stay in use.
void Credentials::read_certificates() {
  const Identity& identity = access_.identity;
  const bool has_files = !access_.ca_file.empty() || !identity.certificate_file.empty() || !identity.key_file.empty();
  const SteadyTime now = std::chrono::steady_clock::now();
  if (!has_files || now < read_certificates_again_) return;
  read_certificates_again_ = now + kCertificateAge;
  const auto read = [](const std::string& file, const std::string& before) {
    if (file.empty()) return before;
    auto text = read_small_file(file, kMostPemBytes);
    return text && !text->empty() ? *text : before;
  };
  std::string ca = read(access_.ca_file, ca_pem_);
  std::string certificate = read(identity.certificate_file, certificate_pem_);
  std::string key = read(identity.key_file, key_pem_);
  if (ca == ca_pem_ && certificate == certificate_pem_ && key == key_pem_) return;
  if (!protocol::TlsContext::client({.ca_pem = ca, .certificate_pem = certificate, .key_pem = key})) return;
  ca_pem_ = std::move(ca);
  certificate_pem_ = std::move(certificate);
  key_pem_ = std::move(key);
}

void Credentials::read_token_file() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now < read_again_) return;
  auto text = read_small_file(access_.identity.token_file, kLongestToken);
  if (!text) {
    // The last token may be valid for a long time yet.
    token_error_ = std::move(text.error());
    return;
  }
  while (text->ends_with('\n') || text->ends_with('\r') || text->ends_with(' ')) text->pop_back();
  if (text->empty()) {
    token_error_ = {Errc::unauthenticated, "the token file \"" + access_.identity.token_file + "\" is empty"};
    return;
  }
  token_ = std::move(*text);
  read_again_ = now + kTokenFileAge;
}

bool Credentials::plugin_is_due() const {
  return !has_given_ || (given_.expires && wall_now() >= *given_.expires - kExpiryMargin);
}

Task<Result<>> Credentials::run_plugin() {
  if (running_) {
    while (running_) co_await ran_.wait();
    if (has_given_) co_return Result<>{};
    co_return std::unexpected{plugin_error_};
  }
  running_ = true;
  auto work = [this] { return run_exec_plugin(access_); };
  auto given = co_await pool_->run(std::move(work));
  running_ = false;
  ran_.notify_all();
  if (!given) {
    plugin_error_ = std::move(given.error());
    co_return std::unexpected{plugin_error_};
  }
  given_ = std::move(*given);
  ++edition_;
  has_given_ = true;
  co_return Result<>{};
}

/// The value of the Authorization header; empty when the client certificate authenticates the connection, or without
/// credentials.
Result<std::string> Credentials::authorization() const {
  const Identity& identity = access_.identity;
  if (!token_.empty()) return "Bearer " + token_;
  if (!identity.token.empty()) return "Bearer " + identity.token;
  if (!identity.token_file.empty()) return std::unexpected{token_error_};
  if (!given_.token.empty()) return "Bearer " + given_.token;
  if (!identity.username.empty()) {
    const std::string pair = identity.username + ":" + identity.password;
    return "Basic " + protocol::encode_base64(pair);
  }
  return std::string{};
}

Task<Result<Credential>> Credentials::get() {
  const Identity& identity = access_.identity;
  if (!identity.token_file.empty()) read_token_file();
  read_certificates();
  // A token in the configuration wins over a plugin, as in kubectl.
  const bool written_down = !identity.token.empty() || !identity.token_file.empty();
  if (identity.exec && !written_down && plugin_is_due()) {
    SKIFF_CO_TRY_VOID(co_await run_plugin());
  }
  auto value = authorization();
  if (!value) co_return std::unexpected{std::move(value.error())};
  Credential credential;
  if (!value->empty()) credential.headers.add("Authorization", *value);
  if (!identity.impersonate.empty()) {
    credential.headers.add("Impersonate-User", identity.impersonate);
    if (!identity.impersonate_uid.empty()) credential.headers.add("Impersonate-Uid", identity.impersonate_uid);
    for (const std::string& group : identity.impersonate_groups) credential.headers.add("Impersonate-Group", group);
    for (const auto& [key, values] : identity.impersonate_extra) {
      const std::string name = "Impersonate-Extra-" + header_key(key);
      for (const std::string& value : values) credential.headers.add(name, value);
    }
  }
  credential.edition = edition_;
  credential.ca_pem = ca_pem_;
  const bool from_plugin = !given_.certificate_pem.empty();
  credential.certificate_pem = from_plugin ? given_.certificate_pem : certificate_pem_;
  credential.key_pem = from_plugin ? given_.key_pem : key_pem_;
  co_return credential;
}

}  // namespace skiff::kube
