#pragma once

#include <cstdint>
#include <string>

#include "base/async/task.hpp"
#include "container/console/door.hpp"
#include "container/serve/service.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::container::console {

/// A domain for previews, below `localhost`. Nobody else knows it, and no browser takes its hosts for the same site as
/// the page's (their registrable domains differ).
[[nodiscard]] std::string new_preview_domain();

/// The console's page in front of a server of sandboxes. It serves the page's files and the link to everyone who
/// reaches it. Requests of the page pass on to the server with the API key, which never leaves this process. Previews
/// of programs in sandboxes have hosts of their own, below another domain than the page. All other requests are
/// refused. Reactor thread only.
class Console {
 public:
  /// `service` must outlive it, and has a domain of `new_preview_domain`. `key` is an API key of its. `sandbox` is what
  /// the link shows first; it may be empty.
  Console(serve::Service* service, std::string key, std::string sandbox);

  /// The link that works once.
  [[nodiscard]] std::string link(std::uint16_t port) const;

  /// Answers one request.
  [[nodiscard]] Task<> answer(protocol::HttpExchange& http);

 private:
  /// True if the request was for a preview, and is answered.
  [[nodiscard]] Task<bool> answer_preview(protocol::HttpExchange& http);
  [[nodiscard]] protocol::HttpResponse open(const protocol::HttpRequest& request);
  /// The whole answer to a request that is not passed on.
  [[nodiscard]] std::optional<protocol::HttpResponse> own_answer(const protocol::HttpRequest& request);

  serve::Service* service_;
  std::string key_;
  std::string sandbox_;
  Door door_;
};

}  // namespace skiff::container::console
