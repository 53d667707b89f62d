#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/shares.hpp"
#include "container/console/session_seal.hpp"
#include "container/serve/keys/key_store.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::console {

/// Turns an API key into a session of a browser, and finds the key of a session again (SessionSeal). A session has
/// exactly the rights that its key has at each request, and ends with it. Reactor thread only.
class SessionDoor {
 public:
  static constexpr std::chrono::hours kLongest{12};
  /// Most keys that are looked up at a time for sign-ins, half of the free ones for one source. An unknown key waits
  /// until the keys were read again, so this also bounds how fast keys can be tried.
  static constexpr std::size_t kSigningIn = 32;

  /// `keys` must outlive it.
  explicit SessionDoor(serve::KeyCache* keys) : keys_{keys} {}

  /// `host_not_allowed` for a name that somebody else's page may have made for this address (DNS rebinding). Over https
  /// the browser has checked that the name is this server's; without, only names of loopback count.
  [[nodiscard]] static Result<> check_host(const protocol::HttpRequest& request, bool is_tls);
  /// `origin_not_allowed` unless this server's own form has sent the request: nobody is signed in by another page.
  [[nodiscard]] static Result<> check_own_form(const protocol::HttpRequest& request, bool is_tls);

  struct SignedIn {
    serve::ApiKey key;
    std::string set_cookie;
  };
  /// Signs a key in. Errors: unauthenticated; resource_exhausted; cluster_unavailable. `source`: address of the client.
  [[nodiscard]] Task<Result<SignedIn>> sign_in(std::string key, std::string source, bool is_tls);
  /// The field Set-Cookie that removes the session from the browser. A copy of the cookie stays valid.
  [[nodiscard]] static std::string signed_out(bool is_tls);

  /// True if the request shows a cookie with the name of a session's.
  [[nodiscard]] static bool shows_session(const protocol::HttpRequest& request, bool is_tls);
  /// The session of a request; the caller checks where the request comes from. Errors: unauthenticated;
  /// cluster_unavailable.
  [[nodiscard]] Task<Result<Session>> session_of(const protocol::HttpRequest* request, std::string source, bool is_tls);

 private:
  serve::KeyCache* keys_;
  Shares signing_in_{kSigningIn};
};

}  // namespace skiff::container::console
