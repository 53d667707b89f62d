#include "runtime/dialects/sandboxd/options.hpp"

namespace skiff::runtime::dialects::sandboxd {

Options& options() noexcept {
  static Options all;
  return all;
}

}  // namespace skiff::runtime::dialects::sandboxd
