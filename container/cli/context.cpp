#include "container/cli/context.hpp"

#include <unistd.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/output.hpp"
#include "container/cli/terminal.hpp"
#include "container/launcher/local_driver.hpp"

namespace skiff::container {

Context::Context(Executor executor, Options options, Signals& signals)
    : executor_{executor}, options_{std::move(options)}, signals_{signals} {}

Result<Driver*> Context::driver() {
  if (!driver_) {
    auto state = StateFolder::open({});
    if (!state) return std::unexpected{std::move(state.error())};
    driver_ = std::make_unique<LocalDriver>(std::move(*state));
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
  return [name = std::move(name), draws = shows_progress()](Phase phase, std::string_view detail) {
    std::string line{phase_word(phase)};
    if (!detail.empty()) line.append(": ").append(detail);
    if (!draws) return say(name + ": " + line);
    // The line goes when there is nothing more to wait for.
    line = phase == Phase::ready ? "\r\033[K" : "\r\033[Kskiff: " + name + ": " + line;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
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
