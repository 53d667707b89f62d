#include "container/cluster/watched_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"
#include "base/log/log.hpp"
#include "container/cluster/labels.hpp"
#include "container/kube/objects/pod.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using kube::Outcome;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenQuestions{1'000};
constexpr unsigned kServerFault = 500;

kube::WatchOptions ours(kube::Resource resource, const std::string& namespace_name) {
  return {
      .resource = std::move(resource), .namespace_name = namespace_name, .label_selector = std::string{labels::kOurs}};
}

/// True if the API server has not answered, or not as it would if it were well.
bool is_servers_fault(const kube::Failure& failure) {
  return failure.status.code == 0 || failure.status.code >= kServerFault;
}

std::unexpected<kube::Failure> unanswered() {
  return std::unexpected{kube::Failure{
      .error = {Errc::cluster_unavailable, "the API server does not answer", std::string{kube::kClusterFault}}}};
}

/// Pods that wait in a pool, by that pool's name.
std::string pool_of(const Object& pod) {
  const bool waits = pod.label(labels::kPoolState) == "free" && !pod.is_being_deleted() && kube::is_pod_ready(pod);
  return waits ? pod.label(labels::kPool) : std::string{};
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

WatchedObjects::WatchedObjects(kube::Client* client, Executor executor, std::string namespace_name)
    : client_{client},
      namespace_name_{std::move(namespace_name)},
      pods_{client, ours(kube::kPods, namespace_name_), &pool_of},
      config_maps_{client, ours(kube::kConfigMaps, namespace_name_)},
      decided_{executor},
      tasks_{executor} {
  tasks_.spawn("watch pods", pods_.run());
  tasks_.spawn("watch config maps", config_maps_.run());
}

Task<> WatchedObjects::stop() {
  tasks_.cancel();
  co_await tasks_.join();
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
  if (copy == nullptr) co_return co_await client_->get(std::move(resource), std::move(namespace_name), std::move(name));
  if (is_in_doubt_) {
    if (auto known = copy->find(name)) co_return std::move(*known);
    if (is_away_) co_return unanswered();
  }
  auto answer = co_await within(steady_clock::now() + kReadPatience,
                                client_->get(std::move(resource), std::move(namespace_name), name));
  if (answer && *answer) copy->note(**answer);
  if (answer && (*answer || !is_servers_fault(answer->error()))) co_return std::move(*answer);
  doubt();
  if (auto known = copy->find(name)) co_return std::move(*known);
  if (answer) co_return std::move(*answer);
  co_return unanswered();
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

void WatchedObjects::doubt() {
  is_in_doubt_ = true;
  begin_asking();
}

void WatchedObjects::begin_asking() {
  if (std::exchange(is_asking_, true)) return;
  tasks_.spawn("ask whether the API server is back", ask_until_answered());
}

Task<> WatchedObjects::ask_until_answered() {
  for (;;) {
    // Like most requests, it needs etcd, too.
    auto answer = co_await within(steady_clock::now() + kAway,
                                  client_->list_page(kube::kConfigMaps, namespace_name_,
                                                     {.label_selector = std::string{labels::kOurs}, .page = 1}));
    if (answer && (*answer || !is_servers_fault(answer->error()))) break;
    is_in_doubt_ = true;
    if (!std::exchange(is_away_, true)) log::warning("the API server does not answer", {{"place", namespace_name_}});
    decided_.notify_all();
    co_await pause(kBetweenQuestions);
  }
  if (std::exchange(is_away_, false)) log::info("the API server answers again", {{"place", namespace_name_}});
  is_asking_ = is_in_doubt_ = false;
  decided_.notify_all();
}

Task<Result<>> WatchedObjects::check_answers() {
  const bool is_known = steady_clock::now() - client_->transport().served_at() < kReadPatience;
  if (is_known && !is_in_doubt_) co_return Result<>{};
  begin_asking();
  while (is_asking_ && !is_away_) co_await decided_.wait();
  if (!is_away_) co_return Result<>{};
  co_return fail(Errc::cluster_unavailable, "the API server does not answer");
}

std::unique_ptr<Freshness> WatchedObjects::freshness(std::string config_map, std::string pod) const {
  auto unchanged = std::make_unique<Unchanged>(this, std::move(config_map), std::move(pod));
  if (!unchanged->holds()) return nullptr;
  return unchanged;
}

}  // namespace skiff::container
