#pragma once

#include <map>
#include <string>
#include <utility>

#include "container/net/proxy.hpp"

namespace skiff::test {

/// An environment with these variables alone.
inline net::Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto at = values.find(name);
    return at == values.end() ? std::string{} : at->second;
  };
}

}  // namespace skiff::test
