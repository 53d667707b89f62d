#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/egress/terminate/secret.hpp"
#include "container/host/state_directory.hpp"

namespace skiff::container {
namespace {

class SecretRm final : public Invocation {
 public:
  Task<Result<int>> run(Context& /*context*/, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(const auto state, StateDirectory::open({}));
    for (const std::string& name : arguments.words) {
      SKIFF_CO_TRY_VOID(egress::SecretStore{state.path()}.remove(name));
    }
    co_return 0;
  }
};

}  // namespace

Command secret_rm_command() {
  return {.name = "secret rm",
          .group = "Sandboxes",
          .summary = "forget secrets of this machine",
          .text = "Boxes that use one get the answer 503 to their next request to its hosts.",
          .words = {{.name = "NAME", .repeated = true}},
          .make = &create_invocation<SecretRm>};
}

}  // namespace skiff::container
