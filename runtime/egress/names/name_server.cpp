#include "runtime/egress/names/name_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/clock.hpp"
#include "base/log/log.hpp"
#include "base/scope_counter.hpp"
#include "runtime/egress/names/dns_message.hpp"
#include "runtime/egress/names/port_question.hpp"

namespace skiff::runtime::egress {
namespace {

using std::chrono::milliseconds;

/// A program that keeps an address for longer finds its listener closed one day.
constexpr std::chrono::seconds kTimeToLive{10};
constexpr milliseconds kPatience{10'000};

/// After this many datagrams in a row, other coroutines get their turn.
constexpr int kReadsAtOnce = 64;
constexpr milliseconds kBackOff{50};

/// Reads all of it; false: the client has ended, or waits too long.
Task<bool> read_all(protocol::Stream* client, std::span<char> into, SteadyTime until) {
  while (!into.empty()) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    const auto got = co_await client->read_some(into, std::max(left, milliseconds{1}));
    if (!got || *got == 0) co_return false;
    into = into.subspan(*got);
  }
  co_return true;
}

}  // namespace

NameServer::NameServer(Executor executor, Helper* helper, std::size_t listeners)
    : executor_{executor},
      helper_{helper},
      queries_{executor, kQueries},
      names_{executor, helper, listeners},
      tasks_{executor} {}

Result<> NameServer::listen(const protocol::Address& address) {
  SKIFF_TRY(auto listener, protocol::Listener::open(executor_, address));
  const protocol::Address real = listener->address();
  UniqueFd socket{::socket(real.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket || ::bind(socket.get(), real.data(), real.size()) != 0) {
    return std::unexpected{system_error(errno, "listen on " + real.text() + " (UDP)")};
  }
  listener_ = std::move(listener);
  datagrams_.emplace(executor_, socket.release());
  tasks_.spawn("name server", serve_datagrams(this));
  tasks_.spawn("name server", serve_connections(this));
  return {};
}

Task<> NameServer::stop() {
  if (listener_) listener_->close();
  tasks_.cancel();
  co_await tasks_.join();
  co_await names_.stop();
}

Task<> NameServer::serve_datagrams(NameServer* self) {
  std::array<char, kLargestQuery + 1> block{};
  for (int reads = 1;; ++reads) {
    if (reads % kReadsAtOnce == 0) co_await boost::asio::post(self->executor_, use_task);
    auto permit = co_await self->queries_.acquire();
    Peer peer{.storage = {}, .size = sizeof(sockaddr_storage)};
    const ssize_t got = ::recvfrom(self->datagrams_->native_handle(), block.data(), block.size(), 0,
                                   reinterpret_cast<sockaddr*>(&peer.storage), &peer.size);
    if (got >= 0) {
      // No packet comes from elsewhere, unless the machine routes its network to loopback addresses.
      if (!protocol::Address::from_socket(peer.storage, peer.size).is_loopback()) continue;
      std::string query{block.data(), static_cast<std::size_t>(got)};
      self->tasks_.spawn("DNS query", answer_datagram(self, std::move(query), peer, std::move(permit)));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      log::warning("the name server cannot read", {{"error", errno_text(errno)}});
      co_await pause(kBackOff);
    }
    co_await self->datagrams_->async_wait(Datagrams::wait_read, use_task);
  }
}

Task<> NameServer::answer_datagram(NameServer* self, std::string query, Peer peer,
                                   [[maybe_unused]] Semaphore::Permit permit) {
  const std::string answered = co_await answer(self, std::move(query));
  if (answered.empty()) co_return;
  // A full socket buffer drops the answer, and the client asks again.
  (void)::sendto(self->datagrams_->native_handle(), answered.data(), answered.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&peer.storage), peer.size);
}

Task<> NameServer::serve_connections(NameServer* self) {
  co_await self->listener_->accept_all([self](UniqueFd socket, const protocol::Address& peer) {
    if (!peer.is_loopback() || self->connections_ >= kConnections) return;
    self->tasks_.spawn("DNS connection",
                       serve_connection(self, protocol::Stream{self->executor_, std::move(socket), peer.text()}));
  });
}

Task<> NameServer::serve_connection(NameServer* self, protocol::Stream client) {
  const ScopeCounter counted{self->connections_};
  for (;;) {
    const SteadyTime until = std::chrono::steady_clock::now() + kPatience;
    std::array<char, 2> size{};
    if (!co_await read_all(&client, size, until)) co_return;
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(size[at])); };
    std::string query(byte(0) << 8U | byte(1), '\0');
    if (query.size() > kLargestQuery || !co_await read_all(&client, query, until)) co_return;
    std::string answered;
    {
      const auto permit = co_await self->queries_.acquire();
      answered = co_await answer(self, std::move(query));
    }
    if (answered.empty()) co_return;
    const std::array<char, 2> answer_size{static_cast<char>(answered.size() >> 8U), static_cast<char>(answered.size())};
    const std::array<std::string_view, 2> parts{std::string_view{answer_size.data(), answer_size.size()}, answered};
    if (!co_await client.write(parts, kPatience)) co_return;
  }
}

struct NameServer::Question {
  explicit Question(Executor executor) : over{executor} {}
  std::optional<Ports> answer = {};
  bool is_over = false;
  Event over;
};

Task<NameServer::Ports> NameServer::ask(NameServer* self, std::string name) {
  if (const auto asked = self->questions_.find(name); asked != self->questions_.end()) {
    const std::shared_ptr<Question> question = asked->second;
    while (!question->is_over) co_await question->over.wait();
    if (!question->answer) co_return fail(Errc::cancelled, "the question to the egress proxy was broken off");
    co_return *question->answer;
  }
  const auto question = std::make_shared<Question>(self->executor_);
  self->questions_.emplace(name, question);
  // However it ends, nobody who shares it waits for ever.
  struct End {
    ~End() {
      server->questions_.erase(*name);
      question->is_over = true;
      question->over.notify_all();
    }
    NameServer* server;
    const std::string* name;
    Question* question;
  } const end{self, &name, question.get()};
  question->answer = co_await ask_ports(self->helper_, name);
  co_return *question->answer;
}

Task<std::string> NameServer::answer(NameServer* self, std::string message) {
  const auto query = read_dns_query(message);
  if (!query) co_return std::string{};
  const bool is_for_an_address = query->type == kDnsIpv4 || query->type == kDnsIpv6;
  // No name has other records, so that answer is the same for all names, and nobody has to be asked.
  if (query->fault != DnsCode::ok || !is_for_an_address) co_return dns_answer(*query, query->fault);
  if (query->name.empty()) co_return dns_answer(*query, DnsCode::no_name);
  if (query->type == kDnsIpv6 && self->names_.is_open(query->name)) co_return dns_answer(*query, DnsCode::ok);
  const auto ports = co_await ask(self, query->name);
  if (!ports) co_return dns_answer(*query, DnsCode::failed);
  if (ports->empty()) {
    self->names_.close(query->name);
    co_return dns_answer(*query, DnsCode::no_name);
  }
  if (query->type == kDnsIpv6) co_return dns_answer(*query, DnsCode::ok);
  const auto address = self->names_.open(query->name, *ports, std::chrono::steady_clock::now());
  if (!address) co_return dns_answer(*query, DnsCode::failed);
  co_return dns_answer(*query, DnsCode::ok, DnsAddress{.address = *address, .time_to_live = kTimeToLive});
}

}  // namespace skiff::runtime::egress
