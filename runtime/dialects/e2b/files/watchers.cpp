#include "runtime/dialects/e2b/files/watchers.hpp"

#include <utility>

#include "base/id.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

std::unexpected<Error> no_watcher() {
  return fail(Errc::not_found, "there is not a watcher with this id");
}

}  // namespace

Result<std::string> Watchers::add(Watching watching, SteadyTime now) {
  std::erase_if(entries_, [now](const auto& one) { return now - one.second.used >= kForgotten; });
  if (entries_.size() >= kMost) {
    return fail(Errc::resource_exhausted, "there are " + std::to_string(kMost) + " watchers: remove one first");
  }
  std::string id = new_id("w-");
  entries_.emplace(id, Entry{.watching = std::make_shared<Watching>(std::move(watching)), .used = now});
  return id;
}

Result<std::shared_ptr<Watching>> Watchers::find(std::string_view id, SteadyTime now) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return no_watcher();
  found->second.used = now;
  return found->second.watching;
}

Result<> Watchers::remove(std::string_view id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return no_watcher();
  entries_.erase(found);
  return {};
}

}  // namespace skiff::runtime::dialects::e2b
