#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/key_stores.hpp"

namespace skiff::container {
namespace {

using serve::ApiKey;
using serve::KeyRing;
using serve::KeyScope;

constexpr std::string_view kTenant = "default";

class KeyCreate final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    return {
        {.flag = "tenant",
         .target = setting::Text{&tenant_},
         .value = "TENANT",
         .help = "Tenant whose sandboxes the key reaches: a namespace of the cluster; with the local driver any name."},
        {.flag = "scope",
         .target = setting::List{&scopes_},
         .value = "SCOPE",
         .help = "create (also stop, extend, remove), use (list and reach), admin (all of these, and /metrics)."},
        {.flag = "max-sandboxes",
         .target = setting::Count{&max_sandboxes_, 0, 1'000'000},
         .value = "NUMBER",
         .help = "How many sandboxes of the key may run at the same time. 0: no limit."},
        {.flag = "creations-per-minute",
         .target = setting::Count{&creations_per_minute_, 0, 1'000'000},
         .value = "NUMBER",
         .help = "How many sandboxes the key may create per minute, on each server. 0: no limit."},
        {.flag = "max-stopped",
         .target = setting::Count{&max_stopped_, 0, 1'000'000},
         .value = "NUMBER",
         .help = "How many sandboxes of the key may be kept that do not run. 0: no limit."},
        {.flag = "ttl",
         .target = setting::Duration{&ttl_, 0ms, std::chrono::days{3650}},
         .value = "TIME",
         .help = "How long the key is valid. 0: until it is removed."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto store, co_await open_key_store(&context));
    SKIFF_CO_TRY(auto made, key(arguments.words.at(0)));
    const std::string text = serve::new_api_key();
    made.sha256 = serve::sha256_hex(text);
    auto add = [&made](KeyRing& ring) -> Result<> {
      if (std::ranges::count(ring.keys, made.name, &ApiKey::name) > 0) {
        return fail(Errc::already_exists, "there is a key \"" + made.name + "\" already", "NAME");
      }
      if (ring.token_secret.empty()) ring.token_secret = serve::new_token_secret();
      ring.keys.push_back(made);
      return {};
    };
    SKIFF_CO_TRY_VOID(co_await store->change(std::move(add)));
    const nlohmann::json value{{"name", made.name}, {"tenant", made.tenant}, {"key", text}};
    SKIFF_CO_TRY_VOID(context.show(value, text + "\n", text + "\n"));
    co_return 0;
  }

 private:
  Result<ApiKey> key(std::string name) const {
    SKIFF_TRY_VOID(check_name(name));
    SKIFF_TRY_VOID(check_name(tenant_));
    const WallTime now = wall_now();
    ApiKey key{.name = std::move(name),
               .sha256 = {},
               .tenant = tenant_,
               .scopes = {},
               .max_sandboxes = max_sandboxes_,
               .creations_per_minute = creations_per_minute_,
               .max_stopped = max_stopped_,
               .created_at = rfc3339(now),
               .expires_ms = {}};
    for (const std::string& word : scopes_) {
      const auto& known = protocol::EnumNames<KeyScope>::values;
      const auto found = std::ranges::find(known, word, &protocol::EnumName<KeyScope>::name);
      if (found == known.end()) {
        return fail(Errc::invalid_field, "--scope \"" + word + "\": expected create, use or admin", "--scope");
      }
      key.scopes.push_back(found->value);
    }
    if (ttl_.count() > 0) {
      key.expires_ms = std::chrono::floor<std::chrono::milliseconds>((now + ttl_).time_since_epoch()).count();
    }
    return key;
  }

  std::string tenant_{kTenant};
  std::vector<std::string> scopes_{"create", "use"};
  std::uint64_t max_sandboxes_ = 0;
  std::uint64_t creations_per_minute_ = 0;
  std::uint64_t max_stopped_ = 0;
  std::chrono::milliseconds ttl_{0};
};

}  // namespace

Command key_create_command() {
  return {.name = "key create",
          .group = "Operators",
          .summary = "create an API key for `skiff serve`, and print it",
          .text =
              "skiff prints the key only once, and stores its SHA-256.\n"
              "\n"
              "  skiff key create ci --tenant team-a --max-sandboxes 20",
          .words = {{.name = "NAME"}},
          .make = &create_invocation<KeyCreate>};
}

}  // namespace skiff::container
