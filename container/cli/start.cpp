#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"

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
    for (const std::string& name : arguments.words) {
      Progress progress = context.progress(name);
      auto started = co_await (*driver)->start(name, wait_, std::move(progress));
      if (!started) co_return std::unexpected{std::move(started.error())};
      const std::string line = name + " is up at " + started->address + "\n";
      if (auto shown = context.show(to_json_value(*started), line, name + "\n"); !shown) {
        co_return std::unexpected{std::move(shown.error())};
      }
    }
    co_return 0;
  }

 private:
  std::chrono::milliseconds wait_{120'000};
};

}  // namespace

Command start_command() {
  return {.name = "start",
          .group = "Sandboxes",
          .summary = "make stopped or dead sandboxes again, with their files",
          .text = "Their lease begins anew.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .repeated = true}},
          .make = &make_invocation<Start>};
}

}  // namespace skiff::container
          .makes_sandboxes = true,
