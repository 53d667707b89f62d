#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/failures.hpp"
#include "container/cli/output/output.hpp"

namespace skiff::container {
namespace {

/// Number of sandboxes that are started at the same time; each waits until its agent answers.
constexpr std::size_t kStartedAtOnce = 16;

class Start final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "wait",
             .target = setting::Duration{&wait_, 100ms, std::chrono::days{1}},
             .value = "TIME",
             .help = "How long to wait until the sandbox answers."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    nlohmann::json items = nlohmann::json::array();
    std::string lines;
    std::string names;
    Failures failures{"start", "started", arguments.words.size()};
    // A name that is given twice means one sandbox.
    std::vector<std::string> chosen;
    for (const std::string& name : arguments.words) {
      if (std::ranges::count(chosen, name) == 0) chosen.push_back(name);
    }
    std::vector<std::optional<Result<Sandbox>>> outcomes(chosen.size());
    co_await in_parallel(chosen.size(), kStartedAtOnce, [&](std::size_t index) {
      return start_one(driver, chosen[index], wait_, context.progress(chosen[index]), &outcomes[index]);
    });
    context.signals().settle();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::string& name = chosen[i];
      Result<Sandbox>& started = *outcomes[i];
      if (!started) {
        failures.add(name, std::move(started.error()));
        continue;
      }
      items.push_back(to_json_value(*started));
      if (!started->reason.empty()) say(name + ": " + started->reason);
      lines += name + " is up at " + started->address + "\n";
      names += name + "\n";
    }
    const bool is_one = arguments.words.size() == 1;
    if (is_one && items.empty()) co_return std::move(failures).status();
    const nlohmann::json value = is_one ? items.front() : nlohmann::json{{"items", items}};
    SKIFF_CO_TRY_VOID(context.show(value, lines, names));
    co_return std::move(failures).status();
  }

 private:
  static Task<> start_one(Driver* driver, std::string name, std::chrono::milliseconds wait, Progress progress,
                          std::optional<Result<Sandbox>>* outcome) {
    outcome->emplace(co_await driver->start(std::move(name), wait, std::move(progress)));
  }

  std::chrono::milliseconds wait_{120'000};
};

}  // namespace

Command start_command() {
  return {.name = "start",
          .group = "Sandboxes",
          .summary = "start stopped or dead sandboxes again, with their files",
          .text = "The lease begins anew. With -o json skiff prints one sandbox as an object, several as `items`.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .repeated = true}},
          .makes_sandboxes = true,
          .make = &create_invocation<Start>};
}

}  // namespace skiff::container
