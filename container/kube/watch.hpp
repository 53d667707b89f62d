#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/kube/client.hpp"
#include "container/kube/objects/object.hpp"
#include "container/net/backoff.hpp"

namespace skiff::kube {

struct WatchOptions {
  Resource resource = kPods;
  std::string namespace_name = {};  ///< empty: all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  /// The resourceVersion to go on from: that of a list, or of an object that was just created. Empty: begin with a
  /// snapshot.
  std::string resource_version = {};
  bool metadata_only = false;  ///< events, but not snapshots, have only metadata: enough to wait for objects' ends
  /// Gets the pages of a snapshot, which then has no objects itself: no more than a page is in memory. `is_first`
  /// replaces the pages before it.
  std::function<void(std::vector<Object> items, bool is_first)> take_page = {};
};

struct WatchEvent {
  enum class Kind : std::uint8_t {
    snapshot,  ///< all objects; replaces all earlier events
    added,
    modified,
    deleted,  ///< with its last state
  };
  Kind kind = Kind::snapshot;
  std::vector<Object> objects;  ///< all objects of a snapshot, else one
};

/// Follows a set of objects as long as the caller asks for the next event. The server ends connections every few
/// minutes and when a reader is slow; the watch then connects again and goes on where the last connection ended. When
/// the server no longer remembers that state (410), a new snapshot comes. So between two snapshots every event comes
/// exactly once.
class Watch {
 public:
  /// `client` must outlive it.
  Watch(Client* client, WatchOptions options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Waits for the next event. Fails with an error that waiting does not cure (403, 404, a bad selector), or when the
  /// server was away for longer than the transport's retries and its latest `Wait`; it may be called again then. It may
  /// be cancelled and called again.
  [[nodiscard]] Task<Outcome<WatchEvent>> next();

  /// The version of the last event.
  [[nodiscard]] const std::string& resource_version() const noexcept { return version_; }
  /// Number of connections so far.
  [[nodiscard]] unsigned connections() const noexcept { return connections_; }

 private:
  [[nodiscard]] Task<Outcome<WatchEvent>> snapshot();
  [[nodiscard]] Task<Outcome<>> connect();
  [[nodiscard]] Task<std::optional<std::string>> read_line();
  [[nodiscard]] Outcome<std::optional<WatchEvent>> take(std::string_view line);
  [[nodiscard]] Outcome<std::optional<WatchEvent>> take_error(const nlohmann::json& status);
  [[nodiscard]] Task<Outcome<>> wait_after(Failure failure);

  Client* client_;
  const WatchOptions options_;
  std::string what_;
  std::string version_;
  std::unique_ptr<protocol::HttpClient> connection_;
  std::string received_;      ///< bytes from the connection that are not parsed yet
  std::size_t searched_ = 0;  ///< length of the part of `received_` without an end of line
  std::vector<char> piece_;
  SteadyTime connected_at_{};
  unsigned connections_ = 0;
  net::Backoff backoff_;
};

}  // namespace skiff::kube
