#include "container/cli/output/failures.hpp"

#include <utility>

#include "container/cli/output/output.hpp"
#include "container/cluster/rbac.hpp"

namespace skiff::container {

void Failures::add(const std::string& name, Error error) {
  if (!is_one_) say(name + ": " + with_right_hint(error, command_));
  if (!first_) first_ = std::move(error);
}

Result<int> Failures::status() && {
  if (!first_) return 0;
  if (is_one_) return std::unexpected{std::move(*first_)};
  return fail(first_->code, "not everything could be " + std::string{done_});
}

}  // namespace skiff::container
