#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// Nested members as a.b, texts without quotes, empty ones left out.
void flatten(const json& value, const std::string& prefix, std::vector<std::vector<std::string>>& rows) {
  for (const auto& [key, member] : value.items()) {
    std::string name = prefix;
    if (!name.empty()) name += '.';
    name += key;
    if (member.is_object()) {
      flatten(member, name, rows);
      continue;
    }
    const std::string text = member.is_string() ? member.get<std::string>() : member.dump();
    if (!text.empty() && !member.is_null()) rows.push_back({name + ":", text});
  }
}

class Describe final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string& name = arguments.words.at(0);
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    auto sandbox = co_await (*driver)->get(name);
    if (!sandbox) co_return std::unexpected{std::move(sandbox.error())};
    json value = to_json_value(*sandbox);
    if (sandbox->state == SandboxState::running) value.update(co_await ask_agent(&context, name));
    std::vector<std::vector<std::string>> rows;
    flatten(value, {}, rows);
    if (auto shown = context.show(value, format_table(rows), name + "\n"); !shown) {
      co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }

 private:
  /// What the agent says of itself. One that hangs, or ends now, is no reason not to tell what the driver knows.
  static Task<json> ask_agent(Context* context, std::string name) {
    auto agent = co_await context->agent(std::move(name));
    if (!agent) co_return json{{"agent", {{"error", agent.error().message}}}};
    const Endpoint& endpoint = (*agent)->endpoint();
    json told{{"reached", {{"by", endpoint.way}, {"at", endpoint.url}}}};
    auto version = co_await (*agent)->get("/v1/version");
    if (!version) {
      told["agent"]["error"] = version.error().message;
      co_return told;
    }
    told["agent"] = std::move(*version);
    if (auto activity = co_await (*agent)->get("/v1/activity")) told["activity"] = std::move(*activity);
    co_return told;
  }
};

}  // namespace

Command describe_command() {
  return {.name = "describe",
          .group = "Sandboxes",
          .summary = "tell all about one sandbox",
          .text = "",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &make_invocation<Describe>};
}

}  // namespace skiff::container
