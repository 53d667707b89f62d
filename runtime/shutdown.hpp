#pragma once

#include <string>
#include <string_view>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "runtime/last_word.hpp"
#include "sessions/live_commands.hpp"

namespace skiff::runtime {

/// The agent's end: who asked for it, why, and how far it is. Reactor thread only.
class Shutdown {
 public:
  /// `live` are the commands that the log counts; both arguments outlive this.
  Shutdown(Executor on, const sessions::LiveCommands& live, const std::string& termination_log)
      : live_{live}, termination_log_{termination_log}, asked_{on}, drain_begun_{on} {}

  /// Asks for the agent's end. The first cause counts, and `why` is for people; false: it ends already.
  bool ask(EndCause cause, std::string_view why);
  /// The same because it can't go on: the process ends with a status that says so.
  void fail(std::string_view why);
  /// Ends when somebody has asked.
  [[nodiscard]] Task<> asked();
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// The lease or the idle time is over.
  [[nodiscard]] bool outlived() const noexcept { return is_asked_ && cause_ == EndCause::lease; }

  /// From now on nothing new begins and /readyz says 503.
  void begin_drain();
  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] Task<> drain_begun();

  /// Writes down why it ends, where somebody wants to know; call it last of all.
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
