#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cluster/key_rotation.hpp"

namespace skiff::container {
namespace {

std::string key_table(const KeyReport& report) {
  std::vector<std::vector<std::string>> rows{{"KEY", "STATE", "KNOWN TO"}};
  rows.push_back({report.current, "current", "what is made from now on"});
  for (const OlderKey& older : report.older) {
    std::string users;
    for (const std::string& user : older.users) users += (users.empty() ? "" : ", ") + user;
    rows.push_back({older.fingerprint, "older", users.empty() ? "what was made before" : std::move(users)});
  }
  for (const std::string& removed : report.removed) rows.push_back({removed, "removed", ""});
  return format_table(rows);
}

class KeyRotate final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "finish",
             .target = setting::Switch{&finishes_},
             .help = "Remove old keys that no sandbox uses any more, instead of adding a key."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    if (is_of_this_machine(context.options().driver)) {
      co_return fail(Errc::not_supported,
                     "the key of the sandboxes of this machine cannot be rotated: `skiff key rotate` needs a cluster",
                     "--driver");
    }
    SKIFF_CO_TRY(auto cluster, context.cluster());
    SKIFF_CO_TRY(auto report, co_await (finishes_ ? finish_rotation(cluster) : rotate_key(cluster)));
    const auto value = nlohmann::json::parse(protocol::to_json(report));
    SKIFF_CO_TRY_VOID(context.show(value, key_table(report), report.current + "\n"));
    if (!finishes_ || report.older.empty()) co_return 0;
    co_return fail(Errc::sandbox_conflict,
                   "sandboxes still use older keys: `skiff stop NAME && skiff start NAME` gives a sandbox the current "
                   "key; scale a pool to 0 and back with `skiff pool scale`, or create it again");
  }

 private:
  bool finishes_ = false;
};

}  // namespace

Command key_rotate_command() {
  return {
      .name = "key rotate",
      .group = "Operators",
      .summary = "add a new signing key to a namespace",
      .text =
          "Sandboxes that are created or started from now on use the new key. The old key stays beside it, so that\n"
          "skiff still reaches the sandboxes that use it.\n"
          "\n"
          "  skiff key rotate\n"
          "  skiff key rotate --finish   # when they have ended",
      .make = &create_invocation<KeyRotate>};
}

}  // namespace skiff::container
