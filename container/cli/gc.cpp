#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/launcher/collect.hpp"

namespace skiff::container {
namespace {

nlohmann::json to_json_value(const std::vector<Verdict>& verdicts) {
  nlohmann::json items = nlohmann::json::array();
  for (const Verdict& one : verdicts) items.push_back({{"name", one.name}, {"reason", one.reason}});
  return items;
}

class Gc final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "max-idle",
             .environment = "",
             .target = setting::Duration{&max_idle_, 0ms, std::chrono::days{365}},
             .value = "TIME",
             .group = "",
             .help = "Also running ones that nobody has used for so long. 0: none of them."},
            {.flag = "everyone",
             .environment = "",
             .target = setting::Switch{&everyone_},
             .value = "",
             .group = "",
             .help = "Also those of other owners."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    const auto owner = everyone_ ? std::nullopt : std::optional{context.options().owner};
    const auto idle = max_idle_.count() > 0 ? std::optional{max_idle_} : std::nullopt;
    auto done = co_await collect_garbage(*driver, owner, idle);
    if (!done) co_return std::unexpected{std::move(done.error())};
    std::string lines;
    std::string names;
    for (const Verdict& one : done->removed) {
      lines += "removed " + one.name + " (" + one.reason + ")\n";
      names += one.name + "\n";
    }
    for (const Verdict& one : done->failed) lines += "FAILED  " + one.name + " (" + one.reason + ")\n";
    const nlohmann::json value{{"deleted", to_json_value(done->removed)},
                               {"kept", to_json_value(done->kept)},
                               {"failed", to_json_value(done->failed)}};
    if (auto shown = context.show(value, lines, names); !shown) co_return std::unexpected{std::move(shown.error())};
    if (!done->failed.empty()) co_return fail(Errc::io_error, "not everything could be removed");
    co_return 0;
  }

 private:
  std::chrono::milliseconds max_idle_{0};
  bool everyone_ = false;
};

}  // namespace

Command gc_command() {
  return {.name = "gc",
          .group = "Sandboxes",
          .summary = "remove the sandboxes that have ended or failed",
          .text = "Stopped ones stay: they were stopped to be started again.",
          .words = {},
          .make = &make_invocation<Gc>};
}

}  // namespace skiff::container
