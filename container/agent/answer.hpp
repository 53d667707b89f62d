#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace skiff::container {

/// Reads the fields of one JSON object from an agent, which is not trusted. An absent or null field is empty. A field
/// of another type is empty too, and `check` then returns an error that names it: read all fields, then check. A key
/// may lead into objects: "output/next_offset".
class AgentAnswer {
 public:
  /// `what` names the object in the error, for example "a command". `said` must outlive this object.
  AgentAnswer(const nlohmann::json& said, std::string_view what);

  [[nodiscard]] std::string text(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key);
  [[nodiscard]] bool flag(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  /// Bytes: the field `key`_base64, decoded, or else the text `key`.
  [[nodiscard]] std::string bytes(std::string_view key);
  /// An array; empty when it is absent. It lives as long as the object.
  [[nodiscard]] const nlohmann::json& list(std::string_view key);

  /// invalid_request when a field had the wrong type; it names the first such field.
  [[nodiscard]] Result<> check() const;

 private:
  /// Null when the field is absent.
  [[nodiscard]] const nlohmann::json* find(std::string_view key);
  void refuse(std::string_view key, std::string_view expected);

  const nlohmann::json* said_;
  std::string_view what_;
  std::optional<Error> wrong_;
};

}  // namespace skiff::container
