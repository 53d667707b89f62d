#include "base/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace skiff {

WallTime wall_now() noexcept {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string rfc3339(WallTime time) {
  std::array<char, kRfc3339> text;
  put_rfc3339(time, text);
  const int year = static_cast<int>(std::chrono::year_month_day{std::chrono::floor<std::chrono::days>(time)}.year());
  if (year >= 0 && year <= 9999) return {text.data(), text.size()};
  return std::to_string(year) + std::string{text.data() + 4, text.size() - 4};  // RFC 3339 has no such years
}

void put_rfc3339(WallTime time, std::span<char, kRfc3339> room) noexcept {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const auto of_day = static_cast<std::uint32_t>(std::chrono::floor<std::chrono::milliseconds>(time - day).count());
  // printf takes fifty times as long, and each line of a log, each result and each entry of a list has a time.
  const auto put = [room]<std::size_t kAt, std::size_t kDigits>(std::uint32_t value, char behind) {
    for (std::size_t i = kAt + kDigits; i-- > kAt; value /= 10) room[i] = static_cast<char>('0' + value % 10);
    room[kAt + kDigits] = behind;
  };
  put.operator()<0, 4>(static_cast<std::uint32_t>(static_cast<int>(date.year())), '-');
  put.operator()<5, 2>(static_cast<unsigned>(date.month()), '-');
  put.operator()<8, 2>(static_cast<unsigned>(date.day()), 'T');
  put.operator()<11, 2>(of_day / 3'600'000, ':');
  put.operator()<14, 2>(of_day / 60'000 % 60, ':');
  put.operator()<17, 2>(of_day / 1000 % 60, '.');
  put.operator()<20, 3>(of_day % 1000, 'Z');
}

}  // namespace skiff
