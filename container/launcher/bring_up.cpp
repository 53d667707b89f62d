#include "container/launcher/bring_up.hpp"

#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/launcher/agent_client.hpp"

namespace skiff::container {
namespace {

/// Of the setup's output in a message: its end says why it failed.
constexpr std::size_t kShownOutput = 2000;

Task<Result<>> run_setup(Driver* driver, std::string name, std::string setup) {
  auto endpoint = co_await driver->endpoint(name, {});
  if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
  AgentClient agent{co_await boost::asio::this_coro::executor, std::move(*endpoint)};
  std::string body = nlohmann::json{{"command", std::move(setup)}, {"output", {{"merge_stderr", true}}}}.dump();
  auto done = co_await agent.post("/v1/commands", std::move(body));
  if (!done) co_return std::unexpected{std::move(done.error())};
  if (done->value("exit_code", nlohmann::json{}) == 0) co_return Result<>{};
  std::string said = done->value("stdout", "");
  if (said.size() > kShownOutput) said = "..." + said.substr(said.size() - kShownOutput);
  co_return std::unexpected{
      bring_up_failure(FailureReason::exited, "the setup failed (" + done->value("cause", "") + "):\n" + said)};
}

}  // namespace

Task<Result<BroughtUp>> bring_up(Driver* driver, BringUp wanted, Progress progress) {
  const std::string name = wanted.spec.name;
  const auto wait = wanted.spec.wait;
  auto made = co_await driver->create(std::move(wanted.spec), progress);
  if (!made && made.error().code == Errc::sandbox_conflict && wanted.get_or_create) {
    made = co_await driver->start(name, wait, progress);
    if (!made) co_return std::unexpected{std::move(made.error())};
    co_return BroughtUp{.sandbox = std::move(*made), .is_new = false};
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  if (wanted.setup.empty()) co_return BroughtUp{.sandbox = std::move(*made), .is_new = true};
  progress(Phase::starting, "setup");
  Result<> ready;
  std::exception_ptr failure;
  try {
    ready = co_await run_setup(driver, name, std::move(wanted.setup));
  } catch (...) {
    failure = std::current_exception();
  }
  if (ready && !failure) {
    progress(Phase::ready, "");
    co_return BroughtUp{.sandbox = std::move(*made), .is_new = true};
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  (void)co_await driver->remove(name);
  if (failure) std::rethrow_exception(failure);
  co_return std::unexpected{std::move(ready.error())};
}

}  // namespace skiff::container
