#include "protocol/net/tls_reload.hpp"

#include <openssl/crypto.h>

#include <fstream>
#include <iterator>
#include <utility>

namespace skiff::protocol {
namespace {

/// Returns the digest of both files; an unreadable file counts as empty.
Sha256::Digest digest_of(const TlsServerSettings& settings) {
  Sha256 digest;
  for (const std::string& path : {settings.certificate_file, settings.key_file}) {
    std::ifstream file{path, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{file}, {}};
    digest.add(std::to_string(text.size()) + ':');
    digest.add(text);
    OPENSSL_cleanse(text.data(), text.size());
  }
  return digest.digest();
}

}  // namespace

Result<std::shared_ptr<ReloadableTls>> ReloadableTls::open(TlsServerSettings settings) {
  const Sha256::Digest seen = digest_of(settings);
  SKIFF_TRY(auto context, TlsContext::server(settings));
  return std::shared_ptr<ReloadableTls>{new ReloadableTls{std::move(settings), std::move(context), seen}};
}

Result<ReloadableTls::Outcome> ReloadableTls::reload() {
  const Sha256::Digest now = digest_of(settings_);
  if (now == seen_) return Outcome::unchanged;
  seen_ = now;
  SKIFF_TRY(current_, TlsContext::server(settings_));
  return Outcome::changed;
}

}  // namespace skiff::protocol
