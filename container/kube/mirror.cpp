#include "container/kube/mirror.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/log/log.hpp"

namespace skiff::kube {
namespace {

/// Pause after the watch has given up.
constexpr std::chrono::milliseconds kBeforeAgain{1'000};

/// A later state of an object has a greater number. Kubernetes promises that for the versions of one kind (KEP-5504);
/// 0 for any other text.
std::uint64_t number_of(const std::string& version) {
  std::uint64_t number = 0;
  const char* const end = version.data() + version.size();
  const auto [stopped, error] = std::from_chars(version.data(), end, number);
  return error == std::errc{} && stopped == end ? number : 0;
}

}  // namespace

Mirror::Mirror(Client* client, WatchOptions options, GroupsOf groups_of)
    : groups_of_{std::move(groups_of)}, watch_{client, with_pages(std::move(options))} {}

WatchOptions Mirror::with_pages(WatchOptions options) {
  options.take_page = [this](std::vector<Object> items, bool is_first) { take_page(std::move(items), is_first); };
  return options;
}

Task<> Mirror::run() {
  for (;;) {
    auto event = co_await watch_.next();
    if (event) {
      take(std::move(*event));
      was_changed_();
      continue;
    }
    note_trouble(event.error());
    co_await pause(kBeforeAgain);
  }
}

void Mirror::note_trouble(const Failure& failure) {
  // A server that is away is told of by the requests that need it.
  if (failure.status.code == 0 || failure.status.code >= 500 || std::exchange(is_refused_, true)) return;
  log::warning("objects cannot be watched, and are read one by one instead", {{"error", failure.error.message}});
  was_read_();
}

void Mirror::take(WatchEvent event) {
  is_refused_ = false;
  heard_at_ = std::chrono::steady_clock::now();
  if (event.kind == WatchEvent::Kind::snapshot) return finish_snapshot();
  Object& object = event.objects.front();
  if (event.kind != WatchEvent::Kind::deleted) return store(std::move(object));
  // This process may have made another one of that name since.
  const auto known = kept_.find(object.name());
  if (known != kept_.end() && known->second.version <= number_of(object.resource_version())) erase(object.name());
}

void Mirror::put(All* all, Object object) const {
  Kept kept{.version = number_of(object.resource_version()), .uid = object.uid()};
  if (groups_of_) kept.groups = groups_of_(object);
  if (const auto metadata = object.json.find("metadata"); metadata != object.json.end()) {
    metadata->erase("managedFields");
  }
  kept.text = object.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  all->insert_or_assign(object.name(), std::move(kept));
}

void Mirror::take_page(std::vector<Object> items, bool is_first) {
  if (is_first) coming_.clear();
  for (Object& object : items) put(&coming_, std::move(object));
}

void Mirror::finish_snapshot() {
  const std::uint64_t moment = number_of(watch_.resource_version());
  for (auto& [name, kept] : coming_) {
    const auto before = kept_.find(name);
    if (before != kept_.end() && before->second.uid == kept.uid) kept.is_removed = before->second.is_removed;
  }
  // What this process has changed since the moment of the snapshot is not in it.
  for (auto& [name, kept] : kept_) {
    if (kept.version > moment) coming_.insert_or_assign(name, std::move(kept));
  }
  kept_ = std::exchange(coming_, {});
  groups_.clear();
  for (const auto& [name, kept] : kept_) {
    if (!kept.is_removed) enter_groups(name, kept);
  }
  is_complete_ = true;
  was_read_();
}

void Mirror::enter_groups(const std::string& name, const Kept& kept) {
  for (const std::string& group : kept.groups) groups_[group].insert(name);
}

void Mirror::leave_groups(All::iterator which) {
  for (const std::string& name : which->second.groups) {
    const auto group = groups_.find(name);
    if (group == groups_.end()) continue;
    group->second.erase(which->first);
    if (group->second.empty()) groups_.erase(group);
  }
}

void Mirror::erase(std::string_view name) {
  const auto found = kept_.find(name);
  if (found == kept_.end()) return;
  leave_groups(found);
  kept_.erase(found);
}

void Mirror::store(Object object) {
  const std::string name = object.name();
  const auto before = kept_.find(name);
  const std::uint64_t version = number_of(object.resource_version());
  // The answer to a request of this process was faster than the event before it.
  if (before != kept_.end() && version != 0 && before->second.version > version) return;
  const bool is_removed = before != kept_.end() && before->second.is_removed && before->second.uid == object.uid();
  erase(name);
  put(&kept_, std::move(object));
  Kept& kept = kept_.find(name)->second;
  kept.is_removed = is_removed;
  if (!is_removed) enter_groups(name, kept);
}

void Mirror::note_removed(std::string_view name, std::string_view uid) {
  const auto found = kept_.find(name);
  if (found == kept_.end() || found->second.uid != uid) return;
  leave_groups(found);
  found->second.is_removed = true;
}

void Mirror::note(const Object& object) {
  const std::uint64_t version = number_of(object.resource_version());
  if (!is_complete_ || version == 0) return;
  const SteadyTime now = std::chrono::steady_clock::now();
  auto known = kept_.find(object.name());
  const bool is_same = known != kept_.end() && known->second.version == version;
  // The watch has already told what came after this answer: the object may be gone again.
  if (!is_same && version <= number_of(watch_.resource_version())) return;
  if (!is_same) store(object);
  known = kept_.find(object.name());
  if (known->second.version == version) known->second.noted_at = now;
}

const Mirror::Kept* Mirror::known(std::string_view name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() || found->second.is_removed ? nullptr : &found->second;
}

std::optional<Object> Mirror::find(std::string_view name) const {
  const Kept* const kept = known(name);
  if (kept == nullptr) return std::nullopt;
  return Object{nlohmann::json::parse(kept->text)};
}

void Mirror::for_each(const std::function<void(Object object)>& take) const {
  for (const auto& [name, kept] : kept_) {
    if (!kept.is_removed) take(Object{nlohmann::json::parse(kept.text)});
  }
}

const Mirror::Names& Mirror::group(const std::string& group) const {
  static const Names kNone;
  const auto found = groups_.find(group);
  return found == groups_.end() ? kNone : found->second;
}

std::vector<std::string> Mirror::groups(std::string_view beginning, std::string_view from, std::size_t most) const {
  std::vector<std::string> found;
  for (auto one = groups_.lower_bound(std::string{from}); one != groups_.end() && found.size() < most; ++one) {
    if (!one->first.starts_with(beginning)) break;
    found.push_back(one->first);
  }
  return found;
}

std::uint64_t Mirror::version_of(std::string_view name) const {
  const Kept* const kept = known(name);
  return kept == nullptr ? 0 : kept->version;
}

SteadyTime Mirror::certain_at(std::string_view name) const {
  const Kept* const kept = known(name);
  return kept == nullptr ? SteadyTime{} : std::max(kept->noted_at, heard_at_);
}

}  // namespace skiff::kube
