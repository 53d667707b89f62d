#include <chrono>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/cli/pod_flags.hpp"
#include "container/cli/terminal.hpp"

namespace skiff::container {
namespace {

constexpr std::string_view kGreen = "\033[32m";
constexpr std::string_view kRed = "\033[31m";
constexpr std::string_view kPlain = "\033[0m";

class Ps final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "everyone",
             .environment = "",
             .target = setting::Switch{&everyone_},
             .value = "",
             .group = "",
             .help = "Also those of other owners, and claims that skiff did not make, as claim/NAME."},
            {.flag = "label",
             .environment = "",
             .target = setting::List{&labels_},
             .value = "NAME=VALUE",
             .group = "",
             .help = "Only those with this label.",
             .letter = 'l'},
            {.flag = "status",
             .environment = "",
             .target = setting::Choice{&status_, {"any", "creating", "running", "stopped", "ended", "failed"}},
             .value = "STATUS",
             .group = "",
             .help = "Only those that are so: creating, running, stopped, ended by themselves, or failed."},
            {.flag = "limit",
             .environment = "",
             .target = setting::Count{&limit_, 0, 1'000'000},
             .value = "N",
             .group = "",
             .help = "No more than so many; `next` in -o json is the --cursor of those that follow. 0: all."},
            {.flag = "cursor",
             .environment = "",
             .target = setting::Text{&cursor_},
             .value = "NAME",
             .group = "",
             .help = "Only those whose names follow this one."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    SandboxFilter filter;
    if (!everyone_) filter.owner = context.options().owner;
    filter.others = everyone_;
    for (const auto& known : protocol::EnumNames<SandboxState>::values) {
      if (known.name == status_) filter.state = known.value;
    }
    auto labels = parse_pairs(labels_, "--label");
    if (!labels) co_return std::unexpected{std::move(labels.error())};
    filter.labels = std::move(*labels);
    filter.cursor = cursor_;
    filter.limit = limit_ == 0 ? std::numeric_limits<std::size_t>::max() : limit_;
    auto page = co_await (*driver)->list(filter);
    if (!page) co_return std::unexpected{std::move(page.error())};
    const std::vector<Sandbox>& found = page->items;

    nlohmann::json items = nlohmann::json::array();
    std::string names;
    for (const Sandbox& sandbox : found) {
      items.push_back(to_json_value(sandbox));
      names += sandbox.name + "\n";
    }
    nlohmann::json value{{"items", std::move(items)}};
    if (!page->next.empty()) value["next"] = page->next;
    if (auto shown = context.show(value, table_of(found), names); !shown) {
      co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }

 private:
  static std::string table_of(const std::vector<Sandbox>& sandboxes) {
    const long long now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
    const bool colour = shows_colour();
    std::vector<std::vector<std::string>> rows{{"NAME", "STATUS", "AGE", "EXPIRES", "ADDRESS"}};
    for (const Sandbox& sandbox : sandboxes) {
      const std::string expires =
          sandbox.expires_at ? "in " + format_duration(unix_ms(*sandbox.expires_at) - now) : "-";
      rows.push_back({sandbox.name, status_cell(sandbox.state, colour), format_age(sandbox.created_at, now), expires,
                      sandbox.address.empty() ? sandbox.reason : sandbox.address});
    }
    return format_table(rows);
  }

  static std::string status_cell(SandboxState state, bool colour) {
    std::string word{state_word(state)};
    if (!colour || (state != SandboxState::running && state != SandboxState::failed)) return word;
    return std::string{state == SandboxState::running ? kGreen : kRed} + word + std::string{kPlain};
  }

  bool everyone_ = false;
  std::vector<std::string> labels_;
  std::string status_ = "any";
  std::uint64_t limit_ = 0;
  std::string cursor_;
};

}  // namespace

Command ps_command() {
  return {.name = "ps",
          .group = "Sandboxes",
          .summary = "list sandboxes",
          .text = "",
          .words = {},
          .make = &make_invocation<Ps>};
}

}  // namespace skiff::container
