#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container::egress {

/// Requests that a secret is for: a method, and a path with `*` for one segment and a last `**` for all that is below.
class RequestRule {
 public:
  /// Parses `GET /repos/acme/**`. The method `*` is every method, and GET is HEAD, too. Errors: `invalid_field`, with
  /// the rule and what is wrong.
  [[nodiscard]] static Result<RequestRule> parse(const std::string& text);

  /// The path must be clear. Letters count as they are; the query does not count.
  [[nodiscard]] bool allows(const std::string& method, const protocol::Target& target) const;

 private:
  std::string method_;
  std::vector<std::string> segments_;
  bool has_rest_ = false;
};

/// True if all servers read the same path: no part is empty, but the last one may be, no part is `.` or `..`, and none
/// has an encoded slash, a backslash, a control character, or another code below its code.
[[nodiscard]] bool is_clear_path(const protocol::Target& target);

}  // namespace skiff::container::egress
