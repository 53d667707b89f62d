#pragma once

#include <memory>
#include <string>

#include "base/sha.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// A server's context whose files can be read again while it serves: connections that begin afterwards use the new
/// certificate, those that are open go on. Reactor thread only.
class ReloadableTls final : public TlsContext {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ReloadableTls>> open(TlsServerSettings settings);

  enum class Outcome : unsigned char { unchanged, changed };
  /// Takes the files as they are now. Errors: that of `TlsContext::server`, once for the same content; the context from
  /// before stays.
  [[nodiscard]] Result<Outcome> reload();

  [[nodiscard]] Result<std::unique_ptr<TlsSession>> session(int socket, const std::string& server_name) override {
    return current_->session(socket, server_name);
  }

 private:
  ReloadableTls(TlsServerSettings settings, std::shared_ptr<TlsContext> context, Sha256::Digest seen)
      : settings_{std::move(settings)}, current_{std::move(context)}, seen_{seen} {}

  TlsServerSettings settings_;
  std::shared_ptr<TlsContext> current_;
  Sha256::Digest seen_;  ///< of both files, when they were last looked at
};

}  // namespace skiff::protocol
