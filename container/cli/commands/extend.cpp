#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/printable.hpp"

namespace skiff::container {
namespace {

class Extend final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "ttl",
             .target = setting::Duration{&ttl_, 0ms, std::chrono::days{365}},
             .value = "TIME",
             .help = "New lease, counted from now.",
             .shown_default = "the time it had"},
            {.flag = "idle-ttl",
             .target = setting::Duration{&idle_ttl_, 0ms, std::chrono::days{365}},
             .value = "TIME",
             .help = "How long the sandbox may be idle.",
             .shown_default = "as it was"},
            {.flag = "wait",
             .target = setting::Duration{&wait_, 100ms, std::chrono::days{1}},
             .value = "TIME",
             .help = "How long to wait until the agent can be reached."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    const std::string& name = arguments.words.at(0);
    Lease lease;
    if (ttl_.count() > 0) lease.ttl = ttl_;
    if (idle_ttl_.count() > 0) lease.idle_ttl = idle_ttl_;
    SKIFF_CO_TRY(auto extended, co_await driver->extend(name, lease, wait_));
    const std::string line = extended.expires_at ? name + " lives until " + printable(*extended.expires_at) + "\n"
                                                 : name + " has no lease: it runs until you remove it\n";
    SKIFF_CO_TRY_VOID(context.show(to_json_value(extended), line, name + "\n"));
    co_return 0;
  }

 private:
  std::chrono::milliseconds ttl_{0};
  std::chrono::milliseconds idle_ttl_{0};
  std::chrono::milliseconds wait_{120'000};
};

}  // namespace

Command extend_command() {
  return {.name = "extend",
          .group = "Sandboxes",
          .summary = "renew the lease of a sandbox",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &create_invocation<Extend>};
}

}  // namespace skiff::container
