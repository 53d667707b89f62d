#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects {

std::span<const Dialect> table() {
  return {};
}

}  // namespace skiff::runtime::dialects
