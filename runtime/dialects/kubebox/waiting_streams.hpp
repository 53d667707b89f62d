#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/clock.hpp"
#include "runtime/dialects/kubebox/output_stream.hpp"

namespace skiff::runtime::dialects::kubebox {

/// Streams that have no connection at the moment: of processes that were just started in mode `stream`, and of
/// connections that broke. Each waits for a minute. Reactor thread only.
class WaitingStreams {
 public:
  static constexpr std::chrono::milliseconds kPatience{60'000};
  static constexpr std::size_t kMost = 1024;  ///< the oldest goes then

  /// A connection, for who may take up what another one left.
  struct Connection {
    std::string host;          ///< the client's, without a port
    std::uint64_t number = 0;  ///< larger than those of the connections before
  };

  explicit WaitingStreams(Executor executor);

  [[nodiscard]] Connection connection(std::string host) { return {std::move(host), ++last_number_}; }
  /// `of`: whose it was; nothing: no connection's yet.
  void add(std::shared_ptr<OutputStream> stream, std::optional<Connection> of = {});
  /// The one of this process; null when none waits.
  [[nodiscard]] std::shared_ptr<OutputStream> take(const sessions::Command& command);
  /// Those of the broken connections from the same host that are older than this one.
  [[nodiscard]] std::vector<std::shared_ptr<OutputStream>> take_for(const Connection& connection);

  /// Notified when a connection was found dead by its silence: its client may have another one already.
  Event found_dead;

 private:
  struct Entry {
    std::shared_ptr<OutputStream> stream;
    std::optional<Connection> of;
    SteadyTime until;
  };
  void drop_old();

  std::list<Entry> entries_;  ///< the one that has waited longest first
  std::uint64_t last_number_ = 0;
  Deadline expiry_;
};

}  // namespace skiff::runtime::dialects::kubebox
