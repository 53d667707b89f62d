#include "protocol/net/tunnel.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/post.hpp>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/event.hpp"

namespace skiff::protocol {
namespace {

constexpr std::size_t kCarried = 64 * 1024;
/// The waiting bytes of one direction that are not counted.
constexpr std::size_t kCarriedFree = 4 * 1024;
/// After this many bytes without a wait, other tasks get the reactor.
constexpr std::size_t kCarriedAtOnce = 1024 * 1024;

/// The buffer between a read and its write. All tunnels share it, because none keeps bytes in it across a wait.
std::span<char> shared_block() {
  static thread_local const auto block = std::make_unique_for_overwrite<char[]>(kCarried);
  return {block.get(), kCarried};
}

struct Tunnel {
  Tunnel(Stream* one_in, Stream* other_in, TunnelLimits limits_in)
      : one{one_in},
        other{other_in},
        limits{limits_in},
        silence{one->executor(), [this] { close(); }},
        ended{one->executor()} {}

  void close() const noexcept {
    one->close();
    other->close();
  }
  /// Restarts the limit of silence after progress.
  void moved() {
    if (directions == 1) silence.expires_after(limits.silent);
  }

  Stream* one;
  Stream* other;
  TunnelLimits limits;
  Deadline silence;
  Event ended;
  int directions = 2;  ///< directions that have not ended
};

/// Carries bytes until `from` ends; returns true then, or false when a connection broke.
Task<bool> carry(Stream* from, Stream* to, Tunnel* tunnel) {
  const std::span<char> block = shared_block();
  ReceiveBudget::Share held{tunnel->limits.budget,
                            {.who = tunnel->limits.who, .patience = tunnel->limits.stall, .free = kCarriedFree},
                            [tunnel] { tunnel->close(); }};
  std::size_t at_once = 0;
  for (;;) {
    const auto got = from->try_read(block);
    if (!got) {
      at_once = 0;
      if (auto ready = co_await from->readable(); !ready) co_return false;
      continue;
    }
    if (!*got) co_return false;
    if (**got == 0) {
      to->shutdown_write();
      co_return true;
    }
    tunnel->moved();
    const std::array<std::string_view, 1> bytes{std::string_view{block.data(), **got}};
    const auto sent = to->try_write(bytes);
    if (!sent) co_return false;
    if (*sent < **got) {
      if (!held.hold(**got - *sent)) co_return false;
      const std::string rest{bytes[0].substr(*sent)};
      const std::array<std::string_view, 1> parts{rest};
      if (auto written = co_await to->write(parts, tunnel->limits.stall); !written) co_return false;
      (void)held.hold(0);
      at_once = 0;
    } else if ((at_once += **got) >= kCarriedAtOnce) {
      co_await boost::asio::post(from->executor(), use_task);
      at_once = 0;
    }
  }
}

Task<> one_direction(Stream* from, Stream* to, Tunnel* tunnel) {
  if (!co_await carry(from, to, tunnel)) tunnel->close();
  --tunnel->directions;
  tunnel->moved();
  tunnel->ended.notify_all();
}

Task<> until_both_ended(Tunnel* tunnel) {
  co_await one_direction(tunnel->one, tunnel->other, tunnel);
  while (tunnel->directions > 0) co_await tunnel->ended.wait();
}

}  // namespace

Task<> tunnel(Stream* one, Stream* other, TunnelLimits limits) {
  Tunnel state{one, other, limits};
  co_await run_beside(one_direction(other, one, &state), until_both_ended(&state));
  state.close();
}

}  // namespace skiff::protocol
