#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "container/serve/fleet/fleet.hpp"

/// Counts a key's sandboxes by their records, and decides whether it may have one more.
namespace skiff::container::serve {
namespace {

constexpr std::size_t kPage = 500;

/// True if the sandbox does not run and is kept with its files and record.
bool is_kept(const Sandbox& sandbox) {
  return !takes_a_place(sandbox);
}

}  // namespace

Task<Result<std::set<std::string>>> Fleet::names_of(Driver* driver, ApiKey key, bool (*counts)(const Sandbox&)) {
  std::set<std::string> ids;
  SandboxFilter filter{
      .owner = key.tenant, .labels = {{std::string{kKeyLabel}, key.name}}, .damaged = false, .limit = kPage};
  do {
    SKIFF_CO_TRY(auto page, co_await driver->list(filter));
    for (const Sandbox& one : page.items) {
      if (counts(one)) ids.insert(one.name);
    }
    filter.cursor = std::move(page.next);
  } while (!filter.cursor.empty());
  co_return ids;
}

Task<Result<Admission::Permit>> Fleet::admit(Driver* driver, ApiKey key, std::string id) {
  std::set<std::string> ids;
  if (key.max_sandboxes != 0) {
    SKIFF_CO_TRY(auto known, co_await names_of(driver, key, takes_a_place));
    ids = std::move(known);
  }
  co_return admission_.enter(key, id, std::move(ids));
}

Task<Result<bool>> Fleet::has_too_many(Driver* driver, ApiKey key) {
  if (key.max_sandboxes == 0) co_return false;
  SKIFF_CO_TRY(auto all, co_await names_of(driver, key, takes_a_place));
  co_return all.size() > key.max_sandboxes;
}

Task<Result<std::unique_ptr<Fleet::Keeping>>> Fleet::admit_kept(Driver* driver, ApiKey key) {
  if (key.max_stopped == 0) co_return nullptr;
  auto keeping = std::make_unique<Keeping>(&being_kept_, key.sha256);
  // Read the number of earlier calls before the records: a sandbox that is not in the records yet is counted here.
  const std::size_t under_way = being_kept_[key.sha256];
  SKIFF_CO_TRY(auto kept, co_await names_of(driver, key, is_kept));
  if (kept.size() + under_way <= key.max_stopped) co_return std::move(keeping);
  co_return fail(Errc::too_many_sandboxes, "this API key may keep " + std::to_string(key.max_stopped) +
                                               " sandboxes that do not run: remove or start one");
}

Task<Result<std::optional<ApiKey>>> Fleet::key_of(Sandbox sandbox) {
  SKIFF_CO_TRY(auto ring, co_await keys_->current());
  const std::string name = own_label(sandbox, kKeyLabel);
  // Service accounts have no limits.
  if (name.starts_with(kAccountPrefix)) {
    ApiKey account;
    account.name = name;
    account.sha256 = sha256_hex(name);
    account.tenant = sandbox.owner;
    co_return account;
  }
  for (const ApiKey& key : ring->keys) {
    if (key.name == name && key.tenant == sandbox.owner && !key.has_ended(wall_now())) co_return key;
  }
  co_return std::nullopt;
}

}  // namespace skiff::container::serve
