#include "container/drivers/docker/relays.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/async/finally.hpp"
#include "container/drivers/docker/arguments.hpp"
#include "container/process/spawn.hpp"

namespace skiff::container::docker {
namespace {

using std::chrono::milliseconds;

/// Time for a relay to end by itself when its client has closed the connection, or this object is closed.
constexpr milliseconds kRelayGrace{1'000};
constexpr milliseconds kLongestRelay = std::chrono::days{365};

std::unexpected<Error> too_many(std::size_t count, const std::string& whose) {
  return fail(Errc::resource_exhausted, std::to_string(count) + " connections to " + whose +
                                            " are open, and skiff opens no more: close one first");
}

}  // namespace

Task<> Relays::outlive(HostProcess relay, std::string container) {
  auto wait = [&](this auto) -> Task<> { (void)co_await child_end(relay, kLongestRelay); };
  co_await finally(std::move(wait), [&](this auto) -> Task<> {
    (void)co_await end_process(relay, kRelayGrace);
    const auto count = counts_.find(container);
    if (--count->second == 0) counts_.erase(count);
  });
}

Result<protocol::Stream> Relays::connect(const Engine& engine, const std::string& container, std::uint16_t port) {
  if (open_.size() >= limits_.all) return too_many(open_.size(), "containers");
  const auto count = counts_.find(container);
  if (count != counts_.end() && count->second >= limits_.of_container) return too_many(count->second, "the container");
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
  ++counts_[container];
  open_.spawn("relay", outlive(process_or_ended(*pid), container));
  return protocol::Stream{executor_, std::move(ours), engine.program()};
}

Task<> Relays::close() {
  return end_tasks(&open_);
}

}  // namespace skiff::container::docker
