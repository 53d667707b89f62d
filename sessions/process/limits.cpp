#include "sessions/process/limits.hpp"

#include <algorithm>

namespace skiff::sessions {

std::vector<std::pair<int, rlimit>> kernel_limits(const ResourceLimits& limits, rlim_t open_files) {
  std::vector<std::pair<int, rlimit>> list;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(limits.open_files.value_or(open_files), files.rlim_max);
  if (limits.open_files) files.rlim_max = files.rlim_cur;
  list.emplace_back(RLIMIT_NOFILE, files);
  if (limits.cpu_time_ms) {
    const rlim_t seconds = (*limits.cpu_time_ms + 999) / 1000;
    list.emplace_back(RLIMIT_CPU, rlimit{seconds, seconds + 1});
  }
  if (limits.file_size_bytes) list.emplace_back(RLIMIT_FSIZE, rlimit{*limits.file_size_bytes, *limits.file_size_bytes});
  return list;
}

}  // namespace skiff::sessions
