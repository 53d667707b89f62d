#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "container/drivers/pods/driver.hpp"
#include "tests/container/cluster/fake_cluster.hpp"

namespace skiff::container::fakes {

/// A cluster with a signing key, and the driver of one launcher.
struct DrivenCluster {
  explicit DrivenCluster(Executor executor) : fake{executor}, driver{fake.cluster.get(), fakes::through_the_proxy()} {}
  Task<> begin() { (void)(co_await fake.cluster->signing_key(true)).value(); }
  Task<> stop() {
    co_await driver.close();
    co_await fake.stop();
  }
  [[nodiscard]] std::string record_says(const std::string& key) const {
    const auto record = fake.server.find(kube::kConfigMaps, "default", "skiff-box");
    return record ? record->text({"data", key}) : "there is no record";
  }
  /// Where in the order of all requests the first of this kind came.
  [[nodiscard]] std::ptrdiff_t place_of(std::string_view method, std::string_view path_end) const {
    const auto& all = fake.server.requests();
    return std::ranges::find_if(all, [&](const FakeRequest& one) { return one.is(method, path_end); }) - all.begin();
  }

  FakeCluster fake;
  PodDriver driver;
};

inline FakeAnswer silent_agent(const FakeRequest& /*request*/) {
  return agent_refusal(503, R"({"code":"draining","detail":"not now"})");
}

}  // namespace skiff::container::fakes
