#include "runtime/api/files/call.hpp"

#include <sys/stat.h>

#include <array>
#include <charconv>
#include <ctime>

#include <boost/asio/basic_waitable_timer.hpp>

#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/events.hpp"

namespace skiff::runtime::api {

using protocol::append_json_integer;
using protocol::append_json_key;
using protocol::append_json_string;

Task<Result<FileCall>> FileCall::of(const Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  co_return FileCall{.tree = std::move(tree), .path = call.params.size() > 1 ? call.params[1] : std::string{}};
}

bool is_long(const Call& call) {
  const std::string_view with = call.route.long_with;
  return with == kAlwaysLong || (!with.empty() && call.query(with));
}

bool wants_long_hash(const fs::Entry& entry, const std::optional<std::string>& tag) {
  return !tag && entry.type == fs::EntryType::file && entry.size <= fs::kMostHashedForTag &&
         !fs::time_tag_is_final(entry);
}

Task<> stop_without_client(protocol::HttpExchange* http, std::stop_source* stop) {
  const bool shut = co_await http->peer_closed();
  if (!shut) co_return;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    Executor>
      patience{http->executor(), kShutPatience};
  co_await patience.async_wait(use_task);
  stop->request_stop();
}

std::string relative_prefix(std::string_view path) {
  std::string prefix;
  auto split = fs::split_path(path);
  if (!split) return prefix;
  for (const std::string_view name : split->names) {
    if (!prefix.empty()) prefix += '/';
    prefix += name;
  }
  return split->absolute ? '/' + prefix : prefix;
}

Result<fs::Conditions> conditions_of(const Call& call) {
  const auto& headers = call.http.request().headers;
  fs::Conditions conditions;
  if (const auto given = headers.find("If-Match")) {
    SKIFF_TRY(auto tags, fs::TagList::parse(*given));
    conditions.if_match = std::move(tags);
  }
  if (const auto given = headers.find("If-None-Match")) {
    if (*given != "*") {
      return fail(Errc::invalid_field, "only If-None-Match: * says something about a change", "If-None-Match");
    }
    conditions.must_be_new = true;
  }
  return conditions;
}

Result<mode_t> asked_mode(const Identity& identity, std::string_view text, std::string_view field) {
  unsigned mode = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || mode > 07777) {
    return fail(Errc::invalid_field, "a mode is octal, as 0644", std::string{field});
  }
  if ((mode & (S_ISUID | S_ISGID)) != 0 && !require(identity, Scope::admin)) {
    return fail(Errc::insufficient_scope, "set-uid and set-gid bits need the scope admin", std::string{field});
  }
  return mode;
}

void append_entry(std::string& out, std::string_view path, const fs::Entry& entry,
                  const std::optional<std::string>& tag) {
  const auto text = [&out](std::string_view key, std::string_view value) {
    append_json_key(out, key);
    append_json_string(out, value);
  };
  // A name that isn't UTF-8 is given twice: readable, and exact. A part of a path that is has it, too.
  const bool is_utf8 = protocol::is_valid_utf8(path);
  const auto name = [&](std::string_view key, std::string_view value, bool known = false) {
    if (known || protocol::is_valid_utf8(value)) return text(key, value);
    text(key, protocol::to_valid_utf8(value));
    text(std::string{key} + "_base64", protocol::encode_base64(value));
  };
  std::string_view last = path;
  while (last.size() > 1 && last.ends_with('/')) last.remove_suffix(1);
  if (const auto slash = last.rfind('/'); slash != std::string_view::npos && last.size() > 1) {
    last.remove_prefix(slash + 1);
  }
  out += '{';
  name("path", path, is_utf8);
  name("name", last, is_utf8);
  text("type", fs::name(entry.type));
  append_json_key(out, "size");
  append_json_integer(out, entry.size);
  std::array<char, 8> mode{'0'};
  const auto end = std::to_chars(mode.data() + 1, mode.data() + mode.size(), entry.mode, 8).ptr;
  const std::string_view octal{mode.data() + 1, end};
  text("mode", octal.size() >= 4 ? octal : std::string(4 - octal.size(), '0') + std::string{octal});
  append_json_key(out, "uid");
  append_json_integer(out, static_cast<std::uint64_t>(entry.uid));
  append_json_key(out, "gid");
  append_json_integer(out, static_cast<std::uint64_t>(entry.gid));
  text("modified_at", rfc3339(std::chrono::floor<std::chrono::microseconds>(entry.modified)));
  if (entry.type == fs::EntryType::link) name("target", entry.target);
  if (tag) text("etag", *tag);
  out += '}';
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

Task<Result<>> answer_entry(Call& call, unsigned status, std::string_view path, const fs::Entry& entry,
                            std::optional<std::string> tag) {
  std::string text;
  append_entry(text, path, entry, tag);
  if (tag) call.http.extra_headers().set("ETag", *tag);
  return call.json(status, std::move(text));
}

std::string http_date(fs::FileTime time) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  // Not strftime: its names follow the locale.
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                                 kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour,
                                 parts.tm_min, parts.tm_sec);
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace skiff::runtime::api
