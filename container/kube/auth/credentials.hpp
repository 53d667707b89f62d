#pragma once

#include <memory>
#include <string>

#include "base/async/blocking_pool.hpp"
#include "base/async/event.hpp"
#include "base/clock.hpp"
#include "container/kube/auth/access.hpp"
#include "container/kube/auth/exec_plugin.hpp"
#include "protocol/http/message.hpp"

namespace skiff::kube {

/// The credentials of one request.
struct Credential {
  protocol::Headers headers;  ///< Authorization and Impersonate-*, or none
  std::string ca_pem;         ///< the authorities to trust now
  std::string certificate_pem;
  std::string key_pem;
  unsigned edition = 0;  ///< changes when the plugin has given a new credential
};

/// Keeps the credentials of one cluster valid. It reads the token file (the kubelet replaces a projected token long
/// before it expires) and the files with certificates again, and runs the plugin again when its credential expires or
/// is refused. Reactor thread only; it must outlive the calls on it.
class Credentials {
 public:
  /// `access` must outlive it.
  Credentials(Executor executor, std::shared_ptr<BlockingPool> pool, const Access& access);

  /// The credential to send now. Callers that come while the plugin runs wait for that run.
  [[nodiscard]] Task<Result<Credential>> get();

  /// Reports that the cluster answered 401 to a request with this edition: the next `get` reads the files again, and
  /// runs the plugin again unless its credential was replaced meanwhile.
  void refused(unsigned edition) noexcept;

 private:
  void read_token_file();
  void read_certificates();
  [[nodiscard]] bool plugin_is_due() const;
  [[nodiscard]] Task<Result<>> run_plugin();
  [[nodiscard]] Result<std::string> authorization() const;

  const Access& access_;
  std::shared_ptr<BlockingPool> pool_;
  std::string token_;  ///< token from the file
  Error token_error_;  ///< why the last attempt to read the file failed
  SteadyTime read_again_{};
  std::string ca_pem_;
  std::string certificate_pem_;
  std::string key_pem_;
  SteadyTime read_certificates_again_;
  ExecCredential given_;  ///< credential from the plugin
  bool has_given_ = false;
  unsigned edition_ = 0;
  Error plugin_error_;  ///< error of the plugin's last failed run
  bool running_ = false;
  Event ran_;
};

}  // namespace skiff::kube
