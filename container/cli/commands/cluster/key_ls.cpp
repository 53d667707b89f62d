#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/key_stores.hpp"
#include "container/cli/output/output.hpp"

namespace skiff::container {
namespace {

std::string scope_words(const serve::ApiKey& key) {
  std::string words;
  for (const serve::KeyScope scope : key.scopes) {
    const auto& names = protocol::EnumNames<serve::KeyScope>::values;
    words += (words.empty() ? "" : ",") + std::string{names[static_cast<std::size_t>(scope)].name};
  }
  return words;
}

std::string limit_word(std::uint64_t limit) {
  return limit == 0 ? "-" : std::to_string(limit);
}

class KeyLs final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments) override {
    SKIFF_CO_TRY(auto store, co_await open_key_store(&context));
    SKIFF_CO_TRY(auto ring, co_await store->read());
    std::vector<std::vector<std::string>> rows{
        {"NAME", "TENANT", "SCOPES", "MAX SANDBOXES", "A MINUTE", "MAX STOPPED", "CREATED", "END"}};
    std::string names;
    nlohmann::json items = nlohmann::json::array();
    for (const serve::ApiKey& key : ring.keys) {
      std::string end = "-";
      if (key.expires_ms) end = rfc3339(WallTime{std::chrono::milliseconds{*key.expires_ms}});
      rows.push_back({key.name, key.tenant, scope_words(key), limit_word(key.max_sandboxes),
                      limit_word(key.creations_per_minute), limit_word(key.max_stopped), key.created_at,
                      std::move(end)});
      items.push_back(nlohmann::json::parse(protocol::to_json(key)));
      names += key.name + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", std::move(items)}}, format_table(rows), names));
    co_return 0;
  }
};

}  // namespace

Command key_ls_command() {
  return {.name = "key ls",
          .group = "Operators",
          .summary = "list the API keys of `skiff serve`, without their text",
          .make = &create_invocation<KeyLs>};
}

}  // namespace skiff::container
