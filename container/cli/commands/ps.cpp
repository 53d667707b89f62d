#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/in_parallel.hpp"
#include "base/clock.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/in_namespace.hpp"
#include "container/cli/flags/pod_flags.hpp"
#include "container/cli/output/json_path.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/cli/output/terminal.hpp"
#include "container/cli/parse/foreign_words.hpp"

namespace skiff::container {
namespace {

constexpr std::string_view kGreen = "\033[32m";
constexpr std::string_view kRed = "\033[31m";

/// Interval of --watch: drivers have lists, but no events.
constexpr std::chrono::seconds kWatchPause{2};
/// Number of agents that are asked at the same time when they were last used.
constexpr std::size_t kAskedAtOnce = 16;

/// One row, with its namespace if several are listed.
struct Listed {
  std::string namespace_name;
  Sandbox sandbox;
  std::string last_used_at;
};

struct TableForm {
  bool is_wide;
  bool has_headers;
  bool has_namespaces;
};

std::string format_list(const std::vector<Listed>& items, TableForm form) {
  const long long now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
  const bool colour = shows_colour();
  std::vector<std::vector<std::string>> rows;
  if (form.has_headers) {
    rows.push_back({"NAME", "STATUS", "AGE", "EXPIRES", "ADDRESS"});
    if (form.has_namespaces) rows.back().insert(rows.back().begin(), "NAMESPACE");
    if (form.is_wide) rows.back().insert(rows.back().end(), {"LAST USED", "IMAGE", "OWNER", "NODE", "POOL"});
  }
  for (const Listed& one : items) {
    const Sandbox& sandbox = one.sandbox;
    const std::string expires = sandbox.expires_at ? "in " + format_duration(unix_ms(*sandbox.expires_at) - now) : "-";
    std::vector<std::string> row{sandbox.name, std::string{state_word(sandbox.state)},
                                 format_age(sandbox.created_at, now), expires,
                                 sandbox.address.empty() ? sandbox.reason : sandbox.address};
    if (form.has_namespaces) row.insert(row.begin(), one.namespace_name);
    if (form.is_wide) {
      const auto detail = [&sandbox](const char* name) {
        const auto found = sandbox.details.find(name);
        return found == sandbox.details.end() || found->second.empty() ? std::string{"-"} : found->second;
      };
      const auto text = [](const std::string& value) { return value.empty() ? std::string{"-"} : value; };
      const std::string age = format_age(one.last_used_at, now);
      row.insert(row.end(), {age == "-" ? age : age + " ago", text(sandbox.image), text(sandbox.owner), detail("node"),
                             detail("pool")});
    }
    rows.push_back(std::move(row));
  }
  return format_table(rows, [&](std::size_t row, std::size_t column) -> std::string_view {
    const std::size_t headers = form.has_headers ? 1 : 0;
    if (!colour || row < headers || column != (form.has_namespaces ? 2U : 1U)) return {};
    const SandboxState state = items[row - headers].sandbox.state;
    return state == SandboxState::running ? kGreen : state == SandboxState::failed ? kRed : std::string_view{};
  });
}

/// What has changed in a list since it was last looked at.
class Changes {
 public:
  /// Removes from `items` what is as it was, and adds what is gone as `ended`. The first time all are new.
  void keep_changes(std::vector<Listed>& items) {
    std::map<std::string, std::string> now;
    std::erase_if(items, [&](const Listed& one) {
      const std::string place = one.namespace_name + "/" + one.sandbox.name;
      const std::string state = to_json_value(one.sandbox).dump();
      now[place] = state;
      const auto known = before_.find(place);
      return known != before_.end() && known->second == state;
    });
    for (const auto& [place, state] : before_) {
      if (now.contains(place)) continue;
      auto gone = nlohmann::json::parse(state);
      Listed one{.namespace_name = place.substr(0, place.find('/')), .sandbox = {}, .last_used_at = {}};
      one.sandbox.name = gone.value("name", "");
      one.sandbox.created_at = gone.value("created_at", "");
      one.sandbox.state = SandboxState::ended;
      one.sandbox.reason = "removed";
      items.push_back(std::move(one));
    }
    before_ = std::move(now);
  }

 private:
  std::map<std::string, std::string> before_;  ///< JSON by namespace and name
};

class Ps final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "everyone",
             .target = setting::Switch{&everyone_},
             .help = "Also list sandboxes of other owners, and claims that skiff did not create, as claim/NAME."},
            {.flag = "all",
             .target = setting::Switch{&all_},
             .help = "Accepted for users of docker; stopped sandboxes are always listed.",
             .letter = 'a'},
            {.flag = "all-namespaces",
             .target = setting::Switch{&all_namespaces_},
             .help = "In a cluster: all namespaces that have sandboxes.",
             .letter = 'A'},
            {.flag = "label",
             .target = setting::List{&labels_},
             .value = "NAME=VALUE",
             .help = "Only sandboxes with this label.",
             .letter = 'l'},
            {.flag = "status",
             .target = setting::Choice{&status_, {"any", "creating", "running", "stopped", "ended", "failed"}},
             .value = "STATUS",
             .help = "Only sandboxes in this state: creating, running, stopped, ended, or failed."},
            {.flag = "limit",
             .target = setting::Count{&limit_, 0, 1'000'000},
             .value = "N",
             .help = "List at most N, 0: all. With -o json, pass `next` as --cursor for the next page."},
            {.flag = "cursor",
             .target = setting::Text{&cursor_},
             .value = "NAME",
             .help = "Only sandboxes whose names follow this one."},
            {.flag = "watch",
             .target = setting::Switch{&watch_},
             .help = "Then print changes until interrupted; skiff checks every 2 seconds.",
             .letter = 'w'},
            {.flag = "no-headers", .target = setting::Switch{&no_headers_}, .help = "Omit the first line of a table."},
            {.flag = "sort-by",
             .target = setting::Text{&sort_by_},
             .value = "PATH",
             .help = "Sort by a field of the JSON, for example created_at or .labels.team.",
             .shown_default = "name"}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string& host = context.options().driver;
    if ((is_of_this_machine(host) || host == "serve") && all_namespaces_) {
      co_return fail(Errc::invalid_field, "only a cluster has namespaces: omit -A, or --driver " + host,
                     "--all-namespaces");
    }
    names_ = std::move(arguments.words);
    // Only the flag counts here: a variable is meant for all commands.
    only_names_ = std::ranges::count(arguments.given, "--quiet") > 0 && context.options().output == "table";
    for (bool is_first = true;; is_first = false) {
      SKIFF_CO_TRY(auto found, co_await look(&context));
      SKIFF_CO_TRY_VOID(show(context, std::move(found), is_first));
      if (!watch_) co_return 0;
      co_await pause(kWatchPause);
    }
  }

 private:
  struct Found {
    std::vector<Listed> items;
    std::string next;
  };

  Task<Result<Found>> look(Context* context) {
    Found found;
    if (!all_namespaces_) {
      SKIFF_CO_TRY(auto page, co_await look_in(context));
      found = std::move(page);
    } else {
      SKIFF_CO_TRY(auto namespaces, co_await namespaces_in_use(context));
      for (const std::string& name : namespaces) {
        auto page = co_await in_namespace<Found>(context, name, [this](Context* there) { return look_in(there); });
        if (!page) co_return std::unexpected{std::move(page.error())};
        for (Listed& one : page->items) {
          one.namespace_name = name;
          found.items.push_back(std::move(one));
        }
      }
    }
    SKIFF_CO_TRY_VOID(sort(found.items));
    co_return found;
  }

  Task<Result<Found>> look_in(Context* context) {
    SKIFF_CO_TRY(auto driver, co_await context->driver());
    if (names_.empty()) context->tell_of_containers(*driver);
    Task<Result<SandboxPage>> looking = names_.empty() ? list(context, driver) : get_named(driver);
    SKIFF_CO_TRY(auto page, co_await std::move(looking));
    Found found{.items = {}, .next = std::move(page.next)};
    for (Sandbox& sandbox : page.items) {
      std::string last = sandbox.details.contains("last_used_at") ? sandbox.details.at("last_used_at") : "";
      found.items.push_back({.namespace_name = {}, .sandbox = std::move(sandbox), .last_used_at = std::move(last)});
    }
    if (context->options().output == "wide") {
      co_await in_parallel(found.items.size(), kAskedAtOnce,
                           [&](std::size_t index) { return ask_for_use(context, &found.items[index]); });
    }
    co_return found;
  }

  /// Asks an agent for the time of its last use, which stays unknown if the agent does not answer.
  static Task<> ask_for_use(Context* context, Listed* one) {
    if (one->sandbox.state != SandboxState::running || !one->last_used_at.empty()) co_return;
    auto agent = co_await context->agent(one->sandbox.name);
    if (!agent) co_return;
    if (auto activity = co_await (*agent)->get("/v1/activity")) one->last_used_at = text_at(*activity, "last_used_at");
  }

  Task<Result<SandboxPage>> list(Context* context, Driver* driver) {
    SandboxFilter filter;
    if (!everyone_) filter.owner = context->options().owner;
    filter.others = everyone_;
    for (const auto& known : protocol::EnumNames<SandboxState>::values) {
      if (known.name == status_) filter.state = known.value;
    }
    SKIFF_CO_TRY(auto labels, parse_pairs(labels_, "--label"));
    filter.labels = std::move(labels);
    filter.cursor = cursor_;
    filter.limit = limit_ == 0 ? std::numeric_limits<std::size_t>::max() : limit_;
    co_return co_await driver->list(std::move(filter));
  }

  Task<Result<SandboxPage>> get_named(Driver* driver) {
    SandboxPage page;
    for (const std::string& name : names_) {
      auto sandbox = co_await driver->get(name);
      if (!sandbox) {
        // For users of kubectl, the name may be a kind of objects, as in `get events`.
        const std::string_view line = line_for_command(name);
        if (!line.empty()) sandbox.error().message += "; for " + name + " there is: " + std::string{line};
        co_return std::unexpected{std::move(sandbox.error())};
      }
      page.items.push_back(std::move(*sandbox));
    }
    co_return page;
  }

  Result<> sort(std::vector<Listed>& items) const {
    if (sort_by_.empty()) return {};
    std::vector<std::pair<nlohmann::json, std::size_t>> keys;
    bool is_somewhere = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      SKIFF_TRY(auto key, find_json_path(sort_by_, to_json_value(items[i].sandbox)));
      is_somewhere = is_somewhere || !key.empty();
      keys.emplace_back(key.empty() ? nlohmann::json{} : std::move(key.front()), i);
    }
    if (!is_somewhere && !items.empty()) {
      return fail(Errc::invalid_field,
                  "--sort-by " + sort_by_ + ": no sandbox has this field; the fields are " +
                      known_paths(to_json_value(items[0].sandbox)),
                  "--sort-by");
    }
    std::ranges::sort(keys, [](const auto& a, const auto& b) {
      return a.first == b.first ? a.second < b.second : a.first < b.first;
    });
    std::vector<Listed> sorted;
    for (const auto& [key, index] : keys) sorted.push_back(std::move(items[index]));
    items = std::move(sorted);
    return {};
  }

  /// Prints all sandboxes the first time, and then what has changed.
  Result<> show(const Context& context, Found found, bool is_first) {
    if (watch_) {
      changes_.keep_changes(found.items);
      if (!is_first && found.items.empty()) return {};
    }
    nlohmann::json items = nlohmann::json::array();
    std::string names;
    for (const Listed& one : found.items) {
      nlohmann::json value = to_json_value(one.sandbox);
      if (!one.namespace_name.empty()) value["namespace"] = one.namespace_name;
      items.push_back(std::move(value));
      names += one.sandbox.name + "\n";
    }
    if (only_names_) return print(printable_lines(names));
    const std::string& form = context.options().output;
    // Print a table here: `show` would escape its colours.
    if (form == "table" || form == "wide") {
      return print(format_list(
          found.items,
          {.is_wide = form == "wide", .has_headers = is_first && !no_headers_, .has_namespaces = all_namespaces_}));
    }
    // As in kubectl, a single named sandbox is printed as an object.
    if (names_.size() == 1 && !watch_ && items.size() == 1) return context.show(items.front(), "", names);
    nlohmann::json value{{"items", std::move(items)}};
    if (!found.next.empty()) value["next"] = found.next;
    return context.show(value, "", names);
  }

  bool everyone_ = false;
  bool all_ = false;
  bool all_namespaces_ = false;
  std::vector<std::string> labels_;
  std::string status_ = "any";
  std::uint64_t limit_ = 0;
  std::string cursor_;
  bool watch_ = false;
  bool no_headers_ = false;
  bool only_names_ = false;
  std::string sort_by_;
  std::vector<std::string> names_;
  Changes changes_;
};

}  // namespace

Command ps_command() {
  return {.name = "ps",
          .group = "Sandboxes",
          .summary = "list sandboxes",
          .text =
              "-q prints only the names. -o wide prints more columns, and asks each agent when it was last used.\n"
              "\n"
              "  skiff ps -o wide --sort-by created_at\n"
              "  skiff ps -o jsonpath='{range .items[*]}{.name} {.state}{\"\\n"
              "\"}{end}'",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true, .repeated = true}},
          .aliases = {"get", "ls"},
          .make = &create_invocation<Ps>};
}

}  // namespace skiff::container
