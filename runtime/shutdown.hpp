#pragma once

#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "runtime/last_word.hpp"
#include "sessions/live_commands.hpp"

namespace skiff::runtime {

/// The end of the agent: its cause, its reason, and how far it is. Reactor thread only.
class Shutdown {
 public:
  /// `live` counts the commands for the log. All arguments must outlive this.
  Shutdown(Executor on, const sessions::LiveCommands& live, const std::string& termination_log)
      : live_{live}, termination_log_{termination_log}, asked_{on}, drain_begun_{on} {}

  /// Asks for the agent's end. The first cause counts; `why` is for people. Returns false if the agent is already
  /// stopping.
  bool ask(EndCause cause, std::string_view why);
  /// Stops the agent because it cannot go on; the process exits with status 1.
  void fail(std::string_view why);
  /// Returns when the end was asked for.
  [[nodiscard]] Task<> asked();
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// True when the agent stops because its lease or its idle time is over.
  [[nodiscard]] bool outlived() const noexcept { return is_asked_ && cause_ == EndCause::lease; }

  /// From now on no new work begins, and /readyz answers 503.
  void begin_drain();
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] Task<> drain_begun();

  /// Writes the reason for the end to the termination log; call it last.
  void say_last_word() const noexcept { write_last_word(termination_log_, cause_, why_); }

 private:
  const sessions::LiveCommands& live_;
  const std::string& termination_log_;
  Event asked_;
  Event drain_begun_;
  bool is_asked_ = false;
  bool failed_ = false;
  bool draining_ = false;
  EndCause cause_ = EndCause::failure;
  std::string why_;
};

}  // namespace skiff::runtime
