#include "protocol/http/date.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>

namespace skiff::protocol {
namespace {

/// A 0 stands for a digit, a dot for a letter that is checked elsewhere.
constexpr std::string_view kShape = "..., 00 ... 0000 00:00:00 GMT";
constexpr std::string_view kMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";

bool has_shape(std::string_view text) noexcept {
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool fits = kShape[i] == '0' ? text[i] >= '0' && text[i] <= '9' : kShape[i] == '.' || kShape[i] == text[i];
    if (!fits) return false;
  }
  return true;
}

int number(std::string_view digits) noexcept {
  int value = 0;
  for (const char digit : digits) value = value * 10 + (digit - '0');
  return value;
}

}  // namespace

std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) noexcept {
  namespace chrono = std::chrono;
  if (!has_shape(text)) return std::nullopt;
  const std::size_t month = kMonths.find(text.substr(8, 4));
  if (month == std::string_view::npos || month % 4 != 0) return std::nullopt;
  const chrono::year_month_day day{chrono::year{number(text.substr(12, 4))},
                                   chrono::month{static_cast<unsigned>(month / 4 + 1)},
                                   chrono::day{static_cast<unsigned>(number(text.substr(5, 2)))}};
  const int hour = number(text.substr(17, 2));
  const int minute = number(text.substr(20, 2));
  const int second = number(text.substr(23, 2));
  // 60 is a leap second; the clock counts it as the first second of the next minute.
  if (!day.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return chrono::sys_days{day} + chrono::hours{hour} + chrono::minutes{minute} + chrono::seconds{second};
}

std::string http_date(std::chrono::sys_time<std::chrono::nanoseconds> time) {
  namespace chrono = std::chrono;
  // The names of strftime(3) depend on the locale.
  constexpr std::string_view kDays = "Sun Mon Tue Wed Thu Fri Sat ";
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{chrono::floor<chrono::seconds>(time - day)};
  std::array<char, 40> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%.3s, %02u %.3s %04d %02d:%02d:%02d GMT",
      kDays.data() + 4 * static_cast<std::size_t>(chrono::weekday{day}.c_encoding()), static_cast<unsigned>(date.day()),
      kMonths.data() + 4 * (static_cast<std::size_t>(static_cast<unsigned>(date.month())) - 1),
      static_cast<int>(date.year()), static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string_view http_date_now() {
  thread_local std::time_t made_for = -1;
  thread_local std::string text;
  timespec now{};
  // The coarse clock is a memory read, and a Date needs only seconds.
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != made_for) {
    text = http_date(std::chrono::sys_seconds{std::chrono::seconds{now.tv_sec}});
    made_for = now.tv_sec;
  }
  return text;
}

}  // namespace skiff::protocol
