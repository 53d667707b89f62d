#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "container/egress/host_name.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container::egress {

/// A credential that a sandbox uses and never sees: its proxy puts it into the requests to some hosts. Or none: the
/// proxy judges the requests to these hosts, and leaves their fields to the sandbox.
struct Secret {
  std::string name;
  std::vector<std::string> hosts;  ///< HOST or HOST:PORT, as rules; never a wildcard
  std::string header;              ///< the field that it sets, or in which it replaces its placeholder; empty: no value
  std::string format = {};         ///< the value of that field, with {} for the secret; empty: Basic
  std::string user = {};           ///< for Basic
  /// Requests that get it, as RequestRule parses them; no other one passes. Empty: all.
  std::vector<std::string> requests = {};
  std::uint64_t upload_limit = 0;  ///< most bytes of a request's body; 0: any number
  bool websocket = false;          ///< WebSockets pass, too; what passes in them is not looked at
  std::string variable = {};       ///< of commands: it has the placeholder; empty: there is none
  std::string placeholder = {};    ///< stands for the secret where a program insists on one
  bool replaces = false;           ///< only a field that has the placeholder gets the secret
  std::string ca_pem = {};         ///< certificates to trust for these hosts beside the system's
  std::string value;

  /// Errors: `invalid_field`, with the flag. They never have the value.
  [[nodiscard]] Result<> check() const;
  /// False if there is nothing to inject.
  [[nodiscard]] bool has_value() const noexcept { return !header.empty(); }
  [[nodiscard]] bool is_for(const Target& target) const;
  /// The path must be clear if it has rules for requests.
  [[nodiscard]] bool is_for(const std::string& method, const protocol::Target& path) const;
  /// The value of the field that it sets.
  [[nodiscard]] std::string injected() const;
  /// All by which the server could give it back: none of them may reach the sandbox.
  [[nodiscard]] std::vector<std::string> traces() const;

  static constexpr auto fields =
      std::tuple{protocol::field("name", &Secret::name, "Name"),
                 protocol::field("hosts", &Secret::hosts, "Hosts that get it"),
                 protocol::field("header", &Secret::header, "Field that it sets"),
                 protocol::field("format", &Secret::format, "Value of the field", {.optional = true}),
                 protocol::field("user", &Secret::user, "User of Basic", {.optional = true}),
                 protocol::field("requests", &Secret::requests, "Requests that get it", {.optional = true}),
                 protocol::field("upload_limit", &Secret::upload_limit, "Most bytes of a body", {.optional = true}),
                 protocol::field("websocket", &Secret::websocket, "WebSockets pass", {.optional = true}),
                 protocol::field("variable", &Secret::variable, "Variable with the placeholder", {.optional = true}),
                 protocol::field("placeholder", &Secret::placeholder, "Stands for the secret", {.optional = true}),
                 protocol::field("replaces", &Secret::replaces, "Only in place of it", {.optional = true}),
                 protocol::field("ca_pem", &Secret::ca_pem, "Further trusted certificates", {.optional = true}),
                 protocol::field("value", &Secret::value, "The secret")};
};

/// The secrets of a state directory, a file each, which their owner alone may read.
class SecretStore {
 public:
  static constexpr std::size_t kMost = 1000;

  explicit SecretStore(const std::filesystem::path& state) : directory_{state / "egress-secrets"} {}

  /// Adds it, or replaces the one of that name.
  [[nodiscard]] Result<> set(const Secret& secret) const;
  /// `not_found` if there is none.
  [[nodiscard]] Result<Secret> get(std::string_view name) const;
  [[nodiscard]] Result<> remove(std::string_view name) const;
  /// Sorted.
  [[nodiscard]] Result<std::vector<std::string>> names() const;

 private:
  [[nodiscard]] std::filesystem::path file(std::string_view name) const;

  std::filesystem::path directory_;
};

}  // namespace skiff::container::egress
