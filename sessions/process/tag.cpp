#include "sessions/process/tag.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "base/id.hpp"
#include "base/unique_fd.hpp"

namespace skiff::sessions {
namespace {

constexpr std::uint64_t kLow = 0xFFFF'FFFF;
constexpr std::uint64_t kLeast = std::uint64_t{1} << 40U;

std::uint64_t own_hard_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_RTTIME, &limit) == 0 ? limit.rlim_max : RLIM_INFINITY;
}

std::uint64_t random_below(std::uint64_t bound) {
  std::uint64_t value = 0;
  random_bytes(std::as_writable_bytes(std::span{&value, 1}));
  return value % bound;
}

/// Reads the hard limit from /proc/PID/limits, which every user may read: prlimit(2) needs the same uid or
/// CAP_SYS_RESOURCE.
std::optional<std::uint64_t> mark_from_proc(pid_t pid) {
  const UniqueFd file{::open(("/proc/" + std::to_string(pid) + "/limits").c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return std::nullopt;
  char buffer[4096];
  const ssize_t size = ::read(file.get(), buffer, sizeof buffer);
  if (size <= 0) return std::nullopt;
  std::string_view text{buffer, static_cast<std::size_t>(size)};
  constexpr std::string_view kName = "Max realtime timeout";
  const auto at = text.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kName.size());
  const auto word = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::string_view found = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(found.size());
    return found;
  };
  (void)word();  // skip the soft limit, which the process may change
  const std::string_view hard = word();
  if (hard == "unlimited") return RLIM_INFINITY;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(hard.data(), hard.data() + hard.size(), value);
  return parsed.ec == std::errc{} ? std::optional{value} : std::nullopt;
}

}  // namespace

TagSource::TagSource() : TagSource{own_hard_limit()} {}

TagSource::TagSource(std::uint64_t hard) {
  if (hard == RLIM_INFINITY) {
    // Count in the upper halves; the highest one would give RLIM_INFINITY.
    first_ = (kLeast >> 32U) + 1;
    count_ = kLow - first_;
    shift_ = 32;
  } else {
    std::uint64_t base = hard & ~kLow;
    if (hard > kLeast && (base < kLeast || hard - base < (1U << 16U))) base = kLeast;
    // Leave the lower part to agents inside commands.
    first_ = base + (hard - base) / 2;
    count_ = std::max<std::uint64_t>(hard - first_, 1);
  }
  position_ = random_below(count_);
}

Tag TagSource::next() noexcept {
  position_ = (position_ + 1) % count_;
  const std::uint64_t value = first_ + position_;
  return shift_ == 0 ? value : (value << 32U) | kLow;
}

std::optional<std::uint64_t> mark_of(pid_t pid) {
  rlimit limit{};
  if (::prlimit(pid, RLIMIT_RTTIME, nullptr, &limit) == 0) return limit.rlim_max;
  if (errno != EPERM) return std::nullopt;
  return mark_from_proc(pid);
}

bool is_tag(std::uint64_t mark) noexcept {
  return mark >= kLeast && mark != RLIM_INFINITY;
}

bool belongs(std::uint64_t mark, Tag tag) noexcept {
  if (mark == tag) return true;
  return (tag & kLow) == kLow && mark >> 32U == tag >> 32U;
}

}  // namespace skiff::sessions
