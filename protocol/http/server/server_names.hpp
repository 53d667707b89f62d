#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http/message.hpp"

namespace skiff::protocol {

/// Translates the two names of a server: the name that clients use, and the one in its Host field. A dev server behind
/// a preview is "3000-box.example.com" to its pages, and "localhost:3000" to itself. Fields with the name of one side
/// are rewritten to the name that the other side knows; other names are unchanged.
class ServerNames {
 public:
  /// `own` is the Host that the server gets. X-Forwarded-Host, -Proto and -Prefix of `forwarded`, as
  /// `forwarded_request` has created them, are the clients' name. `request` shows whether an intermediary knew the
  /// scheme.
  ServerNames(const HttpRequest& request, const Headers& forwarded, std::string own);

  /// Rewrites Origin and Referer of the server's own pages to the server's own origin. A rewritten Origin also changes
  /// X-Forwarded-Host and -Proto, because some servers compare it with these instead of Host. The Origin of a foreign
  /// page, "null", and the Referer of another application on the same host stay.
  void tell_server(Headers& fields) const;

  /// Rewrites a Location with the server's own name to a path alone, for the client.
  void tell_client(Headers& fields) const;

 private:
  [[nodiscard]] bool is_known_as(std::string_view origin) const;
  [[nodiscard]] std::optional<std::string> referer_for_server(std::string_view referer) const;
  [[nodiscard]] std::optional<std::string> location_for_client(std::string_view location) const;

  std::string own_;
  std::vector<std::string> outer_;     ///< origins in the form of `normal_origin`
  std::optional<std::string> prefix_;  ///< "" or "/a/b"; nothing: it is not a safe path
};

}  // namespace skiff::protocol
