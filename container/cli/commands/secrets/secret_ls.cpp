#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/secrets/secret_place.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"

namespace skiff::container {
namespace {

class SecretLs final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    SKIFF_CO_TRY(const auto place, co_await find_secret_place(&context));
    SKIFF_CO_TRY(const auto all, co_await place->list());
    std::vector<std::vector<std::string>> rows{{"NAME", "HOSTS", "HEADER", "REQUESTS"}};
    nlohmann::json items = nlohmann::json::array();
    std::string names;
    for (const egress::Secret& secret : all) {
      std::string hosts;
      for (const std::string& host : secret.hosts) hosts += (hosts.empty() ? "" : ",") + host;
      const std::string header =
          secret.has_value() ? secret.header + ": " + (secret.format.empty() ? "Basic" : secret.format) : "";
      std::string requests;
      for (const std::string& rule : secret.requests) requests += (requests.empty() ? "" : ", ") + rule;
      rows.push_back({secret.name, std::move(hosts), header.empty() ? "none" : header,
                      requests.empty() ? "all" : std::move(requests)});
      items.push_back(
          {{"name", secret.name}, {"hosts", secret.hosts}, {"header", header}, {"requests", secret.requests}});
      names += secret.name + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", std::move(items)}}, format_table(rows), names));
    co_return 0;
  }
};

}  // namespace

Command secret_ls_command() {
  return {.name = "secret ls",
          .group = "Sandboxes",
          .summary = "list secrets: their names and hosts, never their values",
          .make = &create_invocation<SecretLs>};
}

}  // namespace skiff::container
