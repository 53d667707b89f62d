#include "container/egress/cluster/serve_cluster.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/async/blocking_pool.hpp"
#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "base/log/log.hpp"
#include "base/small_file.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/cluster/egress/secret_objects.hpp"
#include "container/egress/cluster/cluster_proxy.hpp"
#include "container/kube/auth/access.hpp"
#include "container/kube/transport.hpp"
#include "container/kube/watch.hpp"
#include "container/net/public_address.hpp"
#include "container/net/resolver.hpp"
#include "container/process/open_files.hpp"
#include "protocol/http/server/server.hpp"
#include "protocol/net/listener.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Address;
using protocol::Listener;

constexpr std::size_t kClusterWords = 4;
/// Connections to the port with the metrics.
constexpr std::size_t kScrapers = 32;
constexpr std::size_t kLargestKeys = std::size_t{64} << 10U;
/// Pause after the watch has given up.
constexpr std::chrono::milliseconds kBeforeAgain{1'000};

int give_up(const std::string& why) {
  std::fprintf(stderr, "skiff egress serve: %s\n", why.c_str());
  return 1;
}

/// No address is public while those of this Pod are not known.
bool is_public_here(const Address& address) {
  const auto own = net::own_addresses();
  return own && net::is_public(address, *own);
}

bool write_line(std::string_view line) {
  return ::write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

/// The program: its proxy, the watches that feed it, and its three ports.
class Program {
 public:
  Program(boost::asio::io_context* io, kube::Client* client)
      : io_{io},
        client_{client},
        proxy_{io->get_executor(),
               {.resolve = net::system_resolver(),
                .is_public = is_public_here,
                .public_keys = [] { return read_small_file(std::string{kEgressKeysFile}, kLargestKeys); },
                .log = write_line}},
        numbers_{io->get_executor(),
                 {.limits = {.slots = {.authenticated = kScrapers, .strangers = kScrapers}},
                  .handler = [this](protocol::HttpExchange& http) { return answer_numbers(&http); }}},
        tasks_{io->get_executor()} {}

  Task<> follow_pods() {
    return follow("the Pods cannot be watched",
                  {.resource = kube::kPods, .namespace_name = client_->default_namespace()},
                  {.put = [this](const kube::Object& pod) { proxy_.put(pod); },
                   .erase = [this](std::string_view name) { proxy_.erase(name); },
                   .keep =
                       [this](const std::set<std::string>& names) {
                         proxy_.keep(names);
                         knows_pods_ = true;
                       },
                   // Without the Pods nobody can be served.
                   .failed = [] {}});
  }

  Task<> follow_secrets() {
    return follow("the secrets cannot be watched: requests to their hosts are refused",
                  {.resource = kube::kSecrets,
                   .namespace_name = egress_namespace(client_->default_namespace()),
                   .label_selector = egress_secret_selector()},
                  {.put = [this](const kube::Object& secret) { proxy_.secrets().put(secret); },
                   .erase = [this](std::string_view name) { proxy_.secrets().erase(name); },
                   .keep =
                       [this](const std::set<std::string>& names) {
                         proxy_.secrets().keep(names);
                         knows_secrets_ = true;
                       },
                   .failed = [this] { knows_secrets_ = true; }});
  }

  Task<> end_with(boost::asio::signal_set* signals) {
    co_await signals->async_wait(use_task);
    for (const auto& listener : listeners_) listener->close();
    co_await numbers_.stop();
    co_await proxy_.stop();
    tasks_.cancel();
    co_await tasks_.join();
    io_->stop();
  }

  void start(boost::asio::signal_set* signals) {
    boost::asio::co_spawn(*io_, end_with(signals), boost::asio::detached);
    tasks_.spawn("watch of Pods", follow_pods());
    tasks_.spawn("watch of secrets", follow_secrets());
  }

 private:
  /// What becomes of the objects of a watch.
  struct Followed {
    std::function<void(const kube::Object&)> put;
    std::function<void(std::string_view name)> erase;
    std::function<void(const std::set<std::string>& names)> keep;  ///< all of them are known
    std::function<void()> failed;
  };

  /// Follows the objects until it is cancelled.
  Task<> follow(std::string complaint, kube::WatchOptions what, Followed followed) {
    std::set<std::string> names;
    what.take_page = [&](const std::vector<kube::Object>& objects, bool is_first) {
      if (is_first) names.clear();
      for (const kube::Object& object : objects) {
        names.insert(object.name());
        followed.put(object);
      }
    };
    kube::Watch watch{client_, std::move(what)};
    for (;;) {
      auto event = co_await watch.next();
      if (!event) {
        log::warning(complaint, {{"error", event.error().error.message}});
        followed.failed();
        open();
        co_await pause(kBeforeAgain);
        continue;
      }
      switch (event->kind) {
        case kube::WatchEvent::Kind::snapshot:
          followed.keep(names);
          open();
          break;
        case kube::WatchEvent::Kind::deleted:
          followed.erase(event->objects.front().name());
          break;
        default:
          followed.put(event->objects.front());
      }
    }
  }

  /// The kubelet looks whether the port is open; scrapers read /metrics.
  Task<> answer_numbers(protocol::HttpExchange* http) {
    const auto& request = http->request();
    protocol::HttpResponse answer{.status = 404, .body = "there is GET /metrics\n"};
    if (request.method == "GET" && request.target_text == "/metrics") {
      answer = {.status = 200,
                .headers = {{"Content-Type", std::string{MetricsTable::kContentType}}},
                .body = proxy_.metrics()};
    }
    (void)co_await http->respond(std::move(answer));
  }

  /// Listens, once, when all is known.
  void open() {
    if (!knows_pods_ || !knows_secrets_ || !listeners_.empty()) return;
    listen(kEgressPort, [this](UniqueFd socket, const Address& peer) { proxy_.serve(std::move(socket), peer); });
    listen(kEgressCanaryPort, [this](const UniqueFd&, const Address& peer) { proxy_.note_canary(peer); });
    listen(kEgressHealthPort,
           [this](UniqueFd socket, const Address& peer) { numbers_.serve(std::move(socket), peer); });
  }

  void listen(std::uint16_t port, std::function<void(UniqueFd, Address)> connected) {
    const auto address = Address::ip("::", port);
    auto listener = address ? Listener::open(io_->get_executor(), *address) : std::unexpected{address.error()};
    if (!listener) std::_Exit(give_up(listener.error().message));
    listeners_.push_back(std::move(*listener));
    tasks_.spawn("listener", listeners_.back()->accept_all(std::move(connected)));
  }

  boost::asio::io_context* io_;
  kube::Client* client_;
  ClusterProxy proxy_;
  protocol::HttpServer numbers_;
  bool knows_pods_ = false;
  bool knows_secrets_ = false;  ///< or is refused to know them
  std::vector<std::unique_ptr<Listener>> listeners_;
  TaskGroup tasks_;
};

}  // namespace

bool is_serve_cluster(std::span<const char* const> arguments) {
  return arguments.size() == kClusterWords && std::string_view{arguments[0]} == "egress" &&
         std::string_view{arguments[1]} == "serve" && std::string_view{arguments[2]} == "--cluster";
}

int serve_cluster(std::span<const char* const> arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  raise_open_files();
  // Secrets and keys are in this memory.
  (void)::prctl(PR_SET_DUMPABLE, 0);
  boost::asio::io_context io;
  auto access = kube::find_access({.namespace_name = arguments[3]}, net::process_environment);
  if (!access) return give_up(access.error().message);
  auto transport =
      kube::Transport::open(io.get_executor(), std::make_shared<BlockingPool>("skiff-kube", 2), std::move(*access), {});
  if (!transport) return give_up(transport.error().message);
  kube::Client client{std::move(*transport)};
  Program program{&io, &client};
  boost::asio::signal_set signals{io, SIGTERM, SIGINT};
  program.start(&signals);
  io.run();
  return 0;
}

}  // namespace skiff::container::egress
