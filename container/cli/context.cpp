#include "container/cli/context.hpp"

#include <unistd.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/output.hpp"
#include "container/cli/terminal.hpp"
#include "container/launcher/local_driver.hpp"
#include "container/launcher/traced_driver.hpp"

namespace skiff::container {
namespace {

std::string words(Phase phase, std::string_view detail) {
  std::string text{phase_word(phase)};
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

/// A line of the terminal that is drawn over, and goes with the object.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) {
    if (text.empty() && !drawn_) return;
    drawn_ = !text.empty();
    const std::string line = "\r\033[K" + text;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }

 private:
  bool drawn_ = false;
};

}  // namespace

Context::Context(Executor executor, Options options, Signals& signals, TraceParent trace)
    : executor_{executor}, options_{std::move(options)}, signals_{signals}, trace_{std::move(trace)} {}

Result<Driver*> Context::driver() {
  if (!driver_) {
    auto state = StateFolder::open({});
    if (!state) return std::unexpected{std::move(state.error())};
    driver_ = std::make_unique<LocalDriver>(std::move(*state));
    if (trace_) driver_ = trace_driver(std::move(driver_), trace_);
  }
  return driver_.get();
}

void Context::tell_notice(const Driver& driver) const {
  if (!options_.quiet && !driver.notice().empty()) say(driver.notice());
}

Task<Result<Endpoint>> Context::endpoint(std::string name, TokenGrant grant) {
  auto host = driver();
  if (!host) co_return std::unexpected{std::move(host.error())};
  co_return co_await (*host)->endpoint(std::move(name), std::move(grant));
}

Task<Result<std::unique_ptr<AgentClient>>> Context::agent(std::string name) {
  auto found = co_await endpoint(std::move(name));
  if (!found) co_return std::unexpected{std::move(found.error())};
  co_return std::make_unique<AgentClient>(executor_, std::move(*found));
}

Progress Context::progress(std::string name) const {
  if (options_.quiet) return [](Phase, std::string_view) {};
  if (!shows_progress()) {
    return [name = std::move(name)](Phase phase, std::string_view detail) { say(name + ": " + words(phase, detail)); };
  }
  return [name = std::move(name), line = std::make_shared<ProgressLine>()](Phase phase, std::string_view detail) {
    line->show(phase == Phase::ready ? "" : "skiff: " + name + ": " + words(phase, detail));
  };
}

Result<> Context::show(const nlohmann::json& value, std::string_view table, std::string_view name) const {
  if (options_.output == "json") return print(format_json(value));
  if (options_.output == "yaml") return print(format_yaml(value));
  return print(options_.output == "name" ? name : table);
}

nlohmann::json to_json_value(const Sandbox& sandbox) {
  return nlohmann::json::parse(protocol::to_json(sandbox));
}

}  // namespace skiff::container
