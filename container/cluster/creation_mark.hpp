#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "container/kube/object.hpp"

/// What a call was making when it was cut off is taken back by that call, and by nobody else: objects are found by
/// names that the user chose, so they say which call has made them.
namespace skiff::container {

/// How long a request that was cut off may still be on its way through the API server.
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
