#include "container/serve/reached.hpp"

#include "base/bytes/text.hpp"

namespace skiff::container::serve {

std::string_view forwarded_for(const protocol::HttpRequest& request, bool behind_proxy) {
  if (!behind_proxy) return {};
  // Some proxies extend the client's field, and others send a second one: in both cases the proxy's value is last.
  std::string_view forwarded;
  for (const auto& [name, value] : request.headers) {
    if (protocol::same_text(name, "X-Forwarded-For")) forwarded = value;
  }
  return trimmed(forwarded.substr(forwarded.rfind(',') + 1));
}

std::string source_of(const protocol::HttpExchange& http, bool behind_proxy) {
  const std::string_view forwarded = forwarded_for(http.request(), behind_proxy);
  return forwarded.empty() ? http.who() : "for " + std::string{forwarded};
}

bool is_by_tls(const protocol::HttpExchange& http, bool behind_proxy) {
  return behind_proxy ? http.request().headers.get("X-Forwarded-Proto") == "https" : http.is_tls();
}

}  // namespace skiff::container::serve
