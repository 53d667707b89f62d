#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace skiff::container {

/// Reads one object of what an agent says, which is checked like a stranger's. A field that is absent, or null, is
/// empty. One of another type than it should have is empty too, and `check` then gives an error that names it: read all
/// that is needed, then check. A key may lead into objects: "output/next_offset".
class AgentAnswer {
 public:
  /// `what` names the object in the error, as "a command". `said` has to outlive this.
  AgentAnswer(const nlohmann::json& said, std::string_view what);

  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key);
  [[nodiscard]] bool flag(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  /// Bytes that are `key` where they are UTF-8, and else `key`_base64.
  [[nodiscard]] std::string bytes(std::string_view key);
  /// An array; empty when it is absent. It lives as long as what was said.
  [[nodiscard]] const nlohmann::json& list(std::string_view key);

  /// invalid_request when a field had another type than it was read as: of the first one.
  [[nodiscard]] Result<> check() const;

 private:
  /// Null when it is absent.
  [[nodiscard]] const nlohmann::json* find(std::string_view key);
  void refuse(std::string_view key, std::string_view expected);

  const nlohmann::json* said_;
  std::string_view what_;
  std::optional<Error> wrong_;
};

}  // namespace skiff::container
