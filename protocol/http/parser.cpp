#include "protocol/http/parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "base/bytes/text.hpp"

namespace skiff::protocol {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

std::unexpected<HeadFailure> refuse(std::string why, unsigned status = 400, Errc code = Errc::invalid_request) {
  return std::unexpected{HeadFailure{status, Error{code, std::move(why)}}};
}

constexpr std::array<bool, 256> kTokenBytes = [] {
  std::array<bool, 256> table{};
  for (const char c :
       std::string_view{"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

constexpr std::array<bool, 256> kValueBytes = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = ' '; byte < 256; ++byte) table[byte] = byte != 0x7f;
  table['\t'] = true;
  return table;
}();

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Beast splits the head; its callbacks fill our own structs, so no Beast type leaves this file.
template <bool is_request>
class HeadReader final : public http::basic_parser<is_request> {
 public:
  explicit HeadReader(std::size_t limit) {
    this->header_limit(static_cast<std::uint32_t>(limit));
    // Beast would refuse bodies above 1 MB by their length; the handler decides about the limit.
    this->body_limit(boost::none);
  }

  /// Reads a whole head in one call.
  bool read(std::string_view head) {
    beast::error_code error;
    this->put(boost::asio::const_buffer{head.data(), head.size()}, error);
    return !error && this->is_header_done();
  }

  std::string_view method;
  std::string_view target;
  unsigned status = 0;
  std::string_view reason;
  unsigned version = 11;
  Headers headers;

 private:
  using Length = boost::optional<std::uint64_t>;
  void on_request_impl(http::verb, beast::string_view method_text, beast::string_view target_text, int http_version,
                       beast::error_code&) override {
    method = view(method_text);
    target = view(target_text);
    version = static_cast<unsigned>(http_version);
  }
  void on_response_impl(int code, beast::string_view reason_text, int http_version, beast::error_code&) override {
    status = static_cast<unsigned>(code);
    reason = view(reason_text);
    version = static_cast<unsigned>(http_version);
  }
  void on_field_impl(http::field, beast::string_view name, beast::string_view value, beast::error_code&) override {
    headers.add(view(name), view(value));
  }
  void on_header_impl(beast::error_code&) override {}
  void on_body_init_impl(const Length&, beast::error_code&) override {}
  std::size_t on_body_impl(beast::string_view body, beast::error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, beast::error_code&) override {
    return body.size();
  }
  void on_finish_impl(beast::error_code&) override {}
};

/// What the fields say of where the body ends, as they came: Beast stops at the second of two that contradict each
/// other.
struct FramingFields {
  std::size_t lengths = 0;
  std::size_t codings = 0;
  std::string_view length = {};
  std::string_view coding = {};

  void note(std::string_view name, std::string_view value) {
    const bool is_length = same_text(name, "Content-Length");
    if (!is_length && !same_text(name, "Transfer-Encoding")) return;
    (is_length ? length : coding) = trimmed(value);
    ++(is_length ? lengths : codings);
  }
};

/// What Beast would let pass: checked on the raw lines before it sees them. `lines` begins after the first line.
HeadResult<FramingFields> check_fields(std::string_view lines) {
  FramingFields framing;
  while (lines != "\r\n") {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 2);
    if (line.front() == ' ' || line.front() == '\t') return refuse("a header field is folded over two lines");
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return refuse("a header line has no colon");
    if (!is_token(line.substr(0, colon))) return refuse("a header field's name holds an invalid character");
    if (!is_field_value(line.substr(colon + 1))) return refuse("a header field's value holds a control character");
    framing.note(line.substr(0, colon), line.substr(colon + 1));
  }
  return framing;
}

/// Checks the HTTP-version of a start line. 505 for a well-formed version other than 1.0 and 1.1.
HeadResult<void> check_version(std::string_view text) {
  if (text == "HTTP/1.1" || text == "HTTP/1.0") return {};
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() == 8 && text.starts_with("HTTP/") && digit(text[5]) && text[6] == '.' && digit(text[7])) {
    return refuse("only HTTP/1.1 and HTTP/1.0 are supported", 505, Errc::unsupported_version);
  }
  return refuse("the first line does not end with an HTTP version");
}

HeadResult<void> check_request_line(std::string_view line, std::size_t target_bytes) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return refuse("the first line is not \"METHOD TARGET VERSION\"");
  if (!is_token(line.substr(0, first))) return refuse("the method holds an invalid character");
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (target.size() > target_bytes) {
    return refuse("the target is longer than " + std::to_string(target_bytes) + " bytes", 414, Errc::target_too_long);
  }
  const auto printable = [](char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f; };
  if (target.empty() || !std::all_of(target.begin(), target.end(), printable)) {
    return refuse("the target is empty or holds a space or a control character");
  }
  return check_version(line.substr(last + 1));
}

/// A number of digits only: RFC 9110, 8.6 knows no sign, no space and no list.
HeadResult<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t value = 0;
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return refuse("Content-Length is not a number");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return refuse("Content-Length is too large");
  return value;
}

/// Where the body ends, if the message says it unmistakably.
HeadResult<BodyFraming> explicit_framing(const FramingFields& fields, unsigned version) {
  if (fields.lengths + fields.codings == 0) return BodyFraming{};
  if (fields.lengths > 0 && fields.codings > 0)
    return refuse("Content-Length and Transfer-Encoding are given together");
  if (fields.lengths > 1) return refuse("Content-Length is repeated");
  if (fields.codings > 1) return refuse("Transfer-Encoding is repeated");
  if (fields.lengths == 1) {
    SKIFF_TRY(const auto length, parse_length(fields.length));
    return BodyFraming{BodyFraming::Kind::length, length};
  }
  if (version < 11) return refuse("Transfer-Encoding needs HTTP/1.1");
  if (!same_text(fields.coding, "chunked")) return refuse("the only transfer coding known here is \"chunked\"");
  return BodyFraming{BodyFraming::Kind::chunked, 0};
}

/// Checks uri-host with an optional port (RFC 9110, 7.2) roughly: it accepts no character that has another meaning in a
/// URL.
bool is_host(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"-._~!$&'()*+,;=%:[]"}.find(c) != std::string_view::npos;
  });
}

HeadResult<void> check_host(HttpRequest& request) {
  const std::size_t hosts = request.headers.count("Host");
  if (hosts > 1) return refuse("Host is repeated");
  if (hosts == 0 && request.version >= 11) return refuse("Host is missing");
  request.host = request.headers.get("Host");
  if (!is_host(request.host)) return refuse("Host holds an invalid character");
  const std::string& authority = request.target.authority;
  if (authority.empty()) return {};
  if (hosts == 1 && !same_text(authority, request.host)) return refuse("Host and the target name different hosts");
  if (!is_host(authority)) return refuse("the target's host holds an invalid character");
  request.host = authority;
  return {};
}

/// Fields that identify the client: if one is repeated, an intermediary could use the other one.
constexpr std::array kOnce{std::string_view{"Authorization"}, std::string_view{"Origin"}};

HeadResult<void> check_repeats(const Headers& headers) {
  for (const std::string_view name : kOnce) {
    if (headers.count(name) > 1) return refuse(std::string{name} + " is repeated");
  }
  return {};
}

bool wants_keep_alive(const Headers& headers, unsigned version) {
  if (headers.has_token("Connection", "close")) return false;
  return version >= 11 || headers.has_token("Connection", "keep-alive");
}

}  // namespace

bool is_token(std::string_view text) noexcept {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return kTokenBytes[static_cast<unsigned char>(c)]; });
}

bool is_field_value(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return kValueBytes[static_cast<unsigned char>(c)]; });
}

HeadResult<std::size_t> HeadScanner::scan(std::string_view bytes) {
  while (scanned_ < bytes.size()) {
    const std::size_t feed = bytes.find('\n', scanned_);
    if (feed == std::string_view::npos) {
      scanned_ = bytes.size();
      break;
    }
    scanned_ = feed + 1;
    const bool is_bare = feed == line_start_ || bytes[feed - 1] != '\r';
    if (is_bare && !limits_.bare_feeds) return refuse("a line ends with a line feed alone");
    const std::string_view line = bytes.substr(line_start_, feed - line_start_ - (is_bare ? 0 : 1));
    if (line.contains('\r')) return refuse("a carriage return stands within a line");
    const bool empty_line = line.empty();
    if (empty_line && line_start_ > 0) {
      if (scanned_ > limits_.header_bytes) break;
      return scanned_;
    }
    if (empty_line) return refuse("the first line is empty");
    if (line_start_ == 0) first_line_ = scanned_;
    line_start_ = scanned_;
  }
  // 32: the method, the version and the spaces.
  if ((first_line_ > 0 ? first_line_ : bytes.size()) > limits_.target_bytes + 32) {
    return refuse("the target is longer than " + std::to_string(limits_.target_bytes) + " bytes", 414,
                  Errc::target_too_long);
  }
  if (scanned_ > limits_.header_bytes) {
    return refuse("the header is larger than " + std::to_string(limits_.header_bytes) + " bytes", 431,
                  Errc::headers_too_large);
  }
  return 0;
}

std::string with_returns(std::string_view head) {
  std::string all;
  all.reserve(head.size() + 64);
  for (const char c : head) {
    if (c == '\n' && !all.ends_with('\r')) all += '\r';
    all += c;
  }
  return all;
}

HeadResult<HttpRequest> parse_request_head(std::string_view head, std::size_t target_bytes) {
  const std::size_t line_end = head.find("\r\n");
  SKIFF_TRY_VOID(check_request_line(head.substr(0, line_end), target_bytes));
  SKIFF_TRY(const auto fields, check_fields(head.substr(line_end + 2)));
  HeadReader<true> reader{head.size() + 1};
  const bool read = reader.read(head);
  // The framing is judged first, because its messages say more than Beast's codes.
  SKIFF_TRY(auto framing, explicit_framing(fields, reader.version));
  if (!read) return refuse("the header is not valid HTTP");

  auto target = Target::parse(reader.target);
  if (!target) return std::unexpected{HeadFailure{400, std::move(target.error())}};
  HttpRequest request{.method = std::string{reader.method},
                      .target_text = std::string{reader.target},
                      .target = std::move(*target),
                      .version = reader.version,
                      .headers = std::move(reader.headers),
                      .host = {},
                      .body = framing};
  SKIFF_TRY_VOID(check_host(request));
  SKIFF_TRY_VOID(check_repeats(request.headers));
  request.keep_alive = wants_keep_alive(request.headers, request.version);
  if (const auto expect = request.headers.find("Expect");
      expect && request.version >= 11 && !same_text(*expect, "100-continue")) {
    return refuse("the only supported expectation is 100-continue", 417, Errc::expectation_failed);
  }
  return request;
}

Result<HttpResponseHead> parse_response_head(std::string_view head, std::string_view request_method) {
  const auto bad = [](std::string why) {
    return fail(Errc::invalid_request, "the server's answer: " + std::move(why));
  };
  const std::size_t line_end = head.find("\r\n");
  if (auto checked = check_version(head.substr(0, std::min(line_end, head.find(' ')))); !checked) {
    return bad(std::move(checked.error().error.message));
  }
  if (!is_field_value(head.substr(0, line_end))) return bad("the first line holds a control character");
  const auto fields = check_fields(head.substr(line_end + 2));
  if (!fields) return bad(fields.error().error.message);
  constexpr std::size_t kStatusLine = std::string_view{"HTTP/1.1 200"}.size();
  const std::string completed = line_end == kStatusLine ? std::string{head}.insert(kStatusLine, 1, ' ') : std::string{};
  const std::string_view whole = completed.empty() ? head : std::string_view{completed};
  HeadReader<false> reader{whole.size() + 1};
  const bool read = reader.read(whole);
  auto framing = explicit_framing(*fields, reader.version);
  if (!framing) return bad(std::move(framing.error().error.message));
  if (!read) return bad("the header is not valid HTTP");
  // Beast accepts any three digits.
  if (reader.status < 100) return bad("the status is not a number from 100 to 999");

  HttpResponseHead response{.status = reader.status,
                            .reason = std::string{reader.reason},
                            .version = reader.version,
                            .headers = std::move(reader.headers),
                            .body = *framing};
  response.keep_alive = wants_keep_alive(response.headers, response.version);
  const bool tunnel = request_method == "CONNECT" && response.status / 100 == 2;
  const bool bodiless = tunnel || request_method == "HEAD" || response.status / 100 == 1 || response.status == 204 ||
                        response.status == 304;
  if (bodiless) {
    response.body = {};
  } else if (response.body.kind == BodyFraming::Kind::none) {
    response.body.kind = BodyFraming::Kind::until_close;
    response.keep_alive = false;
  }
  return response;
}

}  // namespace skiff::protocol
