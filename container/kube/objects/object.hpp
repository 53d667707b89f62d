#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/kube/objects/resource.hpp"

namespace skiff::kube {

/// One entry of `status.conditions`.
struct Condition {
  std::string type;
  std::string status;  ///< True, False, Unknown
  std::string reason;
  std::string message;
};

/// An object of the API: its complete JSON, and typed views of the fields that skiff reads. Reading never fails: a
/// field that is absent or has another type is empty.
struct Object {
  nlohmann::json json = nlohmann::json::object();

  /// Returns a new object for `Client::create`.
  [[nodiscard]] static Object make(const Resource& resource, std::string_view namespace_name, std::string_view name);

  using Path = std::initializer_list<std::string_view>;
  /// The value at a path of keys; nullptr if there is none.
  [[nodiscard]] const nlohmann::json* find(Path path) const;
  [[nodiscard]] std::string text(Path path) const;
  [[nodiscard]] std::optional<std::int64_t> integer(Path path) const;
  [[nodiscard]] bool is_true(Path path) const;
  [[nodiscard]] std::optional<WallTime> time(Path path) const;
  /// The texts of a map: labels, annotations, data.
  [[nodiscard]] std::map<std::string, std::string> texts(Path path) const;

  [[nodiscard]] std::string name() const { return text({"metadata", "name"}); }
  [[nodiscard]] std::string namespace_name() const { return text({"metadata", "namespace"}); }
  [[nodiscard]] std::string uid() const { return text({"metadata", "uid"}); }
  [[nodiscard]] std::string resource_version() const { return text({"metadata", "resourceVersion"}); }
  [[nodiscard]] std::string label(std::string_view key) const { return text({"metadata", "labels", key}); }
  [[nodiscard]] std::string annotation(std::string_view key) const { return text({"metadata", "annotations", key}); }
  [[nodiscard]] std::optional<WallTime> created() const { return time({"metadata", "creationTimestamp"}); }
  /// True if the object was deleted and a grace period or finalizer still keeps it.
  [[nodiscard]] bool is_being_deleted() const { return find({"metadata", "deletionTimestamp"}) != nullptr; }

  [[nodiscard]] std::vector<Condition> conditions() const;
  [[nodiscard]] std::optional<Condition> condition(std::string_view type) const;

  /// The entry for this object in a dependant's `metadata.ownerReferences`.
  [[nodiscard]] nlohmann::json owner_reference() const;
};

}  // namespace skiff::kube
