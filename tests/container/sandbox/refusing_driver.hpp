#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "container/sandbox/driver.hpp"

namespace skiff::container::fakes {

/// Offers nothing: a test overrides what it is about.
class RefusingDriver : public Driver {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  Task<Result<Sandbox>> create(SandboxSpec, Progress) override { return refuse<Sandbox>(); }
  Task<Result<Sandbox>> get(std::string) override { return refuse<Sandbox>(); }
  Task<Result<SandboxPage>> list(SandboxFilter) override { return refuse<SandboxPage>(); }
  Task<Result<>> stop(std::string, Removal) override { return refuse<void>(); }
  Task<Result<Sandbox>> start(std::string, std::chrono::milliseconds, Progress) override { return refuse<Sandbox>(); }
  Task<Result<bool>> remove(std::string, Removal) override { return refuse<bool>(); }
  Task<Result<Sandbox>> extend(std::string, Lease, std::chrono::milliseconds) override { return refuse<Sandbox>(); }
  Task<Result<Endpoint>> endpoint(std::string, TokenGrant) override { return refuse<Endpoint>(); }
  Task<Result<protocol::Stream>> dial(std::string, std::uint16_t) override { return refuse<protocol::Stream>(); }
  Task<Result<PodOptions>> set_network(std::string, std::string, std::vector<std::string>) override {
    return refuse<PodOptions>();
  }
  Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec, bool) override {
    return refuse<std::vector<kube::Object>>();
  }
  Task<std::vector<Check>> examine() override { co_return std::vector<Check>{}; }

 private:
  template <class T>
  static Task<Result<T>> refuse() {
    co_return fail(Errc::not_supported, "not in this test");
  }
};

}  // namespace skiff::container::fakes
