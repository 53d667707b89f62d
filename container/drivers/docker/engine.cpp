#include "container/drivers/docker/engine.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/async/finally.hpp"
#include "container/host/agent.hpp"
#include "container/host/host_process.hpp"
#include "container/sandbox/progress.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container::docker {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kEngineVariable = "SKIFF_ENGINE";
constexpr std::array<std::string_view, 3> kEngines{"docker", "podman", "nerdctl"};
constexpr milliseconds kVersionPatience{10'000};
/// Time between SIGTERM and SIGKILL for a call that is late or is not needed any more.
constexpr milliseconds kCallGrace{2'000};
/// Longest output of a call that is read.
constexpr std::size_t kMostOutput = std::size_t{4} << 20U;

/// The program in $SKIFF_ENGINE; empty: none is named.
std::string named_engine() {
  const char* const named = std::getenv(kEngineVariable.data());
  return named == nullptr ? std::string{} : std::string{named};
}

Result<UniqueFd> anonymous_file() {
  UniqueFd file{::memfd_create("skiff", MFD_CLOEXEC)};
  if (!file) return std::unexpected{system_error(errno, "create an anonymous file")};
  return file;
}

std::string content_of(int file) {
  std::string text;
  std::array<char, std::size_t{16} << 10U> piece{};
  while (text.size() < kMostOutput) {
    const ssize_t got = ::pread(file, piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// How the child ended, for people: "it ended with status 125".
std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "it was killed by signal " + std::to_string(WTERMSIG(status));
  return "it ended with status " + std::to_string(WEXITSTATUS(status));
}

/// One call whose child was started.
struct Running {
  HostProcess process;
  UniqueFd out;
  UniqueFd err;
};

Result<Running> start_call(const Engine& engine, const EngineCall& call) {
  Running running;
  SKIFF_TRY(running.out, anonymous_file());
  SKIFF_TRY(running.err, anonymous_file());
  const auto pid = spawn({.argv = engine.command_line(call.arguments),
                          .environment = Engine::environment(call.temporary),
                          .input = call.input.get(),
                          .output = running.out.get(),
                          .errors = running.err.get(),
                          .is_daemon = true});
  if (!pid && pid.error() == ENOENT) return fail(Errc::not_found, engine.program() + " is not installed");
  if (!pid) return std::unexpected{system_error(pid.error(), "start " + engine.program())};
  running.process = process_or_ended(*pid);
  return running;
}

}  // namespace

bool Engine::is_nerdctl() const noexcept {
  std::string_view name{program_};
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return name.starts_with("nerdctl");
}

std::vector<std::string> Engine::command_line(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), program_);
  return arguments;
}

std::vector<std::string> Engine::environment(std::string_view temporary) {
  std::vector<std::string> kept;
  if (!temporary.empty()) kept.push_back(std::string{"TMPDIR="}.append(temporary));
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view variable{*entry};
    if (!temporary.empty() && variable.starts_with("TMPDIR=")) continue;
    if (!variable.starts_with("SKIFF_")) kept.emplace_back(variable);
  }
  return kept;
}

Task<Result<EngineOutput>> Engine::call(EngineCall call) const {
  const std::string shown = program_ + " " + (call.arguments.empty() ? std::string{} : call.arguments.front());
  std::optional<Running> running;
  std::optional<int> status;
  auto run = [&](this auto) -> Task<Result<>> {
    SKIFF_CO_TRY(running, start_call(*this, call));
    status = co_await child_end(running->process, call.limit);
    co_return Result<>{};
  };
  SKIFF_CO_TRY_VOID(co_await finally(std::move(run), [&](this auto) -> Task<> {
    if (running && !status) (void)co_await end_process(running->process, kCallGrace);
  }));
  if (!status) {
    co_return fail(Errc::timeout,
                   "`" + shown + "` did not end within " + std::to_string(call.limit.count() / 1000) + " s");
  }
  EngineOutput output{.out = content_of(running->out.get()), .err = content_of(running->err.get())};
  if (*status == 0) co_return output;
  std::string said = last_lines(protocol::to_valid_utf8(output.err.empty() ? output.out : output.err));
  if (said.empty()) said = how_it_ended(*status);
  co_return fail(Errc::io_error, "`" + shown + "` failed: " + said);
}

std::vector<Engine> known_engines() {
  if (const std::string named = named_engine(); !named.empty()) return {Engine{named}};
  std::vector<Engine> engines;
  for (const std::string_view program : kEngines) engines.emplace_back(std::string{program});
  return engines;
}

Task<Result<Engine>> find_engine() {
  std::string why;
  for (Engine& engine : known_engines()) {
    auto answer = co_await engine.call({.arguments = {"version"}, .limit = kVersionPatience});
    if (answer) co_return std::move(engine);
    why.append("\n  ").append(answer.error().message);
  }
  const std::string named = named_engine();
  const std::string which =
      named.empty() ? "docker, podman or nerdctl" : std::string{kEngineVariable}.append("=").append(named);
  co_return std::unexpected{
      bring_up_failure(FailureReason::no_engine, "no container engine answers (" + which + "):" + why)};
}

bool says_no_such_container(const Error& error) {
  return lower(error.message).contains("no such container");
}

bool says_no_such_image(const Error& error) {
  const std::string text = lower(error.message);
  return std::ranges::any_of(
      std::array{"unable to find image", "no such image", "pull access denied", "initializing source",
                 "image not known", "manifest unknown", "failed to resolve reference", "pinging container registry",
                 "short-name", "invalid reference format"},
      [&text](const char* sign) { return text.contains(sign); });
}

Result<UniqueFd> file_of(std::string_view content) {
  SKIFF_TRY(auto file, anonymous_file());
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected{system_error(errno, "write an anonymous file")};
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return std::unexpected{system_error(errno, "rewind an anonymous file")};
  return file;
}

}  // namespace skiff::container::docker
