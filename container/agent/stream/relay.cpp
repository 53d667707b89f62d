#include "container/agent/stream/relay.hpp"

#include <array>
#include <string>
#include <string_view>

#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10U;

/// Passes bytes in one direction. A broken connection closes both streams, which ends the other direction too.
Task<> pass(protocol::Stream* from, protocol::Stream* to) {
  std::string buffer(kBuffer, '\0');
  for (;;) {
    auto got = co_await from->read_some(buffer);
    if (got && *got == 0) {
      to->shutdown_write();
      co_return;
    }
    if (!got) break;
    const std::array parts{std::string_view{buffer.data(), *got}};
    if (auto written = co_await to->write(parts); !written) break;
  }
  from->close();
  to->close();
}

}  // namespace

Task<> relay(protocol::Stream one, protocol::Stream other) {
  TaskGroup group{co_await boost::asio::this_coro::executor};
  auto both = [&] {
    group.spawn("there", pass(&one, &other));
    group.spawn("back", pass(&other, &one));
    return group.join();
  };
  co_await finally(std::move(both), [&] { return end_tasks(&group); });
}

}  // namespace skiff::container
