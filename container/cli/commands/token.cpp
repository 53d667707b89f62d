#include <chrono>
#include <ranges>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/printable.hpp"

namespace skiff::container {
namespace {

class Token final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {
        {.flag = "scope",
         .target = setting::List{&scopes_},
         .value = "SCOPE",
         .help = "read, exec (also writes files), ports, admin (all of these, and leases), with commas or repeated."},
        {.flag = "ttl",
         .target = setting::Duration{&ttl_, 1s, std::chrono::days{365}},
         .value = "TIME",
         .help = "How long the token is valid."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    TokenGrant grant{.scope = "", .lifetime = std::chrono::ceil<std::chrono::seconds>(ttl_)};
    for (const std::string& scopes : scopes_) {
      for (const auto& scope : scopes | std::views::split(',')) {
        grant.scope.append(grant.scope.empty() ? "" : " ").append(std::string_view{scope});
      }
    }
    SKIFF_CO_TRY(auto endpoint, co_await context.endpoint(arguments.words.at(0), std::move(grant)));
    SKIFF_CO_TRY(auto token, endpoint.token());
    const nlohmann::json value{{"token", token}, {"url", endpoint.url}};
    const std::string line = printable(token) + "\n";
    SKIFF_CO_TRY_VOID(context.show(value, line, line));
    co_return 0;
  }

 private:
  std::vector<std::string> scopes_{"read", "exec"};
  std::chrono::milliseconds ttl_ = std::chrono::hours{1};
};

}  // namespace

Command token_command() {
  return {.name = "token",
          .group = "Access",
          .summary = "print a bearer token for the agent of a sandbox",
          .text =
              "The token is valid for this sandbox only. -o json also prints the agent's address.\n"
              "\n"
              "  curl -H \"X-Skiff-Token: $(skiff token demo)\" $SKIFF_URL/v1/run -d 'date'",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &create_invocation<Token>};
}

}  // namespace skiff::container
