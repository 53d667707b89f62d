#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/semaphore.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/stream.hpp"
#include "runtime/egress/helper.hpp"
#include "runtime/egress/names/loopback_names.hpp"

namespace skiff::runtime::egress {

/// Where the resolver of programs asks (resolv.conf(5)).
inline constexpr const char* kNameServer = "127.0.0.1:53";

/// The sandbox's name server, for programs that know no proxy. A name that the egress proxy has a rule for gets an
/// address of `LoopbackNames`, another one does not exist, and no query leaves the sandbox. Reactor thread only.
class NameServer {
 public:
  /// Queries at a time; further ones wait in the sockets.
  static constexpr std::size_t kQueries = 32;
  /// Connections at a time, with queries of which each gets its answer before the next.
  static constexpr std::size_t kConnections = 16;

  /// `helper` outlives it. It listens for names with at most `listeners` sockets.
  NameServer(Executor executor, Helper* helper, std::size_t listeners);
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;
  ~NameServer() = default;  // `stop()` must have ended

  /// Answers there from now on, by UDP and TCP. Port 0 takes a free one.
  [[nodiscard]] Result<> listen(const protocol::Address& address);
  [[nodiscard]] const protocol::Address& address() const { return listener_->address(); }
  [[nodiscard]] Task<> stop();

 private:
  using Datagrams = boost::asio::posix::basic_stream_descriptor<Executor>;
  struct Peer {
    sockaddr_storage storage;
    socklen_t size;
  };
  static Task<> serve_datagrams(NameServer* self);
  static Task<> answer_datagram(NameServer* self, std::string query, Peer peer, Semaphore::Permit permit);
  static Task<> serve_connections(NameServer* self);
  static Task<> serve_connection(NameServer* self, protocol::Stream client);
  /// Empty: there is nothing to answer.
  static Task<std::string> answer(NameServer* self, std::string message);
  using Ports = Result<std::vector<std::uint16_t>>;
  struct Question;
  /// Asks the proxy. Clients ask for both families at the same time, so equal questions share an answer.
  static Task<Ports> ask(NameServer* self, std::string name);

  Executor executor_;
  Helper* helper_;
  std::shared_ptr<protocol::Listener> listener_;
  std::optional<Datagrams> datagrams_;
  std::size_t connections_ = 0;
  Semaphore queries_;
  std::map<std::string, std::shared_ptr<Question>, std::less<>> questions_;  ///< those that have no answer yet
  LoopbackNames names_;
  TaskGroup tasks_;
};

}  // namespace skiff::runtime::egress
