#include <string>

#include "base/licenses.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/output/output.hpp"

namespace skiff::container {
namespace {

class Licenses final : public Invocation {
 public:
  Task<Result<int>> run(Context& /*context*/, SettingsTable::Arguments /*arguments*/) override {
    SKIFF_CO_TRY_VOID(print(licenses()));
    co_return 0;
  }
};

}  // namespace

Command licenses_command() {
  return {.name = "licenses",
          .group = "Help",
          .summary = "print the licenses of skiff and of the libraries in it",
          .make = &create_invocation<Licenses>};
}

}  // namespace skiff::container
