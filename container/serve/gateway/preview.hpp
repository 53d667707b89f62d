#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/gateway/place.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// Lets a browser see one port of one sandbox until a time, by a URL that somebody with a key has asked for. The URL's
/// token becomes a cookie at the first request, and leaves the address by a redirect: it is never passed on, and no
/// page behind can read or send it elsewhere. Only hosts PORT-SANDBOX.DOMAIN have previews: there each port is an
/// origin of its own (RFC 6454), and a cookie without Domain is sent to that host alone (RFC 6265, 5.3).
///
/// Tokens hold their end, the record that they were made for and the key that they were made with: who takes one looks
/// whether those two are still there. Which sandbox and port is where they are shown. They are made with HMAC-SHA256
/// (RFC 2104), compared in constant time, and one from a URL is not a cookie, nor the other way round.
class Previews {
 public:
  static constexpr std::size_t kShortestKey = 32;

  /// The first key signs, and any of them is accepted. Errors: invalid_field without a key, or with one that is shorter
  /// than `kShortestKey` bytes.
  [[nodiscard]] static Result<Previews> create(std::vector<std::string> keys);

  /// What a preview hangs on. Both are words without a dot.
  struct Given {
    std::string record;  ///< its nonce
    std::string by;      ///< the key
  };
  /// The parameter of a preview's URL: "skiff-preview=TOKEN". The end is cut to whole seconds.
  [[nodiscard]] std::string parameter(std::string_view sandbox, std::uint16_t port, WallTime ends,
                                      const Given& given) const;

  /// What a request shows, that is placed by its host; others show nothing.
  struct Shown {
    WallTime ends;
    Given given;
    /// The answer instead of what was asked for: the cookie, and where to go with it. Absent: the cookie was shown.
    std::optional<protocol::HttpResponse> redirect = {};
  };
  /// Nothing: no preview is shown, or a cookie that is of no use, as in what a page of another origin asks for.
  /// `secure`: the browser sees https. Errors:
  /// unauthenticated for a token in the URL that is not valid here and now; invalid_request for one that is repeated,
  /// or in a request that is neither GET nor HEAD.
  [[nodiscard]] Result<std::optional<Shown>> shown(const protocol::HttpRequest& request, const Placed& placed,
                                                   bool secure, WallTime now) const;

 private:
  explicit Previews(std::vector<std::string> keys) : keys_{std::move(keys)} {}
  [[nodiscard]] std::optional<Shown> read(std::string_view token, std::string_view kind, const Placed& placed,
                                          WallTime now) const;

  std::vector<std::string> keys_;
};

/// Takes the preview's cookie out of the fields of a request that goes on to a sandbox, and leaves the others.
void remove_preview_cookie(protocol::Headers& fields);

/// Takes the parameter of a preview, of whatever sandbox, out of Referer: the page that a link is on may be anywhere.
void remove_preview_links(protocol::Headers& fields);

/// Takes the preview's parameter out of a target, and leaves the rest byte for byte.
[[nodiscard]] std::string without_preview(std::string_view target);

}  // namespace skiff::container::serve
