#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/serve/gateway/destination.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

/// Lets a browser reach one port of one sandbox until a time, by a URL that the holder of a key has requested. The
/// first request turns the URL's token into a cookie, and a redirect removes it from the address: it is never passed
/// on, and no page of the sandbox can read it or send it elsewhere. Only hosts PORT-SANDBOX.DOMAIN have previews: there
/// each port is an origin of its own (RFC 6454), and a cookie without Domain is sent to that host alone (RFC 6265,
/// 5.3).
///
/// A token contains its end, the record for which and the key with which it was created: the caller of `shown` checks
/// that both still exist. It also names the tenant by a mark, so that only that tenant's key is needed to verify it.
/// The sandbox and port are those of the request's host. Tokens are signed with HMAC-SHA256 (RFC 2104) and compared in
/// constant time. A token of a URL is not valid as a cookie, nor the other way round.
class Previews {
 public:
  static constexpr std::size_t kShortestKey = 32;

  /// The first key signs; signatures of all keys are accepted. invalid_field without a key, or for one with less than
  /// `kShortestKey` bytes. `mark`: names the tenant in the tokens; a word without a dot.
  [[nodiscard]] static Result<Previews> create(std::vector<std::string> keys, std::string mark);

  /// The tokens of a request, before any of them is verified.
  struct Tokens {
    bool is_link = false;  ///< the token is in the URL; otherwise they are cookies
    std::vector<std::string_view> all = {};
    /// True if one of the tokens names the tenant with this mark.
    [[nodiscard]] bool name_tenant(std::string_view mark) const;
  };
  /// Finds the tokens of a request, which must outlive them; none for a request that is not destination by its host,
  /// or comes from a page of another origin. `secure`: the browser uses https. invalid_request for a token in the URL
  /// that is repeated, or if the request is neither GET nor HEAD.
  [[nodiscard]] static Result<Tokens> tokens_of(const protocol::HttpRequest& request, const Destination& destination,
                                                bool secure);
  /// The error for a token in the URL that is not valid: unauthenticated.
  [[nodiscard]] static Error invalid_link();

  /// The record and key on which a preview depends. Both are words without a dot.
  struct Given {
    std::string record;  ///< nonce of the record
    std::string by;      ///< name of the key
  };
  /// The parameter of a preview's URL: "skiff-preview=TOKEN". The end is truncated to whole seconds.
  [[nodiscard]] std::string parameter(std::string_view sandbox, std::uint16_t port, WallTime ends,
                                      const Given& given) const;

  /// The preview of a request that is destination by its host; other requests have none.
  struct Shown {
    WallTime ends;
    Given given;
    /// The answer that sets the cookie and redirects; empty if the request already has the cookie.
    std::optional<protocol::HttpResponse> redirect = {};
  };
  /// Reads the preview of a request. nullopt without one, and for a cookie that does not count, for example in a
  /// request from a page of another origin. `secure`: the browser uses https. Errors: unauthenticated for a token in
  /// the URL that is not valid for this port at this time; invalid_request if it is repeated, or if the request is
  /// neither GET nor HEAD.
  [[nodiscard]] Result<std::optional<Shown>> shown(const protocol::HttpRequest& request, const Destination& destination,
                                                   bool secure, WallTime now) const;

 private:
  Previews(std::vector<std::string> keys, std::string mark) : keys_{std::move(keys)}, mark_{std::move(mark)} {}
  [[nodiscard]] std::string token_of(std::string_view kind, std::string_view sandbox, std::uint16_t port, WallTime ends,
                                     const Given& given) const;
  [[nodiscard]] std::optional<Shown> read(std::string_view token, std::string_view kind, const Destination& destination,
                                          WallTime now) const;

  std::vector<std::string> keys_;
  std::string mark_;
};

/// Removes the preview's cookie from the fields of a request to a sandbox, and keeps the other cookies.
void remove_preview_cookie(protocol::Headers& fields);

/// Removes the parameter of any sandbox's preview from Referer: the page with a link may be anywhere.
void remove_preview_links(protocol::Headers& fields);

/// Removes the preview's parameter from a target, and keeps the rest byte for byte.
[[nodiscard]] std::string without_preview(std::string_view target);

}  // namespace skiff::container::serve
