#pragma once

#include <string>

#include "tests/container/agent/lying_agent.hpp"
#include "tests/container/sandbox/refusing_driver.hpp"

namespace skiff::container::fakes {

/// Has one sandbox, which runs, and whose agent is a lying one.
class AgentDriver : public RefusingDriver {
 public:
  explicit AgentDriver(const LyingAgent& agent) : endpoint_{agent.endpoint()} {}

  Task<Result<Sandbox>> create(SandboxSpec spec, Progress) override { co_return sandbox(spec.name); }
  Task<Result<Sandbox>> get(std::string name) override { co_return sandbox(name); }
  Task<Result<bool>> remove(std::string, Removal) override {
    ++removed;
    co_return true;
  }
  Task<Result<Endpoint>> endpoint(std::string, TokenGrant) override { co_return endpoint_; }

  int removed = 0;

 private:
  static Sandbox sandbox(const std::string& name) {
    Sandbox one;
    one.name = name;
    one.id = "id";
    one.state = SandboxState::running;
    return one;
  }

  Endpoint endpoint_;
};

}  // namespace skiff::container::fakes
