#include "protocol/net/tunnel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/clock.hpp"

namespace skiff::protocol {
namespace {

constexpr std::size_t kCarried = 64 * 1024;
/// More at a time for a fast sender with a fast receiver, if no pipe carries it.
constexpr std::size_t kCarriedFast = 256 * 1024;
/// The waiting bytes of one direction that are not counted.
constexpr std::size_t kCarriedFree = 4 * 1024;
/// After this many bytes without a wait, other tasks get the reactor.
constexpr std::size_t kCarriedAtOnce = 1024 * 1024;
/// A read and its write count as so many bytes at least.
constexpr std::size_t kLeastOfBurst = 4 * 1024;
/// A receiver that takes longer for `kCarried` gains no speed from a pipe, and keeps it from others.
constexpr std::chrono::milliseconds kCarriedSlow{12};

/// The buffer between a read and its write. All tunnels share it, because none keeps bytes in it across a wait.
std::span<char> shared_block(bool is_fast) {
  static thread_local const auto block = std::make_unique_for_overwrite<char[]>(kCarriedFast);
  return {block.get(), is_fast ? kCarriedFast : kCarried};
}

/// A pipe from a Unix socket costs more than copies do, and the kernel does not know the keys of TLS.
bool can_splice(const Stream& from, const Stream& to) {
  int family = AF_UNIX;
  socklen_t size = sizeof family;
  return !from.is_tls() && !to.is_tls() && ::getsockopt(from.fd(), SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
         family != AF_UNIX;
}

/// Gives the reactor to others after each `kCarriedAtOnce` bytes without a wait.
class BurstTurn {
 public:
  [[nodiscard]] bool is_over(std::size_t bytes) noexcept {
    bytes_ += std::max(bytes, kLeastOfBurst);
    return bytes_ >= kCarriedAtOnce;
  }
  void begin() noexcept { bytes_ = 0; }

 private:
  std::size_t bytes_ = 0;
};

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
  BurstTurn turn;
};

/// Bytes that came without a wait for their sender.
struct Burst {
  enum class Then : unsigned char { silence, fast, slow, end, broken };
  Then then = Then::broken;
  std::size_t bytes = 0;
};

/// How long a receiver takes for bytes.
class Pace {
 public:
  [[nodiscard]] bool is_slow(std::size_t bytes) const {
    return std::chrono::steady_clock::now() - began_ > kCarriedSlow * (bytes / kCarried + 1);
  }

 private:
  SteadyTime began_ = std::chrono::steady_clock::now();
};

/// Copies a burst, by a block at a time. With pipes it ends at a large block that was taken fast.
Task<Burst> copy_burst(Stream* from, Stream* to, Tunnel* tunnel, ReceiveBudget::Share* held, bool is_fast) {
  using Then = Burst::Then;
  const std::span<char> block = shared_block(is_fast);
  for (;;) {
    const auto got = from->try_read(block);
    if (!got) co_return Burst{.then = Then::silence};
    if (!*got) co_return Burst{};
    if (**got == 0) co_return Burst{.then = Then::end};
    tunnel->moved();
    const std::array<std::string_view, 1> bytes{std::string_view{block.data(), **got}};
    const Pace pace;
    const auto sent = to->try_write(bytes);
    if (!sent) co_return Burst{};
    if (*sent < **got) {
      if (!held->hold(**got - *sent)) co_return Burst{};
      const std::string rest{bytes[0].substr(*sent)};
      const std::array<std::string_view, 1> parts{rest};
      if (auto written = co_await to->write(parts, tunnel->limits.stall); !written) co_return Burst{};
      (void)held->hold(0);
      tunnel->turn.begin();
    } else if (tunnel->turn.is_over(**got)) {
      co_await boost::asio::post(from->executor(), use_task);
      tunnel->turn.begin();
    }
    if (tunnel->limits.pipes != nullptr && **got >= kCarried && !pace.is_slow(**got))
      co_return Burst{.then = Then::fast};
  }
}

/// Carries a burst through a pipe, as long as its receiver is fast.
Task<Burst> splice_burst(Stream* from, Stream* to, Tunnel* tunnel, SplicePipes::Pipe pipe) {
  using Then = Burst::Then;
  std::size_t bytes = 0;
  for (;;) {
    const auto filled = pipe.fill(from);
    // A sender that is silent after less is not fast.
    if (!filled) co_return Burst{.then = Then::silence, .bytes = bytes};
    if (!*filled) co_return Burst{};
    if (**filled == 0) co_return Burst{.then = Then::end};
    bytes += **filled;
    tunnel->moved();
    const Pace pace;
    while (pipe.size() > 0) {
      const auto sent = pipe.drain(to);
      if (!sent) co_return Burst{};
      if (*sent > 0) {
        tunnel->moved();
      } else if (auto ready = co_await to->writable(tunnel->limits.stall); !ready) {
        co_return Burst{};
      }
    }
    if (pace.is_slow(**filled)) co_return Burst{.then = Then::slow};
    if (tunnel->turn.is_over(**filled)) {
      co_await boost::asio::post(from->executor(), use_task);
      tunnel->turn.begin();
    }
  }
}

/// Carries bytes until `from` ends, or a connection breaks.
Task<> one_direction(Stream* from, Stream* to, Tunnel* tunnel) {
  using Then = Burst::Then;
  ReceiveBudget::Share held{tunnel->limits.budget,
                            {.who = tunnel->limits.who, .patience = tunnel->limits.stall, .free = kCarriedFree},
                            [tunnel] { tunnel->close(); }};
  const bool may_splice = tunnel->limits.pipes != nullptr && can_splice(*from, *to);
  Burst burst{.then = Then::slow};
  while (burst.then != Then::end && burst.then != Then::broken) {
    const bool is_fast = burst.then == Then::fast || (burst.then == Then::silence && burst.bytes >= kCarried);
    auto pipe = is_fast && may_splice ? tunnel->limits.pipes->take(*tunnel->limits.who) : std::nullopt;
    burst = pipe ? co_await splice_burst(from, to, tunnel, std::move(*pipe))
                 : co_await copy_burst(from, to, tunnel, &held, is_fast);
    if (burst.then != Then::silence) continue;
    if (auto ready = co_await from->readable(); !ready) burst.then = Then::broken;
    tunnel->turn.begin();
  }
  if (burst.then == Then::end) {
    to->shutdown_write();
  } else {
    tunnel->close();
  }
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
