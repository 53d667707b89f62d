#include "base/clock.hpp"

#include <cstddef>
#include <cstdint>

namespace skiff {

WallTime wall_now() noexcept {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string rfc3339(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::milliseconds>(time - day)};
  // By hand: every line of a log, every result and every entry of a list has one, and printf takes fifty times as long.
  std::string text{"0000-00-00T00:00:00.000Z"};
  const auto put = [&text](std::size_t at, std::size_t digits, std::int64_t value) {
    for (std::size_t i = at + digits; i-- > at; value /= 10) text[i] = static_cast<char>('0' + value % 10);
  };
  const int year = static_cast<int>(date.year());
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(11, 2, clock.hours().count());
  put(14, 2, clock.minutes().count());
  put(17, 2, clock.seconds().count());
  put(20, 3, clock.subseconds().count());
  if (year >= 0 && year <= 9999) {
    put(0, 4, year);
  } else {
    text.replace(0, 4, std::to_string(year));  // RFC 3339 has no such years
  }
  return text;
}

}  // namespace skiff
