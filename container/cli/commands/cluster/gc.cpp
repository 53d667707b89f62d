#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/in_namespace.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/sandbox/garbage.hpp"

namespace skiff::container {
namespace {

nlohmann::json to_json_value(const std::vector<Verdict>& verdicts) {
  nlohmann::json items = nlohmann::json::array();
  for (const Verdict& one : verdicts) items.push_back({{"name", one.name}, {"reason", one.reason}});
  return items;
}

/// Namespaces at the same time, so that one that hangs does not delay the others.
constexpr std::size_t kNamespacesAtOnce = 16;

class Gc final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {{.flag = "max-idle",
             .target = setting::Duration{&max_idle_, 0ms, std::chrono::days{365}},
             .value = "TIME",
             .help = "Also remove running sandboxes that were idle for this time. 0: do not."},
            {.flag = "everyone", .target = setting::Switch{&everyone_}, .help = "Also those of other owners."},
            {.flag = "all-namespaces",
             .target = setting::Switch{&all_namespaces_},
             .help = "In a cluster: all namespaces that have sandboxes.",
             .letter = 'A'},
            {.flag = "in-namespace",
             .target = setting::List{&namespaces_},
             .value = "NAMESPACE",
             .help = "In a cluster: these namespaces instead of --namespace."},
            dry_run_.row("Only print what would be removed.")};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    collecting_.dry_run = dry_run_.is_wanted();
    if (!everyone_) collecting_.owner = context.options().owner;
    if (max_idle_.count() > 0) collecting_.max_idle = max_idle_;
    const std::string& host = context.options().driver;
    if ((is_of_this_machine(host) || host == "serve") && (all_namespaces_ || !namespaces_.empty())) {
      co_return fail(Errc::invalid_field,
                     "only a cluster has namespaces: omit -A and --in-namespace, or --driver " + host,
                     all_namespaces_ ? "--all-namespaces" : "--in-namespace");
    }
    Result<Collected> done;
    if (all_namespaces_ || !namespaces_.empty()) {
      done = co_await collect_everywhere(&context);
    } else {
      done = co_await collect_in(&context);
    }
    if (!done) co_return std::unexpected{std::move(done.error())};
    for (const std::string& one : done->not_asked) say("not everything was looked at: " + one);
    std::string lines;
    std::string names;
    for (const Verdict& one : done->removed) {
      lines += (collecting_.dry_run ? "would remove " : "removed ") + one.name + " (" + printable(one.reason) + ")\n";
      names += one.name + "\n";
    }
    for (const Verdict& one : done->failed) lines += "FAILED  " + one.name + " (" + printable(one.reason) + ")\n";
    const nlohmann::json value{{"deleted", to_json_value(done->removed)},
                               {"kept", to_json_value(done->kept)},
                               {"failed", to_json_value(done->failed)}};
    SKIFF_CO_TRY_VOID(context.show(value, lines, names));
    if (!done->failed.empty()) co_return fail(Errc::io_error, "not everything could be removed");
    co_return 0;
  }

 private:
  Task<Result<Collected>> collect_in(Context* context) {
    SKIFF_CO_TRY(auto driver, co_await context->driver());
    if (driver->name() == "direct") {
      co_return fail(Errc::invalid_field,
                     "the driver direct removes nothing: `skiff gc` needs --driver pod, claim, box or local",
                     "--driver");
    }
    co_return co_await collect_garbage(driver, collecting_);
  }

  Task<> collect_there(const Context* context, std::string name, Result<Collected>* outcome) {
    *outcome = co_await in_namespace<Collected>(context, std::move(name),
                                                [this](Context* there) { return collect_in(there); });
  }

  Task<Result<Collected>> collect_everywhere(Context* context) {
    if (all_namespaces_) {
      SKIFF_CO_TRY(auto found, co_await namespaces_in_use(context));
      namespaces_ = std::move(found);
    }
    std::vector<Result<Collected>> outcomes(namespaces_.size());
    co_await in_parallel(namespaces_.size(), kNamespacesAtOnce, [&](std::size_t index) {
      return collect_there(context, namespaces_[index], &outcomes[index]);
    });
    Collected all;
    for (std::size_t i = 0; i < namespaces_.size(); ++i) {
      const std::string& name = namespaces_[i];
      Result<Collected>& done = outcomes[i];
      if (!done) co_return std::unexpected{std::move(done.error())};
      const auto add = [&name](std::vector<Verdict>& into, std::vector<Verdict>& from) {
        for (Verdict& one : from) into.push_back({name + "/" + one.name, std::move(one.reason)});
      };
      add(all.removed, done->removed);
      add(all.kept, done->kept);
      add(all.failed, done->failed);
    }
    co_return all;
  }

  std::chrono::milliseconds max_idle_{0};
  bool everyone_ = false;
  bool all_namespaces_ = false;
  std::vector<std::string> namespaces_;
  DryRun dry_run_;
  Collecting collecting_;
};

}  // namespace

Command gc_command() {
  return {
      .name = "gc",
      .group = "Sandboxes",
      .summary = "remove ended and failed sandboxes",
      .text =
          "Also removes sandboxes that never came up or no longer answer, a few minutes after their lease has ended.\n"
          "Keeps stopped sandboxes, and until their lease ends also those that have lost their node:\n"
          "`skiff start` starts them again.",
      .make = &create_invocation<Gc>};
}

}  // namespace skiff::container
