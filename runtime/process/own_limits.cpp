#include "runtime/process/own_limits.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace skiff::runtime {
namespace {

/// The only object, for operator new's handler.
constinit std::atomic<OwnLimits*> current_limits{nullptr};

/// The name of a limit that the agent needs; empty: it can do without. AS, DATA: memory of the agent and of programs
/// that it starts. CPU: commands would be killed. FSIZE: writes of files and scripts would fail. NOFILE: connections
/// and commands would fail. NPROC: commands would fail. RTTIME: it is the mark of a command (`sessions::Tag`). STACK:
/// programs would crash.
std::string_view needed(int resource) {
  switch (resource) {
    case RLIMIT_AS:
      return "RLIMIT_AS";
    case RLIMIT_CPU:
      return "RLIMIT_CPU";
    case RLIMIT_DATA:
      return "RLIMIT_DATA";
    case RLIMIT_FSIZE:
      return "RLIMIT_FSIZE";
    case RLIMIT_NOFILE:
      return "RLIMIT_NOFILE";
    case RLIMIT_NPROC:
      return "RLIMIT_NPROC";
    case RLIMIT_RTTIME:
      return "RLIMIT_RTTIME";
    case RLIMIT_STACK:
      return "RLIMIT_STACK";
    default:
      return {};
  }
}

/// Bytes of a piece of the reserve. It is small enough to come from the heap: a mapping would go back to the system
/// (M_MMAP_THRESHOLD, mallopt(3)). Its pages are not touched, so they take no memory.
constexpr std::size_t kPiece = 120 * 1024;
constexpr std::size_t kPieces = 8;

constexpr std::size_t kMostText = 4096;  // sixteen lines of 78 characters, and the head

std::string_view read_from_start(const UniqueFd& file, std::array<char, kMostText>& buffer) {
  const ssize_t size = file ? ::pread(file.get(), buffer.data(), buffer.size(), 0) : 0;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

OwnLimits::OwnLimits() : file_{::open("/proc/self/limits", O_RDONLY | O_CLOEXEC)} {
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    ::getrlimit(resource, &limits_[static_cast<std::size_t>(resource)]);
  }
  std::array<char, kMostText> buffer;
  text_ = read_from_start(file_, buffer);
  // The last piece is never freed: free memory at the end of the heap would go back to the system (M_TRIM_THRESHOLD,
  // mallopt(3)).
  while (reserve_.size() <= kPieces) reserve_.push_back(std::make_unique_for_overwrite<char[]>(kPiece));
  current_limits = this;
  std::set_new_handler(&look_for_memory);
}

OwnLimits::~OwnLimits() {
  std::set_new_handler(nullptr);
  current_limits = nullptr;
}

void OwnLimits::look_for_memory() {
  OwnLimits* const own = current_limits;
  if (own == nullptr || !own->make_room()) throw std::bad_alloc{};
}

OwnLimits::Kept OwnLimits::keep() {
  const std::lock_guard lock{mutex_};
  Kept kept = take_back();
  if (std::exchange(restored_meanwhile_, false)) kept.restored = true;
  if (!kept.lost.empty()) give_reserve(kPieces);
  return kept;
}

bool OwnLimits::make_room() noexcept {
  const std::lock_guard lock{mutex_};
  const Kept kept = take_back();
  if (kept.restored) restored_meanwhile_ = true;
  if (kept.lost.empty() || reserve_.size() == 1) return kept.restored;
  give_reserve(1);
  return true;
}

OwnLimits::Kept OwnLimits::take_back() noexcept {
  std::array<char, kMostText> buffer;
  const std::string_view text = read_from_start(file_, buffer);
  if (!text.empty() && text == text_) return {};
  Kept kept;
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    const rlimit& wanted = limits_[static_cast<std::size_t>(resource)];
    rlimit now{};
    if (::getrlimit(resource, &now) != 0 || now.rlim_cur >= wanted.rlim_cur) continue;
    const rlimit before{.rlim_cur = wanted.rlim_cur, .rlim_max = std::max(wanted.rlim_max, now.rlim_max)};
    const rlimit most{.rlim_cur = std::min(wanted.rlim_cur, now.rlim_max), .rlim_max = now.rlim_max};
    const bool all = ::setrlimit(resource, &before) == 0;
    if (all || (most.rlim_cur > now.rlim_cur && ::setrlimit(resource, &most) == 0)) kept.restored = true;
    if (!all && most.rlim_cur < wanted.rlim_cur && kept.lost.empty()) kept.lost = needed(resource);
  }
  return kept;
}

/// Frees up to `pieces` pieces, but never the last one.
void OwnLimits::give_reserve(std::size_t pieces) noexcept {
  ::mallopt(M_ARENA_MAX, 1);  // a thread without an arena could not create one, and must use this heap
  while (pieces-- > 0 && reserve_.size() > 1) reserve_.erase(reserve_.begin());
}

}  // namespace skiff::runtime
