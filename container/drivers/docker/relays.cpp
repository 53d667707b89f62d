#include "container/drivers/docker/relays.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/async/finally.hpp"
#include "container/drivers/docker/arguments.hpp"
#include "container/host/host_process.hpp"
#include "container/process/spawn.hpp"

namespace skiff::container::docker {
namespace {

using std::chrono::milliseconds;

/// Time for a relay to end by itself when its client has closed the connection, or this object is closed.
constexpr milliseconds kRelayGrace{1'000};
constexpr milliseconds kLongestRelay = std::chrono::days{365};

/// Waits for the end of a relay. A relay ends when its client closes the connection.
Task<> outlive(HostProcess relay) {
  auto wait = [&](this auto) -> Task<> { (void)co_await child_end(relay, kLongestRelay); };
  co_await finally(std::move(wait), [&](this auto) -> Task<> { (void)co_await end_process(relay, kRelayGrace); });
}

}  // namespace

Result<protocol::Stream> Relays::connect(const Engine& engine, const std::string& container, std::uint16_t port) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::unexpected{system_error(errno, "create a socket pair")};
  }
  UniqueFd ours{ends[0]};
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  const UniqueFd theirs{ends[1]};
  const auto pid = spawn({.argv = engine.command_line(relay_arguments(container, port)),
                          .environment = Engine::environment(),
                          .input = theirs.get(),
                          .output = theirs.get(),
                          .is_daemon = true});
  if (!pid) return std::unexpected{system_error(pid.error(), "start " + engine.program())};
  open_.spawn("relay", outlive(process_or_ended(*pid)));
  return protocol::Stream{executor_, std::move(ours), engine.program()};
}

Task<> Relays::close() {
  return end_tasks(&open_);
}

}  // namespace skiff::container::docker
