#include "container/agent/relay.hpp"

#include <array>
#include <string>
#include <string_view>

#include "base/task_group.hpp"

#include <boost/asio/this_coro.hpp>

namespace skiff::container {
namespace {

constexpr std::size_t kBuffer = std::size_t{64} << 10U;

/// One direction. A broken connection closes both, which ends the other direction too.
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
  group.spawn("there", pass(&one, &other));
  group.spawn("back", pass(&other, &one));
  std::exception_ptr failure;
  try {
    co_await group.join();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  group.cancel();
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::enable_terminal_cancellation());
}

}  // namespace skiff::container
