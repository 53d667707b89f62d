#include "sessions/host/memory_guard.hpp"

#include <algorithm>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/async/timer.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;

namespace {

/// About twice the rate at which two cores can touch fresh pages.
constexpr double kFastestGrowth = 4.0 * 1024 * 1024 * 1024;  // bytes a second

}  // namespace

MemoryGauge::MemoryGauge(const std::filesystem::path& root)
    : directory_{find_cgroup(root, {"memory", "memory.usage_in_bytes", "memory.current"})} {}

std::optional<std::uint64_t> MemoryGauge::oom_kills() const {
  if (!directory_) return std::nullopt;
  return read_cgroup_entry(directory_->group / (directory_->version2 ? "memory.events" : "memory.oom_control"),
                           "oom_kill");
}

std::optional<MemoryUse> MemoryGauge::read() const {
  if (!directory_) return std::nullopt;
  const bool version2 = directory_->version2;
  std::optional<MemoryUse> worst;
  directory_->each_level([&](const std::filesystem::path& directory) {
    const auto usage = read_cgroup_number(directory / (version2 ? "memory.current" : "memory.usage_in_bytes"));
    if (!usage) return;
    const std::uint64_t cache =
        read_cgroup_entry(directory / "memory.stat", version2 ? "inactive_file" : "total_inactive_file").value_or(0);
    const MemoryUse use{
        .used = *usage - std::min(cache, *usage),
        .limit = read_cgroup_number(directory / (version2 ? "memory.max" : "memory.limit_in_bytes")).value_or(0)};
    if (!worst || use.share() > worst->share()) worst = use;
  });
  return worst;
}

struct MemoryGuard::State : std::enable_shared_from_this<MemoryGuard::State> {
  State(Executor on, BlockingPool& looks, MemoryGauge source, Options how, std::function<void(MemoryUse)> call)
      : executor{on}, thread{looks}, gauge{std::move(source)}, options{how}, reached{std::move(call)}, timer{on} {}

  Executor executor;
  BlockingPool& thread;
  const MemoryGauge gauge;
  Options options;
  std::function<void(MemoryUse)> reached;
  Timer timer;
  unsigned run = 0;        ///< odd while started; a look that an earlier run planned does nothing
  bool has_limit = false;  ///< a look of this run has found a limit

  void look_after(std::chrono::milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([self = shared_from_this(), planned = run](const boost::system::error_code& error) {
      if (!error && self->run == planned) self->look();
    });
  }

  void look() {
    // Read on a thread: the kernel may add up the whole cgroup for each of these files.
    thread.post([self = shared_from_this(), started = run, working = asio::make_work_guard(executor)]() mutable {
      std::optional<MemoryUse> use;
      bool looked = true;
      try {
        use = self->gauge.read();
      } catch (const std::bad_alloc&) {
        looked = false;
      }
      const Executor back = self->executor;
      asio::post(back, [self = std::move(self), started, looked, use] {
        if (self->run != started) return;
        if (looked) {
          self->act(use);
        } else {
          self->look_after(self->options.fastest);
        }
      });
      working.reset();
    });
  }

  void act(std::optional<MemoryUse> use) {
    const unsigned started = run;
    if (!use || use->limit == 0) {
      if (has_limit) return look_after(options.slowest);  // no descriptor was free, or the limit is being changed
      ++run;
      return;
    }
    has_limit = true;
    if (use->share() * 100 >= options.percent) reached(*use);
    if (run == started) look_after(period(*use, options));
  }
};

MemoryGuard::MemoryGuard(Executor executor, BlockingPool& thread, MemoryGauge gauge, Options options,
                         std::function<void(MemoryUse)> reached)
    : state_{std::make_shared<State>(executor, thread, std::move(gauge), options, std::move(reached))} {}

MemoryGuard::~MemoryGuard() {
  stop();
}

void MemoryGuard::start() {
  if (state_->run % 2 == 1) return;
  ++state_->run;
  state_->has_limit = false;
  state_->look_after(std::chrono::milliseconds{0});
}

void MemoryGuard::stop() {
  if (state_->run % 2 == 0) return;
  ++state_->run;
  state_->timer.cancel();
}

std::chrono::milliseconds MemoryGuard::period(MemoryUse use, const Options& options) noexcept {
  const double bound = static_cast<double>(use.limit) * options.percent / 100;
  const double left = std::max(bound - static_cast<double>(use.used), 0.0);
  const std::chrono::duration<double> time{left / kFastestGrowth};
  return std::clamp(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::min(time, std::chrono::duration<double>{3600})),
      options.fastest, options.slowest);
}

std::vector<std::uint64_t> memory_of_each(const std::vector<Tree>& trees) {
  std::vector<std::uint64_t> sums;
  sums.reserve(trees.size());
  for (const auto& processes : processes_of_each(trees)) {
    std::uint64_t& sum = sums.emplace_back(0);
    for (const ProcessInfo& one : processes) sum += one.rss_bytes;
  }
  return sums;
}

}  // namespace skiff::sessions
