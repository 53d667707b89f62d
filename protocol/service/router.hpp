#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/target.hpp"

namespace skiff::protocol::service {

/// The parts of a path between its slashes: "/a/b/" has {"a", "b", ""}.
using Segments = std::vector<std::string_view>;

/// Decoded segments. They are valid as long as the target.
[[nodiscard]] Segments decoded_segments(const Target& target);
/// The segments as they were sent. "*" has none.
[[nodiscard]] Segments split_path(std::string_view path);

/// The result of a router.
struct Match {
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t route = kNone;                 ///< index in the table; kNone: no such path, or not with this method
  std::vector<std::string> parameters = {};  ///< the values of the path's variables, in order
  std::string allow = {};                    ///< the methods that the path has, for 405; empty: no such path

  [[nodiscard]] bool is_found() const noexcept { return route != kNone; }
};

/// Why nothing was found: `not_found` with the text `no_such_path`, or `method_not_allowed`.
[[nodiscard]] Error no_route(const Match& match, std::string_view no_such_path);

struct RouterOptions {
  bool head_as_get = true;          ///< the row of GET answers HEAD; false: HEAD is a method like others
  bool slash_at_end = false;        ///< "/a/" is "/a"
  bool rest_may_be_absent = false;  ///< "/a" is "/a/" for "/a/{path}"
};

/// Finds the row of a route table for a method and a path. The first row that fits wins.
class Router {
 public:
  /// `routes` are rows as `Route` has them, whose texts must outlive the router.
  template <class Routes>
  explicit Router(const Routes& routes, RouterOptions options = {}) : options_{options} {
    for (const auto& route : routes) add(route.method, route.path, !route.websocket);
  }

  [[nodiscard]] Match match(std::string_view method, std::span<const std::string_view> segments) const;
  /// The path of a row, as it is in the table.
  [[nodiscard]] std::string_view path(std::size_t route) const { return rows_.at(route).path; }

 private:
  /// A row with its path in parts.
  struct Row {
    std::string_view method;
    std::string_view path;
    Segments parts;
    bool takes_rest;
    bool takes_head;
  };
  void add(std::string_view method, std::string_view path, bool may_take_head);
  [[nodiscard]] bool fits(const Row& row, std::span<const std::string_view> segments) const;
  [[nodiscard]] static bool takes(const Row& row, std::string_view method);
  static void allow(const Row& row, std::string& methods);

  RouterOptions options_;
  std::vector<Row> rows_;
};

}  // namespace skiff::protocol::service
