#pragma once

#include <memory>
#include <string>

#include "base/bytes/sha.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// A server's context that can read its files again while it serves: new connections use the new certificate, open ones
/// continue. Reactor thread only.
class ReloadableTls final : public TlsContext {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ReloadableTls>> open(TlsServerSettings settings);

  enum class Outcome : unsigned char { unchanged, changed };
  /// Reads the files again. Errors: those of `TlsContext::server`, once for the same content; the old context then
  /// stays.
  [[nodiscard]] Result<Outcome> reload();

  [[nodiscard]] Result<std::unique_ptr<TlsSession>> session(int socket, const std::string& server_name) override {
    return current_->session(socket, server_name);
  }

 private:
  ReloadableTls(TlsServerSettings settings, std::shared_ptr<TlsContext> context, Sha256::Digest seen)
      : settings_{std::move(settings)}, current_{std::move(context)}, seen_{seen} {}

  TlsServerSettings settings_;
  std::shared_ptr<TlsContext> current_;
  Sha256::Digest seen_;  ///< digest of both files at the last check
};

}  // namespace skiff::protocol
