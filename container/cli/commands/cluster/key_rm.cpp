#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/key_stores.hpp"

namespace skiff::container {
namespace {

class KeyRm final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto store, co_await open_key_store(&context));
    auto drop = [names = std::move(arguments.words)](serve::KeyRing& ring) -> Result<> {
      for (const std::string& name : names) {
        const auto removed = std::erase_if(ring.keys, [&](const serve::ApiKey& key) { return key.name == name; });
        if (removed == 0) return fail(Errc::not_found, "there is no key \"" + name + "\"", "NAME");
      }
      return {};
    };
    SKIFF_CO_TRY_VOID(co_await store->change(std::move(drop)));
    co_return 0;
  }
};

}  // namespace

Command key_rm_command() {
  return {.name = "key rm",
          .group = "Operators",
          .summary = "revoke API keys of `skiff serve`; their sandboxes stay",
          .text =
              "Servers notice within a second: then the keys, the preview links that were made with them and all\n"
              "connections that were opened with either end.",
          .words = {{.name = "NAME", .repeated = true}},
          .make = &create_invocation<KeyRm>};
}

}  // namespace skiff::container
