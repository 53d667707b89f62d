#include "container/sandbox/traced_driver.hpp"

#include <optional>
#include <utility>

#include "container/sandbox/pools.hpp"
#include "container/sandbox/spanning.hpp"

namespace skiff::container {
namespace {

class TracedPools final : public Pools {
 public:
  TracedPools(Pools* pools, TraceParent parent) : pools_{pools}, parent_{std::move(parent)} {}

  Task<Result<PoolStatus>> create(PoolSpec wanted, Progress progress) override {
    auto span = std::make_shared<Span>(begin("create pool", wanted.name));
    auto work = pools_->create(std::move(wanted), noting(span, std::move(progress)));
    return spanning(std::move(span), std::move(work));
  }
  Task<Result<PoolStatus>> scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                 Progress progress) override {
    auto span = std::make_shared<Span>(begin("scale pool", name));
    auto work = pools_->scale(std::move(name), size, wait, noting(span, std::move(progress)));
    return spanning(std::move(span), std::move(work));
  }
  Task<Result<bool>> remove(std::string name) override {
    Span span = begin("remove pool", name);
    return spanning(std::move(span), pools_->remove(std::move(name)));
  }
  Task<Result<std::vector<kube::Object>>> manifest_of(PoolSpec wanted) override {
    Span span = begin("plan pool", wanted.name);
    return spanning(std::move(span), pools_->manifest_of(std::move(wanted)));
  }

  Task<Result<PoolStatus>> status(std::string name) override { return pools_->status(std::move(name)); }
  Task<Result<std::vector<PoolStatus>>> list() override { return pools_->list(); }
  Task<Result<PoolHealth>> heal() override { return pools_->heal(); }

 private:
  [[nodiscard]] Span begin(std::string_view what, const std::string& pool) const {
    Span span = parent_.begin(what);
    span.set("skiff.pool.name", pool);
    return span;
  }

  Pools* pools_;
  TraceParent parent_;
};

class TracedDriver final : public Driver {
 public:
  TracedDriver(std::unique_ptr<Driver> driver, TraceParent parent)
      : driver_{std::move(driver)}, parent_{std::move(parent)} {
    if (Pools* pools = driver_->pools(); pools != nullptr) pools_.emplace(pools, parent_);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return driver_->name(); }
  [[nodiscard]] std::string place() const override { return driver_->place(); }
  [[nodiscard]] std::string_view notice() const noexcept override { return driver_->notice(); }

  Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override {
    auto span = std::make_shared<Span>(begin("create sandbox", spec.name));
    if (!spec.image.empty()) span->set("container.image.name", spec.image);
    auto work = driver_->create(std::move(spec), noting(span, std::move(progress)));
    return spanning(std::move(span), std::move(work));
  }

  Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait, Progress progress) override {
    auto span = std::make_shared<Span>(begin("start sandbox", name));
    auto work = driver_->start(std::move(name), wait, noting(span, std::move(progress)));
    return spanning(std::move(span), std::move(work));
  }

  Task<Result<>> stop(std::string name, Removal how) override {
    Span span = begin("stop sandbox", name);
    return spanning(std::move(span), driver_->stop(std::move(name), std::move(how)));
  }
  Task<Result<>> set_label(std::string name, std::string label, std::string value) override {
    return driver_->set_label(std::move(name), std::move(label), std::move(value));
  }
  Task<Result<bool>> remove(std::string name, Removal how) override {
    Span span = begin("remove sandbox", name);
    return spanning(std::move(span), driver_->remove(std::move(name), std::move(how)));
  }
  Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override {
    Span span = begin("remove sandbox", name);
    return spanning(std::move(span), driver_->remove_if(std::move(name), std::move(id), std::move(how)));
  }
  Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override {
    Span span = begin("extend sandbox", name);
    return spanning(std::move(span), driver_->extend(std::move(name), lease, wait));
  }

  Task<Result<PodOptions>> set_network(std::string name, std::string network, std::vector<std::string> allow) override {
    Span span = begin("change sandbox network", name);
    return spanning(std::move(span), driver_->set_network(std::move(name), std::move(network), std::move(allow)));
  }
  Task<bool> offers_egress() override { return driver_->offers_egress(); }
  Task<Result<EgressState>> set_egress(std::string name, EgressChange change) override {
    Span span = begin("change sandbox egress", name);
    return spanning(std::move(span), driver_->set_egress(std::move(name), std::move(change)));
  }
  Task<Result<std::string>> egress_log(std::string name) override { return driver_->egress_log(std::move(name)); }
  Task<Result<>> follow_egress_log(std::string name, std::function<Result<>(std::string_view lines)> take) override {
    return driver_->follow_egress_log(std::move(name), std::move(take));
  }
  Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override {
    Span span = begin("plan sandbox", spec.name);
    return spanning(std::move(span), driver_->manifest(std::move(spec), to_be_applied));
  }

  Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override {
    auto found = co_await driver_->endpoint(std::move(name), std::move(grant));
    if (found) found->trace = parent_;
    co_return found;
  }

  // Calls that only read are not worth a span.
  Task<Result<Sandbox>> get(std::string name) override { return driver_->get(std::move(name)); }
  Task<Result<Sandbox>> get_recent(std::string name) override { return driver_->get_recent(std::move(name)); }
  void keep_copies() override { driver_->keep_copies(); }
  Task<> await_copies(SteadyTime until) override { return driver_->await_copies(until); }
  Task<Result<>> check_answers() override { return driver_->check_answers(); }
  Task<Result<SandboxPage>> list(SandboxFilter filter) override { return driver_->list(std::move(filter)); }
  [[nodiscard]] std::unique_ptr<ListWatch> watch_list(Executor executor, std::function<void()> changed) override {
    return driver_->watch_list(std::move(executor), std::move(changed));
  }
  Task<Result<MountedLayer>> layer(std::string name) override { return driver_->layer(std::move(name)); }
  Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override {
    return driver_->dial(std::move(name), port);
  }
  [[nodiscard]] std::unique_ptr<Freshness> freshness(const std::string& name) override {
    return driver_->freshness(name);
  }
  [[nodiscard]] Pools* pools() noexcept override { return pools_ ? &*pools_ : nullptr; }
  Task<Result<>> check_host() override { return driver_->check_host(); }
  Task<Result<std::optional<std::string>>> agent_log(std::string name) override {
    return driver_->agent_log(std::move(name));
  }
  Task<std::vector<Check>> examine() override { return driver_->examine(); }
  Task<> close() override { return driver_->close(); }

 private:
  [[nodiscard]] Span begin(std::string_view what, const std::string& sandbox) const {
    Span span = begin_span(parent_, what, sandbox);
    span.set("skiff.driver", std::string{driver_->name()});
    return span;
  }

  std::unique_ptr<Driver> driver_;
  TraceParent parent_;
  std::optional<TracedPools> pools_;
};

}  // namespace

std::unique_ptr<Driver> trace_driver(std::unique_ptr<Driver> driver, TraceParent parent) {
  return std::make_unique<TracedDriver>(std::move(driver), std::move(parent));
}

}  // namespace skiff::container
