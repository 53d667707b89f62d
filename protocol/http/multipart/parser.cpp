#include "protocol/http/multipart/parser.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes/text.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/target.hpp"

namespace skiff::protocol {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMostBoundaryBytes = 200;

/// Whether a backslash escapes the next character (RFC 9110, 5.6.4) or stands for itself.
enum class Backslash : bool { itself, escape };

/// Takes the next `; name=value` from the front of `rest`; returns false at the end. Only `\"` and `\\` are escapes, as
/// old browsers sent them, so a Windows path stays intact.
bool take_parameter(std::string_view& rest, Backslash backslash, std::string& name, std::string& value) {
  const std::size_t begin = rest.find_first_not_of("; \t");
  if (begin == std::string_view::npos) return false;
  rest.remove_prefix(begin);
  const std::size_t name_end = std::min(rest.find_first_of("=;"), rest.size());
  name = trimmed(rest.substr(0, name_end));
  value.clear();
  rest.remove_prefix(name_end);
  if (!rest.starts_with('=')) return true;
  rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  if (!rest.starts_with('"')) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    value = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    return true;
  }
  std::size_t at = 1;
  for (; at < rest.size() && rest[at] != '"'; ++at) {
    const bool escapes = backslash == Backslash::escape && rest[at] == '\\' && at + 1 < rest.size() &&
                         (rest[at + 1] == '"' || rest[at + 1] == '\\');
    if (escapes) ++at;
    value += rest[at];
  }
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return true;
}

/// Clients write a quote within a name as `%22` (WHATWG HTML, multipart/form-data encoding algorithm). Their only other
/// escapes are those of line ends, which no file name has.
std::string with_quotes(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool quote = text.substr(i).starts_with("%22");
    name += quote ? '"' : text[i];
    if (quote) i += 2;
  }
  return name;
}

/// Parses `UTF-8''na%20me` (RFC 8187); nothing for another form.
std::optional<std::string> extended_value(std::string_view text) {
  const std::size_t charset = text.find('\'');
  const std::size_t language = charset == std::string_view::npos ? charset : text.find('\'', charset + 1);
  if (language == std::string_view::npos || !same_text(text.substr(0, charset), "utf-8")) return std::nullopt;
  auto decoded = percent_decode(text.substr(language + 1));
  if (!decoded) return std::nullopt;
  return std::move(*decoded);
}

std::unexpected<Error> bad_body(std::string_view why) {
  return fail(Errc::invalid_request, "the multipart body is not valid: " + std::string{why});
}

Result<PartHead> parse_head(std::string_view fields) {
  std::optional<std::string_view> disposition;
  bool has_type = false;
  while (!fields.empty()) {
    const std::size_t end = std::min(fields.find(kLineEnd), fields.size());
    const std::string_view line = fields.substr(0, end);
    fields.remove_prefix(std::min(end + kLineEnd.size(), fields.size()));
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) return bad_body("a line of a part's head is not a header field");
    const std::string_view name = line.substr(0, colon);
    if (same_text(name, "Content-Disposition")) disposition = line.substr(colon + 1);
    has_type = has_type || same_text(name, "Content-Type");
  }
  if (!disposition) return bad_body("a part has no Content-Disposition");
  std::string_view rest = *disposition;
  rest.remove_prefix(std::min(rest.find(';'), rest.size()));
  // urllib3 sends a part without a type and escapes only the quote in names; httpx, Go and browsers send a type, and
  // httpx and Go escape backslashes. This distinction keeps the backslashes of names, also at their end.
  const Backslash backslash = has_type ? Backslash::escape : Backslash::itself;
  PartHead head;
  bool named = false;
  bool extended = false;
  std::string name;
  std::string value;
  while (take_parameter(rest, backslash, name, value)) {
    if (same_text(name, "name")) {
      head.name = with_quotes(value);
      named = true;
    } else if (same_text(name, "filename") && !extended) {
      head.filename = with_quotes(value);
    } else if (same_text(name, "filename*")) {
      if (auto decoded = extended_value(value)) {
        head.filename = std::move(*decoded);
        extended = true;
      }
    }
  }
  if (!named) return bad_body("a part's Content-Disposition has no name");
  return head;
}

}  // namespace

Result<std::optional<std::string>> multipart_boundary(std::string_view content_type) {
  const std::size_t end = std::min(content_type.find(';'), content_type.size());
  if (!same_text(trimmed(content_type.substr(0, end)), "multipart/form-data")) return std::nullopt;
  std::string_view rest = content_type.substr(end);
  std::string name;
  std::string value;
  while (take_parameter(rest, Backslash::escape, name, value)) {
    if (!same_text(name, "boundary") || value.empty()) continue;
    if (value.size() > kMostBoundaryBytes) return bad_body("the boundary is too long");
    return std::optional{std::move(value)};
  }
  return fail(Errc::invalid_request, "Missing boundary in multipart.");
}

MultipartParser::MultipartParser(std::string_view boundary) : delimiter_{"\r\n--" + std::string{boundary}} {}

Result<MultipartParser::Step> MultipartParser::next(std::string_view input) {
  switch (state_) {
    case State::start:
    case State::preamble:
      return skip_preamble(input);
    case State::boundary:
      return read_boundary(input);
    case State::head:
      return read_head(input);
    case State::data:
      return read_data(input);
    case State::epilogue:
      break;
  }
  return Step{.event = Event::more, .used = input.size()};
}

MultipartParser::Step MultipartParser::skip_preamble(std::string_view input) {
  if (state_ == State::start) {
    // The first delimiter needs no line end before it.
    const std::string_view first = std::string_view{delimiter_}.substr(kLineEnd.size());
    if (input.size() < first.size() && first.starts_with(input)) return {};
    if (input.starts_with(first)) {
      state_ = State::boundary;
      return {.event = Event::more, .used = first.size()};
    }
    state_ = State::preamble;
  }
  const std::size_t found = input.find(delimiter_);
  if (found == std::string_view::npos) return {.event = Event::more, .used = input.size() - begun_delimiter(input)};
  state_ = State::boundary;
  return {.event = Event::more, .used = found + delimiter_.size()};
}

Result<MultipartParser::Step> MultipartParser::read_boundary(std::string_view input) {
  // RFC 2046 allows blanks at the end of a boundary line.
  const std::size_t blanks = std::min(input.find_first_not_of(" \t"), input.size());
  if (blanks > 0) return Step{.event = Event::more, .used = blanks};
  if (input.size() < 2) return Step{};
  if (input.starts_with("--")) {
    state_ = State::epilogue;
    return Step{.event = Event::end, .used = 2};
  }
  if (!input.starts_with(kLineEnd)) return bad_body("a boundary is followed by other bytes on its line");
  if (++parts_ > kMostParts) {
    return fail(Errc::payload_too_large, "the multipart body has more than " + std::to_string(kMostParts) + " parts");
  }
  state_ = State::head;
  return Step{.event = Event::more, .used = kLineEnd.size()};
}

Result<MultipartParser::Step> MultipartParser::read_head(std::string_view input) {
  constexpr std::string_view kHeadEnd = "\r\n\r\n";
  const std::size_t end = input.substr(0, kWindow).find(kHeadEnd);
  if (end == std::string_view::npos) {
    if (input.size() < kWindow) return Step{};
    return fail(Errc::payload_too_large,
                "the head of a part has more than " + std::to_string(kMostHeadBytes) + " bytes");
  }
  SKIFF_TRY(head_, parse_head(input.substr(0, end)));
  state_ = State::data;
  return Step{.event = Event::part, .used = end + kHeadEnd.size()};
}

MultipartParser::Step MultipartParser::read_data(std::string_view input) {
  if (input.starts_with(delimiter_)) {
    state_ = State::boundary;
    return {.event = Event::part_end, .used = delimiter_.size()};
  }
  // memmem(3) runs at several GB/s, while std::string_view stops at every carriage return.
  const void* const found = ::memmem(input.data(), input.size(), delimiter_.data(), delimiter_.size());
  const std::size_t size = found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - input.data())
                                            : input.size() - begun_delimiter(input);
  if (size == 0) return {};
  return {.event = Event::data, .used = size, .bytes = input.substr(0, size)};
}

std::size_t MultipartParser::begun_delimiter(std::string_view input) const {
  const std::string_view delimiter{delimiter_};
  std::size_t size = std::min(input.size(), delimiter.size() - 1);
  while (size > 0 && !delimiter.starts_with(input.substr(input.size() - size))) --size;
  return size;
}

}  // namespace skiff::protocol
