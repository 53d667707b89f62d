#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/secrets/secret_place.hpp"
#include "container/cli/context.hpp"

namespace skiff::container {
namespace {

class SecretRm final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(const auto place, co_await find_secret_place(&context));
    for (const std::string& name : arguments.words) SKIFF_CO_TRY_VOID(co_await place->remove(name));
    co_return 0;
  }
};

}  // namespace

Command secret_rm_command() {
  return {.name = "secret rm",
          .group = "Sandboxes",
          .summary = "forget secrets",
          .text = "Sandboxes that use one get the answer 503 to their next request to its hosts.",
          .words = {{.name = "NAME", .repeated = true}},
          .make = &create_invocation<SecretRm>};
}

}  // namespace skiff::container
