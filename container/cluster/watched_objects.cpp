#include "container/cluster/watched_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/with_timeout.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/kube/objects/pod.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using kube::Outcome;
using std::chrono::steady_clock;

kube::WatchOptions ours(kube::Resource resource, const std::string& namespace_name) {
  return {
      .resource = std::move(resource), .namespace_name = namespace_name, .label_selector = std::string{labels::kOurs}};
}

/// Pods that wait in a pool, by that pool's name; those that a server has taken, by that server; those that start; and
/// all by their nodes.
std::vector<std::string> groups_of(const Object& pod) {
  std::vector<std::string> groups;
  const bool is_ready = kube::is_pod_ready(pod);
  if (is_ready && pod.label(labels::kPoolState) == "free") groups.push_back(pod.label(labels::kPool));
  const std::string taker = pod.annotation(labels::kTakenBy);
  if (!taker.empty()) groups.push_back(std::string{kTakers} + taker);
  if (!is_ready && !judge_pod(pod).failure) groups.emplace_back(kStarting);
  const std::string node = pod.text({"spec", "nodeName"});
  if (!node.empty()) groups.push_back(std::string{kOnNode} + node);
  return groups;
}

}  // namespace

class WatchedObjects::Unchanged final : public Freshness {
 public:
  Unchanged(const WatchedObjects* from, std::string config_map, std::string pod)
      : from_{from},
        config_map_{std::move(config_map)},
        pod_{std::move(pod)},
        versions_{from->config_maps_.version_of(config_map_), from->pods_.version_of(pod_)} {}

  [[nodiscard]] bool holds() noexcept override {
    const SteadyTime now = steady_clock::now();
    is_over_ = is_over_ || from_->config_maps_.version_of(config_map_) != versions_.first ||
               from_->pods_.version_of(pod_) != versions_.second ||
               now - from_->config_maps_.certain_at(config_map_) >= kCertain ||
               now - from_->pods_.certain_at(pod_) >= kCertain;
    return !is_over_;
  }

 private:
  const WatchedObjects* from_;
  std::string config_map_;
  std::string pod_;
  std::pair<std::uint64_t, std::uint64_t> versions_;
  bool is_over_ = false;
};

class WatchedObjects::Listener final : public ListWatch {
 public:
  Listener(WatchedObjects* from, std::function<void()> changed)
      : from_{from}, place_{from->listeners_.insert(from->listeners_.end(), std::move(changed))} {}
  ~Listener() override { from_->listeners_.erase(place_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] bool sees_all() const noexcept override {
    return from_->is_complete() && !from_->pods_.is_refused() && !from_->config_maps_.is_refused();
  }

 private:
  WatchedObjects* from_;
  std::list<std::function<void()>>::iterator place_;
};

WatchedObjects::WatchedObjects(kube::Client* client, kube::ApiPresence* presence, Executor executor,
                               std::string namespace_name)
    : presence_{presence},
      namespace_name_{std::move(namespace_name)},
      read_{executor},
      pods_{client, ours(kube::kPods, namespace_name_), &groups_of},
      config_maps_{client, ours(kube::kConfigMaps, namespace_name_)},
      tasks_{executor} {
  for (kube::Mirror* const copy : {&pods_, &config_maps_}) {
    copy->when_read([this] { read_.notify_all(); });
    copy->when_changed([this] {
      for (const auto& changed : listeners_) changed();
    });
  }
  tasks_.spawn("watch pods", pods_.run());
  tasks_.spawn("watch config maps", config_maps_.run());
}

Task<> WatchedObjects::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<bool> WatchedObjects::first_copies() {
  const auto is_read = [](const kube::Mirror& copy) { return copy.is_complete() || copy.is_refused(); };
  while (!is_read(pods_) || !is_read(config_maps_)) co_await read_.wait();
  co_return true;
}

Task<> WatchedObjects::await_first(SteadyTime until) {
  (void)co_await within(until, first_copies());
}

kube::Mirror* WatchedObjects::copy_of(const kube::Resource& resource, const std::string& namespace_name) {
  if (namespace_name != namespace_name_) return nullptr;
  kube::Mirror* const copy = resource.plural == kube::kPods.plural         ? &pods_
                             : resource.plural == kube::kConfigMaps.plural ? &config_maps_
                                                                           : nullptr;
  return copy != nullptr && copy->is_complete() ? copy : nullptr;
}

void WatchedObjects::note(const kube::Resource& resource, const Object& object) {
  if (kube::Mirror* const copy = copy_of(resource, object.namespace_name())) copy->note(object);
}

void WatchedObjects::note_removed(const kube::Resource& resource, const std::string& namespace_name,
                                  std::string_view name, std::string_view uid) {
  if (kube::Mirror* const copy = copy_of(resource, namespace_name)) copy->note_removed(name, uid);
}

Task<Outcome<Object>> WatchedObjects::read(kube::Resource resource, std::string namespace_name, std::string name) {
  kube::Mirror* const copy = copy_of(resource, namespace_name);
  if (copy == nullptr) {
    co_return co_await presence_->read(std::move(resource), std::move(namespace_name), std::move(name));
  }
  const bool is_known = copy->version_of(name) != 0;
  if (is_known && presence_->is_in_doubt()) co_return *copy->find(name);
  auto answer = co_await presence_->read(std::move(resource), std::move(namespace_name), name,
                                         is_known ? kube::ApiPresence::kReadPatience : kube::ApiPresence::kAway);
  if (answer) copy->note(*answer);
  if (answer || !kube::is_servers_fault(answer.error())) co_return answer;
  if (auto known = copy->find(name)) co_return std::move(*known);
  co_return answer;
}

Task<Outcome<Object>> WatchedObjects::read_recent(kube::Resource resource, std::string namespace_name,
                                                  std::string name) {
  const kube::Mirror* const copy = copy_of(resource, namespace_name);
  if (copy != nullptr && steady_clock::now() - copy->certain_at(name) < kCertain) co_return *copy->find(name);
  co_return co_await read(std::move(resource), std::move(namespace_name), std::move(name));
}

Task<Outcome<Object>> WatchedObjects::read_known(kube::Resource resource, std::string namespace_name,
                                                 std::string name) {
  if (const kube::Mirror* const copy = copy_of(resource, namespace_name)) {
    if (auto known = copy->find(name)) co_return std::move(*known);
  }
  co_return co_await read(std::move(resource), std::move(namespace_name), std::move(name));
}

std::unique_ptr<ListWatch> WatchedObjects::watch(std::function<void()> changed) {
  return std::make_unique<Listener>(this, std::move(changed));
}

std::unique_ptr<Freshness> WatchedObjects::freshness(std::string config_map, std::string pod) const {
  auto unchanged = std::make_unique<Unchanged>(this, std::move(config_map), std::move(pod));
  if (!unchanged->holds()) return nullptr;
  return unchanged;
}

}  // namespace skiff::container
