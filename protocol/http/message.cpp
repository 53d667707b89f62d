#include "protocol/http/message.hpp"

#include <algorithm>
#include <ostream>  // Boost's string_view wants it complete
#include <span>

#include <boost/beast/http/status.hpp>

#include "base/bytes/text.hpp"

namespace skiff::protocol {
namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Copies `text` so that it cannot end the field or the message.
void append_clean(std::string& to, std::string_view text) {
  const std::size_t start = to.size();
  to += text;
  for (char& c : std::span{to}.subspan(start)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool bad = (byte < ' ' && byte != '\t') || byte == 0x7f;
    c = bad ? ' ' : c;
  }
}

}  // namespace

bool same_text(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

Headers::Headers(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  for (const auto& [name, value] : fields) add(name, value);
}

void Headers::add(std::string_view name, std::string_view value) {
  constexpr std::size_t kUsualFields = 8;
  if (entries_.empty()) entries_.reserve(kUsualFields);
  const std::size_t start = wire_.size();
  append_clean(wire_, name);
  wire_ += ": ";
  append_clean(wire_, value);
  wire_ += "\r\n";
  entries_.push_back({static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size())});
}

void Headers::remove(std::string_view name) {
  if (!contains(name)) return;
  Headers kept;
  for (const Field field : *this) {
    if (!same_text(field.name, name)) kept.add(field.name, field.value);
  }
  *this = std::move(kept);
}

void Headers::set(std::string_view name, std::string_view value) {
  // Copy first: `value` may be a view of a field that is removed.
  const std::string copy{value};
  remove(name);
  add(name, copy);
}

void Headers::append(const Headers& others) {
  const auto shift = static_cast<std::uint32_t>(wire_.size());
  wire_ += others.wire_;
  for (Entry entry : others.entries_) {
    entry.start += shift;
    entries_.push_back(entry);
  }
}

void Headers::clear() noexcept {
  wire_.clear();
  entries_.clear();
}

std::optional<std::string_view> Headers::find(std::string_view name) const noexcept {
  for (const Field field : *this) {
    if (same_text(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(begin(), end(), [name](Field field) { return same_text(field.name, name); }));
}

bool Headers::has_token(std::string_view name, std::string_view token) const noexcept {
  for (const Field field : *this) {
    if (!same_text(field.name, name)) continue;
    std::string_view list = field.value;
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      if (same_text(trimmed(list.substr(0, comma)), token)) return true;
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
  }
  return false;
}

Headers::Field Headers::operator[](std::size_t index) const noexcept {
  const Entry& entry = entries_[index];
  const std::string_view wire{wire_};
  return {wire.substr(entry.start, entry.name_size), wire.substr(entry.start + entry.name_size + 2, entry.value_size)};
}

Headers::Iterator Headers::begin() const noexcept {
  return {this, 0};
}
Headers::Iterator Headers::end() const noexcept {
  return {this, entries_.size()};
}

std::string_view reason_phrase(unsigned status) noexcept {
  namespace http = boost::beast::http;
  // These are missing in Beast's table (RFC 8297, RFC 9110).
  if (status == 103) return "Early Hints";
  if (status == 421) return "Misdirected Request";
  if (status == 422) return "Unprocessable Content";
  const http::status known = http::int_to_status(status);
  if (known == http::status::unknown) return "Unknown";
  const auto text = http::obsolete_reason(known);
  return {text.data(), text.size()};
}

std::string serialize_head(unsigned status, const Headers& headers) {
  const std::string_view reason = reason_phrase(status);
  std::string head;
  head.reserve(32 + reason.size() + headers.wire().size());
  head += "HTTP/1.1 ";
  head += std::to_string(status);
  head += ' ';
  head += reason;
  head += "\r\n";
  head += headers.wire();
  head += "\r\n";
  return head;
}

std::string serialize_request_head(std::string_view method, std::string_view target, const Headers& headers) {
  std::string head;
  head.reserve(method.size() + target.size() + 16 + headers.wire().size());
  append_clean(head, method);
  head += ' ';
  append_clean(head, target);
  head += " HTTP/1.1\r\n";
  head += headers.wire();
  head += "\r\n";
  return head;
}

}  // namespace skiff::protocol
