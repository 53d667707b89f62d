#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http/message.hpp"

namespace skiff::protocol {

/// A server that its clients ask for by another name than the one that it is told in Host: a dev server behind a
/// preview is "3000-box.example.com" to its pages, and "localhost:3000" to itself. Where one of the two speaks of the
/// server by its name, the other one gets the name that it knows. What names somebody else stays as it is.
class ServerNames {
 public:
  /// `own` is what the server gets as Host. What clients call it is X-Forwarded-Host, -Proto and -Prefix of
  /// `forwarded`, as `forwarded_request` has made them. `request` itself says whether somebody knew the scheme.
  ServerNames(const HttpRequest& request, const Headers& forwarded, std::string own);

  /// Origin and Referer of the server's own pages, who are of the server's own origin for it, too. An Origin that was
  /// changed takes X-Forwarded-Host and -Proto along: some servers compare it with these instead of Host. A foreign
  /// page's Origin, "null", and the Referer of another application below the same host stay.
  void tell_server(Headers& fields) const;

  /// A Location that leads to the server by its own name becomes one by its path alone, for the client.
  void tell_client(Headers& fields) const;

 private:
  [[nodiscard]] bool is_known_as(std::string_view origin) const;
  [[nodiscard]] std::optional<std::string> referer_for_server(std::string_view referer) const;
  [[nodiscard]] std::optional<std::string> location_for_client(std::string_view location) const;

  std::string own_;
  std::vector<std::string> outer_;     ///< origins, as `normal_origin` has them
  std::optional<std::string> prefix_;  ///< "" or "/a/b"; nothing: it can not be trusted as a path
};

}  // namespace skiff::protocol
