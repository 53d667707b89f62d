#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

/// The command lines of container engines: docker, podman, nerdctl.
namespace skiff::container::docker {

/// One call of an engine's command line.
struct EngineCall {
  std::vector<std::string> arguments;
  std::chrono::milliseconds limit{30'000};  ///< longest time that it may take
  UniqueFd input = {};                      ///< its standard input, from the start; none: /dev/null
  std::string temporary = {};               ///< directory for its temporary files; empty: the usual one
};

/// The output of a call that succeeded.
struct EngineOutput {
  std::string out;
  std::string err;
};

/// A program with docker's command line.
class Engine {
 public:
  explicit Engine(std::string program) : program_{std::move(program)} {}

  [[nodiscard]] const std::string& program() const noexcept { return program_; }
  /// True for nerdctl, which lacks flags that the others have.
  [[nodiscard]] bool is_nerdctl() const noexcept;

  /// Runs it to its end, with our environment without our own variables. A call that fails is an `io_error` with the
  /// end of what the engine said; `timeout` if it did not end in time; `not_found` if it is not installed. A call that
  /// is cancelled or late is ended first.
  [[nodiscard]] Task<Result<EngineOutput>> call(EngineCall call) const;

  /// The program and its environment, for a call that lasts.
  [[nodiscard]] std::vector<std::string> command_line(std::vector<std::string> arguments) const;
  /// `temporary`: value of TMPDIR; empty: ours.
  [[nodiscard]] static std::vector<std::string> environment(std::string_view temporary = {});

 private:
  std::string program_;
};

/// The engines that this machine may have: $SKIFF_ENGINE alone, else docker, podman and nerdctl.
[[nodiscard]] std::vector<Engine> known_engines();

/// The first of them whose `version` answers. If none does, a `sandbox_failed` error (no_engine) says why, with what
/// each of them said.
[[nodiscard]] Task<Result<Engine>> find_engine();

/// True if the engine says that there is no such container.
[[nodiscard]] bool says_no_such_container(const Error& error);
/// True if the engine says that it has no such image and could not fetch it.
[[nodiscard]] bool says_no_such_image(const Error& error);

/// An anonymous file with this content, at its start.
[[nodiscard]] Result<UniqueFd> file_of(std::string_view content);

}  // namespace skiff::container::docker
