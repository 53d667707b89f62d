#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/failures.hpp"

namespace skiff::container {
namespace {

class Start final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "wait",
             .environment = "",
             .target = setting::Duration{&wait_, 100ms, std::chrono::days{1}},
             .value = "TIME",
             .group = "",
             .help = "Longest time until it answers."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    nlohmann::json items = nlohmann::json::array();
    std::string lines;
    std::string names;
    Failures failures{"start", "started", arguments.words.size()};
    for (const std::string& name : arguments.words) {
      Progress progress = context.progress(name);
      auto started = co_await (*driver)->start(name, wait_, std::move(progress));
      if (!started) {
        failures.add(name, std::move(started.error()));
        continue;
      }
      items.push_back(to_json_value(*started));
      lines += name + " is up at " + started->address + "\n";
      names += name + "\n";
    }
    const bool is_one = arguments.words.size() == 1;
    if (is_one && items.empty()) co_return std::move(failures).status();
    const nlohmann::json value = is_one ? items.front() : nlohmann::json{{"items", items}};
    if (auto shown = context.show(value, lines, names); !shown) co_return std::unexpected{std::move(shown.error())};
    co_return std::move(failures).status();
  }

 private:
  std::chrono::milliseconds wait_{120'000};
};

}  // namespace

Command start_command() {
  return {.name = "start",
          .group = "Sandboxes",
          .summary = "make stopped or dead sandboxes again, with their files",
          .text = "Their lease begins anew. With -o json one is printed as itself, several as `items`.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .repeated = true}},
          .makes_sandboxes = true,
          .make = &make_invocation<Start>};
}

}  // namespace skiff::container
