#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/kube/backoff.hpp"
#include "container/kube/client.hpp"
#include "container/kube/object.hpp"

namespace skiff::kube {

struct WatchOptions {
  Resource resource = kPods;
  std::string namespace_name = {};  ///< empty: all
  std::string label_selector = {};
  std::string field_selector = {};
  /// Go on from here: the resourceVersion of a list, or of the object that was just created. Empty: begin with a
  /// snapshot.
  std::string resource_version = {};
  bool metadata_only = false;  ///< of the objects, but in a snapshot: for who waits for their ends
};

struct WatchEvent {
  enum class Kind : std::uint8_t {
    snapshot,  ///< all there is, in place of everything that was told before
    added,
    modified,
    deleted,  ///< with its last state
  };
  Kind kind = Kind::snapshot;
  std::vector<Object> objects;  ///< of a snapshot all, else one
};

/// Follows a set of objects for as long as somebody asks for the next event. A connection that ends, as the server's do
/// every few minutes and whenever a reader is slow, is made anew and goes on where the last one was; what the server no
/// longer remembers (410) comes as a new snapshot. So between two snapshots nothing is missed and nothing is told
/// twice.
class Watch {
 public:
  /// `client` must outlive it.
  Watch(Client* client, WatchOptions options);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// The next event. Fails with what waiting doesn't mend (403, 404, a bad selector), and when the server has been away
  /// for longer than the transport tries, and somebody waits; it may be called again then. May be cancelled and called
  /// again.
  [[nodiscard]] Task<Outcome<WatchEvent>> next();

  /// The state that was told last.
  [[nodiscard]] const std::string& resource_version() const noexcept { return version_; }
  /// How often it had to connect.
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
  std::string received_;      ///< from the connection, not yet told
  std::size_t searched_ = 0;  ///< of it, up to here without a line's end
  std::vector<char> piece_;
  SteadyTime connected_at_{};
  unsigned connections_ = 0;
  Backoff backoff_;
};

}  // namespace skiff::kube
