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

/// Streams that have no connection: those of processes that were just started in mode `stream`, and those of
/// connections that broke. A stream waits for a minute. Reactor thread only.
class WaitingStreams {
 public:
  static constexpr std::chrono::milliseconds kPatience{60'000};
  static constexpr std::size_t kMost = 1024;  ///< beyond it the oldest is dropped

  /// Identifies a connection, which may take over the streams of older ones.
  struct Connection {
    std::string host;          ///< the client's address without its port
    std::uint64_t number = 0;  ///< larger than the numbers of older connections
  };

  explicit WaitingStreams(Executor executor);

  [[nodiscard]] Connection connection(std::string host) { return {std::move(host), ++last_number_}; }
  /// Adds a stream. `of` is the connection that has lost it; nothing: it had none yet.
  void add(std::shared_ptr<OutputStream> stream, std::optional<Connection> of = {});
  /// Removes and returns the stream of this command; null: none waits.
  [[nodiscard]] std::shared_ptr<OutputStream> take(const sessions::Command& command);
  /// Removes and returns the streams of broken connections from the same host that are older than this one.
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

  std::list<Entry> entries_;  ///< the one that has waited longest is the first
  std::uint64_t last_number_ = 0;
  Deadline expiry_;
};

}  // namespace skiff::runtime::dialects::kubebox
