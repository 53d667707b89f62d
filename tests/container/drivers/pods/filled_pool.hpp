#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "container/drivers/pods/pools.hpp"
#include "container/drivers/pods/record.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/container/cluster/manifest_context.hpp"

namespace skiff::container::fakes {

/// The pool "p" with so many Pods that wait, all of them ready.
struct FilledPool {
  FilledPool(Executor executor, unsigned size)
      : fake{executor}, reach{fake.cluster.get(), through_the_proxy()}, pools{fake.cluster.get(), &reach} {
    PoolSpec pool{.name = "p", .size = size, .sandbox = plain_spec("p")};
    const kube::Object record = fake.server.put(kube::kConfigMaps, create_pool_record(pool, "default", "skiff-"));
    for (unsigned number = 0; number < size; ++number) {
      ManifestContext context = test::manifest_context();
      context.namespace_name = "default";
      kube::Object pod = create_member(pool, record, context, number).value();
      FakeApiServer::make_ready(pod.json);
      fake.server.put(kube::kPods, std::move(pod));
    }
  }
  /// With the key that agents know, and the record of whoever takes one.
  Task<> begin() {
    (void)(co_await fake.cluster->signing_key(true)).value();
    record_ = fake.server.put(kube::kConfigMaps, create_record(sandbox_record("box", "s-box"), "default", "box"));
  }
  [[nodiscard]] kube::Object owner() const { return record_; }
  [[nodiscard]] static SandboxSpec box() {
    SandboxSpec spec = plain_spec("box");
    spec.pod.pool = "p";
    return spec;
  }
  [[nodiscard]] std::size_t patches() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(fake.server.requests(), [](const auto& one) { return one.method == "PATCH"; }));
  }

  FakeCluster fake;
  Reach reach;
  PodPools pools;

 private:
  kube::Object record_;
};

}  // namespace skiff::container::fakes
