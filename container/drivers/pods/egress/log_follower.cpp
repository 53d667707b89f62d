#include "container/drivers/pods/egress/log_follower.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/cluster/labels.hpp"
#include "container/kube/pod_log.hpp"
#include "container/kube/watch.hpp"

namespace skiff::container {
namespace {

/// Pause before a log is asked for again: its container starts, or the connection has ended.
constexpr std::chrono::milliseconds kBeforeNext{500};
/// The proxy's last lines about a sandbox come a while after its end.
constexpr std::chrono::milliseconds kLastLines{2'000};

}  // namespace

bool is_about(std::string_view line, std::string_view id) {
  if (!line.contains(id)) return false;
  const auto value = nlohmann::json::parse(line, nullptr, false);
  return value.is_object() && value.contains("id") && value["id"] == id;
}

LogFollower::LogFollower(Cluster* cluster, const KnownPod& known, std::function<Result<>(std::string_view line)> take)
    : cluster_{cluster},
      tenant_{known.record->namespace_name},
      home_{egress_namespace(tenant_)},
      id_{known.record->id},
      take_{std::move(take)},
      ended_{cluster->executor()},
      tasks_{cluster->executor()} {}

Task<Result<>> LogFollower::run() {
  tasks_.spawn("watch of the egress proxy", watch_proxies(this));
  tasks_.spawn("watch of a sandbox's record", watch_record(this));
  std::exception_ptr stopped;
  try {
    co_await until_ended();
  } catch (...) {
    stopped = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  tasks_.cancel();
  co_await tasks_.join();
  if (stopped) std::rethrow_exception(stopped);
  co_return std::move(*result_);
}

Task<> LogFollower::until_ended() {
  while (!result_) co_await ended_.wait();
  if (*result_) co_await pause(kLastLines);
}

void LogFollower::end_with(Result<> result) {
  if (!result_) result_ = std::move(result);
  ended_.notify_all();
}

Task<> LogFollower::watch_record(LogFollower* self) {
  kube::Watch watch{&self->cluster_->client(),
                    {.resource = kube::kConfigMaps,
                     .namespace_name = self->tenant_,
                     .label_selector = std::string{labels::kSandbox}.append("=").append(self->id_)}};
  for (;;) {
    auto event = co_await watch.next();
    if (!event) co_return self->end_with(std::unexpected{std::move(event.error().error)});
    using Kind = kube::WatchEvent::Kind;
    const bool is_gone = event->kind == Kind::deleted || (event->kind == Kind::snapshot && event->objects.empty());
    if (is_gone) co_return self->end_with({});
  }
}

Task<> LogFollower::watch_proxies(LogFollower* self) {
  kube::Watch watch{&self->cluster_->client(),
                    {.resource = kube::kPods,
                     .namespace_name = self->home_,
                     .label_selector = "app.kubernetes.io/name=" + std::string{kEgressName}}};
  for (;;) {
    auto event = co_await watch.next();
    if (!event) co_return self->end_with(std::unexpected{std::move(event.error().error)});
    if (event->kind == kube::WatchEvent::Kind::deleted) continue;
    for (const kube::Object& pod : event->objects) {
      if (self->followed_.insert(pod.name()).second) self->tasks_.spawn("proxy log", follow_one(self, pod.name()));
    }
  }
}

Task<> LogFollower::follow_one(LogFollower* self, std::string pod) {
  kube::LogPlace place;
  for (;;) {
    const auto ended =
        co_await kube::follow_log(&self->cluster_->client(), self->home_, pod, &place, [self](std::string_view line) {
          if (!is_about(line, self->id_)) return true;
          auto taken = self->take_(std::string{line} + "\n");
          if (!taken) self->end_with(std::move(taken));
          return !self->result_ || *self->result_;
        });
    if (!ended && ended.error().not_found()) break;
    if (!ended && ended.error().status.code == 403) co_return self->end_with(std::unexpected{ended.error().error});
    co_await pause(kBeforeNext);
  }
  self->followed_.erase(pod);
}

}  // namespace skiff::container
