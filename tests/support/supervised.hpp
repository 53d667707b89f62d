#pragma once

#include <chrono>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "sessions/registry.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

/// Sessions with real commands, without an agent around them.
namespace skiff::test {

struct Supervised {
  explicit Supervised(Executor executor, sessions::SupervisorLimits bounds = limits())
      : disk{"test-disk", 1},
        supervisor{executor, disk, disk, std::move(bounds), {.memory_bytes = std::size_t{64} << 20U, .spool = {}}, 1},
        registry{supervisor, {.root = directory.path().string(), .shell = "/bin/sh", .inherited = {}}} {}

  static sessions::SupervisorLimits limits() {
    sessions::SupervisorLimits limits;
    limits.kill_grace = std::chrono::milliseconds{0};
    return limits;
  }
  Task<std::shared_ptr<sessions::Session>> session(std::string id) {
    sessions::SessionSpec spec;
    spec.id = std::move(id);
    spec.idle_timeout = std::chrono::hours{1};
    auto made = co_await registry.create(std::move(spec));
    co_return std::move(made).value();
  }

  /// Before it goes out of scope.
  Task<> close() {
    co_await registry.drain();
    co_await supervisor.tasks.join();
    co_await supervisor.output.budget.drain();
  }

  TemporaryDirectory directory;
  BlockingPool disk;
  sessions::Supervisor supervisor;
  sessions::Registry registry;
};

/// Ends when a timer of that length has: all that was ready before has had its turn by then.
inline Task<> pass(Executor executor, std::chrono::milliseconds time) {
  Event passed{executor};
  Deadline deadline{executor, [&] { passed.notify_all(); }};
  deadline.expires_after(time);
  co_await passed.wait();
}

}  // namespace skiff::test
