#pragma once

#include <memory>
#include <string>

#include "base/blocking_pool.hpp"
#include "base/clock.hpp"
#include "base/event.hpp"
#include "container/kube/auth/access.hpp"
#include "container/kube/auth/exec_plugin.hpp"
#include "protocol/http/message.hpp"

namespace skiff::kube {

/// What one request goes out with.
struct Credential {
  protocol::Headers headers;  ///< Authorization and Impersonate-*, or none
  std::string ca_pem;         ///< whom to trust, now
  std::string certificate_pem;
  std::string key_pem;
  unsigned edition = 0;  ///< changes with what a plugin gives
};

/// Keeps the credentials of one cluster good: reads a token file again (the kubelet replaces a projected token long
/// before it expires), files with certificates, and runs the plugin again when what it gave expires or is refused.
/// Reactor thread only; it must outlive the calls on it.
class Credentials {
 public:
  /// `access` must outlive it.
  Credentials(Executor executor, std::shared_ptr<BlockingPool> pool, const Access& access);

  /// What to send now. Callers that come while the plugin runs wait for the same run.
  [[nodiscard]] Task<Result<Credential>> get();

  /// The cluster answered 401 to what went out with this edition: what can be had anew is had anew at the next `get`.
  /// Of an answer that comes late, when others have had it anew already, nothing follows.
  void refused(unsigned edition) noexcept;

 private:
  void read_token_file();
  void read_certificates();
  [[nodiscard]] bool plugin_is_due() const;
  [[nodiscard]] Task<Result<>> run_plugin();
  [[nodiscard]] Result<std::string> authorization() const;

  const Access& access_;
  std::shared_ptr<BlockingPool> pool_;
  std::string token_;  ///< of the file
  Error token_error_;  ///< why it could not be read the last time
  SteadyTime read_again_{};
  std::string ca_pem_;
  std::string certificate_pem_;
  std::string key_pem_;
  SteadyTime read_certificates_again_;
  ExecCredential given_;  ///< by the plugin
  bool has_given_ = false;
  unsigned edition_ = 0;
  Error plugin_error_;  ///< of its last run that failed
  bool running_ = false;
  Event ran_;
};

}  // namespace skiff::kube
