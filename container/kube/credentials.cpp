#include "container/kube/credentials.hpp"

#include <chrono>
#include <utility>

#include "base/small_file.hpp"
#include "protocol/base64.hpp"
#include "protocol/http_parser.hpp"

namespace skiff::kube {
namespace {

/// The file is in memory (tmpfs), so looking is cheap; the kubelet replaces it when 80 % of its life are over.
constexpr std::chrono::seconds kTokenFileAge{10};
/// A credential is not sent in its last moments: it has to arrive, too.
constexpr std::chrono::seconds kExpiryMargin{5};
constexpr std::size_t kLongestToken = 64 * 1024;

/// Bytes that a header's name can't hold are written as in a URL (kubernetes.io/docs/reference/access-authn-authz/
/// authentication, "User impersonation").
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
    : access_{access}, pool_{std::move(pool)}, ran_{executor} {}

void Credentials::refused() noexcept {
  read_again_ = {};
  has_given_ = false;
}

void Credentials::read_token_file() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now < read_again_) return;
  auto text = read_small_file(access_.identity.token_file, kLongestToken);
  if (!text) {
    // The last one may be good for long yet.
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
  has_given_ = true;
  co_return Result<>{};
}

/// The value of the header; empty when the connection's certificate says who it is, or nobody does.
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
  // A token that is written down wins over a plugin, as in kubectl.
  const bool written_down = !identity.token.empty() || !identity.token_file.empty();
  if (identity.exec && !written_down && plugin_is_due()) {
    if (auto ran = co_await run_plugin(); !ran) co_return std::unexpected{std::move(ran.error())};
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
  const bool from_plugin = !given_.certificate_pem.empty();
  credential.certificate_pem = from_plugin ? given_.certificate_pem : identity.certificate_pem;
  credential.key_pem = from_plugin ? given_.key_pem : identity.key_pem;
  co_return credential;
}

}  // namespace skiff::kube
