#pragma once

#include <memory>
#include <string>

#include "base/blocking_pool.hpp"
#include "base/clock.hpp"
#include "base/event.hpp"
#include "container/kube/access.hpp"
#include "container/kube/exec_plugin.hpp"
#include "protocol/http_message.hpp"

namespace skiff::kube {

/// What one request goes out with.
struct Credential {
  protocol::Headers headers;  ///< Authorization and Impersonate-*, or none
  std::string certificate_pem;
  std::string key_pem;
};

/// Keeps the credentials of one cluster good: reads a token file again (the kubelet replaces a projected token long
/// before it expires), and runs the plugin again when what it gave expires or is refused. Reactor thread only; it must
/// outlive the calls on it.
class Credentials {
 public:
  /// `access` must outlive it.
  Credentials(Executor executor, std::shared_ptr<BlockingPool> pool, const Access& access);

  /// What to send now. Callers that come while the plugin runs wait for the same run.
  [[nodiscard]] Task<Result<Credential>> get();

  /// The cluster answered 401: what can be had anew is had anew at the next `get`.
  void refused() noexcept;

 private:
  void read_token_file();
  [[nodiscard]] bool plugin_is_due() const;
  [[nodiscard]] Task<Result<>> run_plugin();
  [[nodiscard]] Result<std::string> authorization() const;

  const Access& access_;
  std::shared_ptr<BlockingPool> pool_;
  std::string token_;  ///< of the file
  Error token_error_;  ///< why it could not be read the last time
  SteadyTime read_again_{};
  ExecCredential given_;  ///< by the plugin
  bool has_given_ = false;
  Error plugin_error_;  ///< of its last run that failed
  bool running_ = false;
  Event ran_;
};

}  // namespace skiff::kube
