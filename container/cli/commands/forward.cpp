#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "container/agent/stream/relay.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "protocol/net/listener.hpp"

namespace skiff::container {
namespace {

struct Ports {
  std::uint16_t local = 0;
  std::uint16_t remote = 0;
};

/// Parses PORT, LOCAL:REMOTE, or :REMOTE for any free local port, as in kubectl.
Result<Ports> parse_ports(const std::string& text) {
  const auto number = [](std::string_view digits, std::uint16_t& into) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  const std::string_view all{text};
  const std::size_t colon = all.find(':');
  Ports ports;
  bool fits = number(all.substr(colon == std::string::npos ? 0 : colon + 1), ports.remote) && ports.remote != 0;
  ports.local = ports.remote;
  if (colon != std::string::npos) {
    ports.local = 0;
    fits = fits && (colon == 0 || number(all.substr(0, colon), ports.local));
  }
  if (!fits) return fail(Errc::invalid_field, "\"" + text + "\": expected PORT, LOCAL:REMOTE or :REMOTE");
  return ports;
}

/// Returns when the reader of this program's output has ended. A file has no reader: then it waits until it is
/// cancelled.
Task<Result<>> until_unread(Executor executor) {
  // epoll reports the end of a pipe's reader without being asked (EPOLLERR, epoll_ctl(2)), and leaves the output
  // blocking for other programs that share it.
  UniqueFd events{epoll_create1(EPOLL_CLOEXEC)};
  if (!events) co_return std::unexpected{system_error(errno, "epoll_create1")};
  epoll_event nothing{};
  (void)epoll_ctl(events.get(), EPOLL_CTL_ADD, STDOUT_FILENO, &nothing);
  boost::asio::posix::stream_descriptor reader{executor, events.release()};
  co_await reader.async_wait(boost::asio::posix::descriptor_base::wait_read, use_task);
  co_return Result<>{};
}

class Forward final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "address",
             .target = setting::List{&addresses_},
             .value = "ADDRESS",
             .help = "Local address to listen on: an IP address of this machine, or localhost for both loopback "
                     "addresses. Everyone who reaches it reaches the sandbox."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    const std::string& name = arguments.words.at(0);
    SKIFF_CO_TRY_VOID(co_await context.endpoint(name));
    TaskGroup group{context.executor()};
    std::vector<std::unique_ptr<protocol::Listener>> listeners;
    for (std::size_t i = 1; i < arguments.words.size(); ++i) {
      SKIFF_CO_TRY(auto ports, parse_ports(arguments.words[i]));
      SKIFF_CO_TRY(auto opened, listen(context.executor(), ports));
      for (auto& listener : opened) {
        const std::string line = listener->address().text() + " -> " + name + ":" + std::to_string(ports.remote);
        SKIFF_CO_TRY_VOID(print(line + "\n"));
        remotes_.push_back(ports.remote);
        listeners.push_back(std::move(listener));
      }
    }
    Result<> ended;
    auto forward = [&](this auto) -> Task<> {
      for (std::size_t i = 0; i < listeners.size(); ++i) {
        group.spawn("listen", accept(listeners[i].get(), &group, driver, name, remotes_[i]));
      }
      ended = co_await until_unread(context.executor());
    };
    co_await finally(std::move(forward), [&] { return end_tasks(&group); });
    if (!ended) co_return std::unexpected{std::move(ended.error())};
    co_return 0;
  }

 private:
  using Listeners = std::vector<std::unique_ptr<protocol::Listener>>;

  /// Listens on each address. Both loopback addresses of localhost get the same port; a machine without IPv6 has only
  /// one.
  [[nodiscard]] Result<Listeners> listen(Executor executor, Ports ports) const {
    std::vector<protocol::Address> addresses;
    for (const std::string& text : addresses_) {
      auto address = protocol::Address::ip(text == "localhost" ? "127.0.0.1" : text, ports.local);
      if (!address)
        return fail(Errc::invalid_field, "--address " + text + ": expected an IP address or localhost", "--address");
      addresses.push_back(std::move(*address));
    }
    Listeners listeners;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const auto any = protocol::any_address(addresses[i], addresses);
      SKIFF_TRY(auto listener, protocol::Listener::open(executor, addresses[i], any));
      const std::uint16_t port = listener->address().port();
      listeners.push_back(std::move(listener));
      if (addresses_[i] != "localhost") continue;
      auto other = protocol::Listener::open(executor, *protocol::Address::ip("::1", port));
      if (other) listeners.push_back(std::move(*other));
    }
    return listeners;
  }

  static Task<> accept(protocol::Listener* listener, TaskGroup* group, Driver* driver, std::string name,
                       std::uint16_t port) {
    const Executor executor = co_await boost::asio::this_coro::executor;
    std::function<void(UniqueFd, protocol::Address)> connected = [&](UniqueFd socket, const protocol::Address& peer) {
      protocol::Stream client{executor, std::move(socket), peer.text()};
      group->spawn("connection", serve(std::move(client), driver, name, port));
    };
    co_await listener->accept_all(std::move(connected));
  }

  static Task<> serve(protocol::Stream client, Driver* driver, std::string name, std::uint16_t port) {
    auto remote = co_await driver->dial(name, port);
    if (!remote) {
      say(remote.error().message);
      co_return;
    }
    co_await relay(std::move(client), std::move(*remote));
  }

  std::vector<std::string> addresses_{"127.0.0.1"};
  std::vector<std::uint16_t> remotes_;
};

}  // namespace

Command forward_command() {
  return {.name = "forward",
          .group = "Access",
          .summary = "forward local ports to TCP ports of a sandbox, until interrupted",
          .text =
              "It also ends when the program that reads its output ends.\n"
              "\n"
              "  skiff forward demo 8000\n"
              "  skiff forward demo 9000:8000 :5432\n"
              "  skiff forward --address 0.0.0.0 demo 8000",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "[LOCAL:]PORT", .repeated = true}},
          .aliases = {"port-forward"},
          .make = &create_invocation<Forward>};
}

}  // namespace skiff::container
