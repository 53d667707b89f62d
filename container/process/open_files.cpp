#include "container/process/open_files.hpp"

namespace skiff::container {
namespace {

std::optional<rlimit>& inherited_open_files() noexcept {
  static std::optional<rlimit> limit;
  return limit;
}

}  // namespace

void raise_open_files() noexcept {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return;
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) inherited_open_files() = before;
}

rlim_t most_open_files() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

const std::optional<rlimit>& open_files_before() noexcept {
  return inherited_open_files();
}

}  // namespace skiff::container
