#include <array>
#include <cctype>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cluster/pod/circumstances.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

std::string json_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Lists nested members as a.b and texts without quotes; leaves out empty ones.
void flatten(const json& value, const std::string& prefix, const std::string& indent, Rows& rows) {
  for (const auto& [key, member] : value.items()) {
    std::string name = prefix;
    if (!name.empty()) name += '.';
    name += key;
    if (member.is_object()) {
      flatten(member, name, indent, rows);
      continue;
    }
    if (const std::string text = json_text(member); !text.empty() && !member.is_null()) {
      rows.push_back({indent + name + ":", text});
    }
  }
}

/// A list of objects, one per line, with these columns.
struct Section {
  const char* key;
  const char* title;
  std::vector<const char*> columns;
};

std::string table_section(const Section& section, const json& items, long long now) {
  Rows rows{{}};
  for (const char* column : section.columns) {
    std::string head{column};
    for (char& c : head) c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    rows.front().push_back((rows.front().empty() ? "  " : "") + head);
  }
  for (const json& item : items) {
    std::vector<std::string> row;
    for (const char* column : section.columns) {
      const json& value = item.contains(column) ? item[column] : json{};
      std::string cell = value.is_null() ? "" : json_text(value);
      const std::string_view name{column};
      if (name == "since" || name == "last_at") cell = format_age(cell, now);
      for (char& c : cell) c = c == '\n' || c == '\t' ? ' ' : c;
      row.push_back((row.empty() ? "  " : "") + (cell.empty() ? "-" : cell));
    }
    rows.push_back(std::move(row));
  }
  return "\n" + std::string{section.title} + ":\n" + format_table(rows);
}

/// The page for people: the plain fields first, then a section for each list.
std::string page_of(const json& value) {
  const long long now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
  constexpr std::array kFirst{"name",  "state",      "reason",     "driver",  "id",        "owner",
                              "image", "created_at", "expires_at", "address", "workspace", "default_timeout_ms",
                              "labels"};
  Rows rows;
  for (const char* key : kFirst) {
    if (!value.contains(key)) continue;
    const json& member = value[key];
    std::string text = member.is_null() || member.is_object() ? "" : json_text(member);
    if (member.is_object()) {
      for (const auto& [label, of] : member.items()) text += (text.empty() ? "" : ", ") + label + "=" + json_text(of);
    }
    const std::string_view name{key};
    if (!text.empty() && name == "created_at") text += " (" + format_age(text, now) + " ago)";
    if (!text.empty() && name == "expires_at") text += " (in " + format_duration(unix_ms(text) - now) + ")";
    if (!text.empty()) rows.push_back({std::string{key} + ":", std::move(text)});
  }
  std::string page = format_table(rows);
  for (const auto& [key, member] : value.items()) {
    if (!member.is_object() || key == "labels") continue;
    Rows lines;
    flatten(member, {}, "  ", lines);
    if (!lines.empty()) page += "\n" + key + ":\n" + format_table(lines);
  }
  const std::vector<Section> sections{
      {"containers", "containers", {"name", "state", "restarts", "reason"}},
      {"volumes", "volumes", {"name", "kind", "mounted_at"}},
      {"conditions", "conditions", {"type", "status", "since", "reason", "message"}},
      {"events", "events", {"last_at", "type", "reason", "count", "message"}},
  };
  for (const Section& section : sections) {
    if (value.contains(section.key) && !value[section.key].empty()) {
      page += table_section(section, value[section.key], now);
    }
  }
  for (const char* key : {"error", "events_error"}) {
    if (value.contains(key)) page += "\n" + std::string{key} + ": " + json_text(value[key]) + "\n";
  }
  return page;
}

class Describe final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    json items = json::array();
    std::string pages;
    std::string names;
    for (const std::string& name : arguments.words) {
      SKIFF_CO_TRY(auto sandbox, co_await driver->get(name));
      json value = to_json_value(sandbox);
      if (sandbox.state == SandboxState::running) value.update(co_await ask_agent(&context, name));
      value.update(co_await ask_cluster(&context, sandbox));
      pages += (pages.empty() ? "" : "\n\n") + page_of(value);
      names += name + "\n";
      items.push_back(std::move(value));
    }
    const bool is_one = items.size() == 1;
    SKIFF_CO_TRY_VOID(context.show(is_one ? items.front() : json{{"items", items}}, pages, names));
    co_return 0;
  }

 private:
  /// The agent's description of itself. An agent that hangs or ends does not prevent the driver's data from being
  /// shown.
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
    if (auto session = co_await (*agent)->get("/v1/sessions/default")) {
      told["workspace"] = text_at(*session, "root");
      const auto timeout = number_at(*session, "default_timeout_ms");
      told["default_timeout_ms"] = timeout ? json(*timeout) : json{};
    }
    co_return told;
  }

  /// The cluster's data about its Pod, if it has one.
  static Task<json> ask_cluster(Context* context, Sandbox sandbox) {
    const auto pod = sandbox.details.find("pod");
    const auto home = sandbox.details.find("namespace");
    const bool has_pod = pod != sandbox.details.end() && home != sandbox.details.end() && !pod->second.empty();
    if (!has_pod || (sandbox.driver != "pod" && sandbox.driver != "claim")) co_return json::object();
    auto cluster = context->cluster();
    if (!cluster) co_return json::object();
    co_return co_await circumstances_of(&(*cluster)->client(), home->second, pod->second);
  }
};

}  // namespace

Command describe_command() {
  return {.name = "describe",
          .group = "Sandboxes",
          .summary = "show all details of sandboxes",
          .text = "For a sandbox in a cluster also shows its containers, volumes, conditions and events.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .repeated = true}},
          .aliases = {"inspect"},
          .make = &create_invocation<Describe>};
}

}  // namespace skiff::container
