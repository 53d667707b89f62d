#pragma once

#include <nlohmann/json.hpp>

#include "container/kube/objects/object.hpp"

namespace skiff::test {

inline kube::Object parse_object(const char* text) {
  return {nlohmann::json::parse(text)};
}

}  // namespace skiff::test
