#include "container/sandbox/bring_up.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/agent/client.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

/// Longest part of the setup's output in a message: its end says why it failed.
constexpr std::size_t kShownOutput = 2000;

Task<Result<>> run_setup(Driver* driver, std::string name, std::string setup) {
  SKIFF_CO_TRY(auto endpoint, co_await driver->endpoint(name, {.scope = "read exec"}));
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(endpoint)};
  std::string body = nlohmann::json{{"command", std::move(setup)}, {"output", {{"merge_stderr", true}}}}.dump();
  SKIFF_CO_TRY(auto done, co_await agent.post("/v1/commands", std::move(body)));
  AgentAnswer result{done, "the result of a command"};
  const auto exit_code = result.number("exit_code");
  const std::string cause = result.text("cause");
  std::string said = result.bytes("stdout");
  SKIFF_CO_TRY_VOID(result.check());
  if (exit_code == 0U) co_return Result<>{};
  if (said.size() > kShownOutput) {
    // Do not begin in the middle of a character.
    std::size_t begin = said.size() - kShownOutput;
    while (begin < said.size() && (static_cast<unsigned char>(said[begin]) & 0xC0U) == 0x80U) ++begin;
    said = "..." + said.substr(begin);
  }
  co_return std::unexpected{bring_up_failure(FailureReason::exited, "the setup failed (" + cause + "):\n" + said)};
}

/// The options of the request that the existing sandbox does not fulfil, as far as its description shows them. Options
/// that were not given are not compared.
std::vector<std::string> differences(const SandboxSpec& wanted, const Sandbox& found) {
  std::vector<std::string> all;
  if (!wanted.image.empty() && !found.image.empty() && wanted.image != found.image) {
    all.push_back("its image is " + found.image + ", not " + wanted.image);
  }
  for (const auto& [name, value] : wanted.labels) {
    const auto there = found.labels.find(name);
    if (there == found.labels.end()) all.push_back("it has no label " + name);
    if (there != found.labels.end() && there->second != value) {
      all.push_back(
          std::string{"its label "}.append(name).append(" is ").append(there->second).append(", not ").append(value));
    }
  }
  if (wanted.lease.ttl && !found.expires_at) {
    all.push_back("its lease has no end: `skiff extend " + found.name + "` gives it one");
  }
  return all;
}

/// The sandbox that this call has created, from the moment on from which it has to be removed if the call fails.
using Created = std::optional<Sandbox>;

Task<Result<BroughtUp>> create_and_set_up(Driver* driver, BringUp wanted, Progress progress, Created* created) {
  const std::string name = wanted.spec.name;
  const auto wait = wanted.spec.wait;
  const SandboxSpec request = wanted.get_or_create ? wanted.spec : SandboxSpec{.name = name};
  auto made = co_await driver->create(std::move(wanted.spec), progress);
  if (!made && made.error().code == Errc::sandbox_conflict && wanted.get_or_create) {
    made = co_await driver->start(name, wait, progress);
    if (!made) co_return std::unexpected{std::move(made.error())};
    BroughtUp up{.sandbox = std::move(*made), .is_new = false};
    up.differences = differences(request, up.sandbox);
    if (!up.sandbox.reason.empty()) up.differences.push_back(up.sandbox.reason);
    co_return up;
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  // An interrupt that came with the end of the creation ends the next wait.
  *created = *made;
  if (!wanted.setup.empty()) {
    progress(Phase::starting, "setup");
    SKIFF_CO_TRY_VOID(co_await run_setup(driver, name, std::move(wanted.setup)));
    progress(Phase::ready, "");
  }
  co_return BroughtUp{.sandbox = std::move(*made), .is_new = true};
}

}  // namespace

Result<> check_mount(const SandboxSpec& spec, const Driver& driver) {
  if (driver.name() == "box") return {};
  if (!spec.exposed.empty()) {
    return fail(Errc::invalid_field,
                "--expose shows a directory of this machine to a sandbox of the driver box; with --driver " +
                    std::string{driver.name()} + " use an image that has the tools",
                "--expose");
  }
  const bool is_pod = driver.name() == "pod";
  if (!spec.egress_secrets.empty() && !is_pod) {
    return fail(Errc::invalid_field,
                "--egress-secret gives a secret to the proxy of a sandbox of the drivers box and pod: with --driver " +
                    std::string{driver.name()} + " this version has no such secrets",
                "--egress-secret");
  }
  if (spec.has_egress() && !is_pod) {
    return fail(Errc::invalid_field,
                "--egress opens names to a sandbox of the drivers box and pod: with --driver " +
                    std::string{driver.name()} + " no sandbox has egress by name in this version",
                "--egress");
  }
  if (spec.pids != 0) {
    return fail(Errc::invalid_field,
                "--pids limits the processes of a sandbox of the driver box: with --driver " +
                    std::string{driver.name()} + " the cluster or the engine limits them",
                "--pids");
  }
  if (spec.mount.empty()) return {};
  return fail(Errc::invalid_field,
              "--mount brings a directory of this machine into a sandbox of the driver box: with --driver " +
                  std::string{driver.name()} + " use skiff cp DIR NAME:, or --volume SIZE:PATH for a disk of a cluster",
              "--mount");
}

Task<Result<BroughtUp>> bring_up(Driver* driver, BringUp wanted, Progress progress) {
  SKIFF_CO_TRY_VOID(check_mount(wanted.spec, *driver));
  Created created;
  const auto undo = [&](this auto, std::chrono::milliseconds patience) -> Task<Result<bool>> {
    if (!created) co_return true;
    co_return co_await remove_in_haste(driver, created->name, created->id, patience);
  };
  // No creation can take effect late: drivers undo their own.
  co_return co_await undo_unless(create_and_set_up(driver, std::move(wanted), std::move(progress), &created), undo,
                                 std::chrono::milliseconds{0});
}

}  // namespace skiff::container
