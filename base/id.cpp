#include "base/id.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/clock.hpp"

namespace skiff {
namespace {

constexpr std::size_t kLongestId = 64;
// Crockford's base 32 in lower case: the digits sort by value, and no letter looks like a digit.
constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";

bool is_alphanumeric(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void append_base32(std::string& out, std::uint64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i) out.push_back(kDigits[(value >> (5 * i)) & 31U]);
}

}  // namespace

bool is_valid_id(std::string_view text) noexcept {
  if (text.empty() || text.size() > kLongestId || !is_alphanumeric(text.front())) return false;
  return std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

std::string new_id(std::string_view prefix) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
  // Random bytes are fetched for 64 ids at a time: each request gets an id, and a system call for each would dominate
  // its cost.
  thread_local std::array<std::uint64_t, 64> supply;
  thread_local std::size_t left = 0;
  if (left == 0) {
    random_bytes(std::as_writable_bytes(std::span{supply}));
    left = supply.size();
  }
  std::uint64_t random = supply[--left];
  // Ids of the same millisecond sort by creation, too.
  thread_local std::int64_t last_millis = 0;
  thread_local std::uint64_t last_random = 0;
  if (millis == last_millis) random = last_random + 1;
  last_millis = millis;
  last_random = random;
  std::string id{prefix};
  append_base32(id, static_cast<std::uint64_t>(millis), 10);
  append_base32(id, random, 10);
  return id;
}

void random_bytes(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got > 0) {
      out = out.subspan(static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      std::abort();
    }
  }
}

}  // namespace skiff
