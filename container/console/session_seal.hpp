#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace skiff::container::console {

/// A key that has signed in, and the end of its session.
struct Session {
  std::string key;
  WallTime ends;
};

/// Makes the text of a session's cookie and reads it: the end, and the API key, sealed by AES-256-GCM with a secret
/// that all servers of one ring of keys share. No server remembers a session, and each knows the sessions of all.
///
/// The text contains the key itself because a server stores only its digest: whoever copies the stored keys can read
/// sessions, but can make none without a key. Whoever has only the text cannot read the key.
class SessionSeal {
 public:
  /// `token_secret`: that of the ring.
  explicit SessionSeal(std::string_view token_secret);

  /// The end is truncated to whole seconds.
  [[nodiscard]] std::string seal(const Session& session) const;
  /// nullopt unless a seal of the same ring has made the text, and for a session that has ended.
  [[nodiscard]] std::optional<Session> open(std::string_view text, WallTime now) const;

 private:
  std::string secret_;
};

}  // namespace skiff::container::console
