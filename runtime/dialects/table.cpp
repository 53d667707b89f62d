#include <array>

#include "runtime/dialects/dialect.hpp"
#include "runtime/dialects/python_runtime/dialect.hpp"

namespace skiff::runtime::dialects {

std::span<const Dialect> table() {
  static const std::array dialects{python_runtime::dialect()};
  return dialects;
}

}  // namespace skiff::runtime::dialects
