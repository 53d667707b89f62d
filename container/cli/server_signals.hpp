#pragma once

#include <csignal>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "container/cli/context.hpp"
#include "container/cli/signals.hpp"
#include "container/serve/audit.hpp"

namespace skiff::container {

/// The first signal asks the server to stop; further ones end it at once, like any command. SIGHUP opens the audit log
/// again.
class ServerSignals {
 public:
  /// `audit` may be null; both must outlive it.
  explicit ServerSignals(Context& context, serve::AuditLog* audit = nullptr)
      : signals_{context.signals()}, asked_{context.executor()}, audit_{audit} {
    signals_.relay_to([this](int signal) {
      if (signal == SIGHUP && audit_ != nullptr) audit_->reopen();
      if (signal != SIGTERM && signal != SIGINT) return;
      if (is_asked_) signals_.interrupt(signal);
      is_asked_ = true;
      asked_.notify_all();
    });
  }
  ~ServerSignals() { signals_.relay_to({}); }
  ServerSignals(const ServerSignals&) = delete;
  ServerSignals& operator=(const ServerSignals&) = delete;

  Task<> asked() {
    while (!is_asked_) co_await asked_.wait();
  }

 private:
  Signals& signals_;
  Event asked_;
  serve::AuditLog* audit_;
  bool is_asked_ = false;
};

}  // namespace skiff::container
