#include "runtime/api/files/entry_text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <span>

#include "base/clock.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::append_json_key;
using protocol::append_json_string;

/// Writes text without checking the room, which its caller must provide: checks for each piece would be most of the
/// cost of a list.
class EntryPen {
 public:
  explicit EntryPen(char* to) : to_{to} {}

  EntryPen& text(std::string_view text) {
    std::memcpy(to_, text.data(), text.size());
    to_ += text.size();
    return *this;
  }
  EntryPen& number(std::uint64_t value) {
    to_ = std::to_chars(to_, to_ + kMostNumber, value).ptr;
    return *this;
  }
  /// Four octal digits.
  EntryPen& mode(unsigned bits) {
    for (unsigned shift = 12; shift != 0; shift -= 3) *to_++ = static_cast<char>('0' + (bits >> (shift - 3) & 7U));
    return *this;
  }
  EntryPen& time(WallTime time) {
    put_rfc3339(time, std::span<char, kRfc3339>{to_, kRfc3339});
    to_ += kRfc3339;
    return *this;
  }
  [[nodiscard]] char* end() const { return to_; }

  static constexpr std::size_t kMostNumber = 20;

 private:
  char* to_;
};

/// Appends the text that `write` writes with a pen, at most `most` bytes.
template <class Write>
void append_with_pen(std::string& out, std::size_t most, Write write) {
  out.resize_and_overwrite(out.size() + most, [&, before = out.size()](char* data, std::size_t) {
    return static_cast<std::size_t>(write(EntryPen{data + before}).end() - data);
  });
}

std::string_view last_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

/// Appends a name. One that is not UTF-8 is written twice: as text with replacements, and in base64.
void append_name(std::string& out, std::string_view key, std::string_view value) {
  append_json_key(out, key);
  if (protocol::is_valid_utf8(value)) return append_json_string(out, value);
  append_json_string(out, protocol::to_valid_utf8(value));
  append_json_key(out, std::string{key} + "_base64");
  append_json_string(out, protocol::encode_base64(value));
}

void append_names(std::string& out, std::string_view path) {
  const std::string_view last = last_name(path);
  out += '{';
  if (!protocol::is_plain_json(path)) {
    append_name(out, "path", path);
    append_name(out, "name", last);
    return;
  }
  append_with_pen(out, path.size() + last.size() + 24, [&](EntryPen pen) {
    return pen.text(R"("path":")").text(path).text(R"(","name":")").text(last).text("\"");
  });
}

}  // namespace

void append_entry(std::string& out, std::string_view path, const fs::Entry& entry, std::string_view tag) {
  append_names(out, path);
  append_with_pen(out, 96 + 3 * EntryPen::kMostNumber + kRfc3339, [&](EntryPen pen) {
    pen.text(R"(,"type":")").text(fs::name(entry.type)).text(R"(","size":)").number(entry.size);
    pen.text(R"(,"mode":")")
        .mode(entry.mode)
        .text(R"(","uid":)")
        .number(entry.uid)
        .text(R"(,"gid":)")
        .number(entry.gid);
    pen.text(R"(,"modified_at":")").time(std::chrono::floor<std::chrono::microseconds>(entry.modified)).text("\"");
    return pen;
  });
  if (entry.type == fs::EntryType::link) append_name(out, "target", entry.target);
  if (tag.empty()) {
    out += '}';
    return;
  }
  // Only its own quotes need escapes.
  const std::string_view inside = tag.substr(1, tag.size() - 2);
  append_with_pen(out, inside.size() + 24,
                  [&](EntryPen pen) { return pen.text(R"(,"etag":"\")").text(inside).text(R"(\""})"); });
}

void append_failure(std::string& out, std::string_view path, const Error& error) {
  out += '{';
  append_json_key(out, "path");
  append_json_string(out, protocol::to_valid_utf8(path));
  append_json_key(out, "error");
  out += '{';
  append_json_key(out, "code");
  append_json_string(out, name(error.code));
  append_json_key(out, "detail");
  append_json_string(out, protocol::to_valid_utf8(error.message));
  out += "}}";
}

}  // namespace skiff::runtime::api
