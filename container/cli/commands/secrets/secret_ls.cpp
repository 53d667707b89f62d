#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/egress/terminate/secret.hpp"
#include "container/host/state_directory.hpp"

namespace skiff::container {
namespace {

class SecretLs final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    SKIFF_CO_TRY(const auto state, StateDirectory::open({}));
    const egress::SecretStore store{state.path()};
    SKIFF_CO_TRY(const auto all, store.names());
    std::vector<std::vector<std::string>> rows{{"NAME", "HOSTS", "HEADER", "REQUESTS"}};
    nlohmann::json items = nlohmann::json::array();
    std::string names;
    for (const std::string& name : all) {
      SKIFF_CO_TRY(const auto secret, store.get(name));
      std::string hosts;
      for (const std::string& host : secret.hosts) hosts += (hosts.empty() ? "" : ",") + host;
      const std::string header = secret.header + ": " + (secret.format.empty() ? "Basic" : secret.format);
      std::string requests;
      for (const std::string& rule : secret.requests) requests += (requests.empty() ? "" : ", ") + rule;
      rows.push_back({name, std::move(hosts), header, requests.empty() ? "all" : std::move(requests)});
      items.push_back({{"name", name}, {"hosts", secret.hosts}, {"header", header}, {"requests", secret.requests}});
      names += name + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", std::move(items)}}, format_table(rows), names));
    co_return 0;
  }
};

}  // namespace

Command secret_ls_command() {
  return {.name = "secret ls",
          .group = "Sandboxes",
          .summary = "list the secrets of this machine: their names and hosts, never their values",
          .make = &create_invocation<SecretLs>};
}

}  // namespace skiff::container
