#include "container/drivers/box/ids.hpp"

#include <unistd.h>

#include <random>
#include <sstream>

#include "base/small_file.hpp"

namespace skiff::container::box {
namespace {

/// Above the numbers of users, of dynamic users and containers of systemd (up to 1,879,048,191) and of the ranges of
/// directory services (SSSD: up to 2,000,200,000), and below those that are negative in 32 bits.
constexpr std::uint32_t kFirstId = 2'010'000'000;
constexpr std::uint32_t kLastId = 2'099'999'999;

constexpr std::size_t kLongestMap = 65'536;

/// Whether our user namespace has these numbers (user_namespaces(7)).
bool has_ids() {
  std::istringstream lines{read_small_file("/proc/self/uid_map", kLongestMap).value_or("")};
  std::uint64_t inner = 0;
  std::uint64_t outer = 0;
  std::uint64_t count = 0;
  while (lines >> inner >> outer >> count) {
    if (inner <= kFirstId && inner + count > kLastId) return true;
  }
  return false;
}

}  // namespace

Ids new_ids() {
  if (::geteuid() != 0 || !has_ids()) return {.user = ::geteuid(), .group = ::getegid()};
  std::random_device random;
  const std::uint32_t id = std::uniform_int_distribution<std::uint32_t>{kFirstId, kLastId}(random);
  return {.user = id, .group = id};
}

}  // namespace skiff::container::box
