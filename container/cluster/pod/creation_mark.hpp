#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "container/kube/objects/object.hpp"

/// A call that was interrupted removes the objects that it has created, and no others. Objects are found by names that
/// the user chose, so each is marked with the call that has created it.
namespace skiff::container {

/// How long a request may take effect in the API server after its connection broke.
inline constexpr std::chrono::milliseconds kLateArrival{500};

/// An annotation.
inline constexpr std::string_view kCreation = "skiff.dev/creation";

inline void mark_creation(kube::Object& object, const std::string& creation) {
  object.json["metadata"]["annotations"][kCreation] = creation;
}
[[nodiscard]] inline bool is_marked(const kube::Object& object, std::string_view creation) {
  return !creation.empty() && object.annotation(kCreation) == creation;
}

}  // namespace skiff::container
