#include "container/net/time.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace skiff::net {
namespace {

/// Takes fixed-width numbers and single characters off the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_{text} {}

  int number(std::size_t digits) {
    int value = 0;
    if (rest_.size() < digits) return give_up();
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return give_up();
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }
  bool next(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(std::string_view any_of) {
    if (!next(any_of)) give_up();
  }
  /// Reads the digits behind the point; digits below a microsecond are dropped.
  std::chrono::microseconds fraction() {
    std::int64_t value = 0;
    std::size_t count = 0;
    while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      if (count++ < 6) value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    if (count == 0) give_up();
    for (; count < 6; ++count) value *= 10;
    return std::chrono::microseconds{value};
  }
  [[nodiscard]] char front() const { return rest_.empty() ? '\0' : rest_.front(); }
  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

 private:
  int give_up() {
    good_ = false;
    return 0;
  }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::optional<WallTime> parse_time(std::string_view text) {
  namespace chrono = std::chrono;
  Reader reader{text};
  const int year = reader.number(4);
  reader.expect("-");
  const int month = reader.number(2);
  reader.expect("-");
  const int day = reader.number(2);
  reader.expect("Tt");
  const int hour = reader.number(2);
  reader.expect(":");
  const int minute = reader.number(2);
  reader.expect(":");
  const int second = reader.number(2);
  chrono::microseconds fraction{0};
  if (reader.next(".")) fraction = reader.fraction();
  chrono::minutes offset{0};
  if (!reader.next("Zz")) {
    const bool west = reader.front() == '-';
    reader.expect("+-");
    const int hours = reader.number(2);
    reader.expect(":");
    offset = chrono::hours{hours} + chrono::minutes{reader.number(2)};
    if (west) offset = -offset;
  }
  const chrono::year_month_day date{chrono::year{year}, chrono::month{static_cast<unsigned>(month)},
                                    chrono::day{static_cast<unsigned>(day)}};
  // Second 60 is a leap second, which the clock counts as the first second of the next minute.
  if (!reader.done() || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return chrono::sys_days{date} + chrono::hours{hour} + chrono::minutes{minute} + chrono::seconds{second} + fraction -
         offset;
}

std::string format_time(WallTime time) {
  std::string text = rfc3339(time);
  text.erase(text.rfind('.'), text.size() - text.rfind('.') - 1);
  return text;
}

}  // namespace skiff::net
