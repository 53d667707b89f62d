#include "protocol/http/chunked.hpp"

#include <utility>

#include "base/bytes/hex.hpp"
#include "protocol/http/parser.hpp"

namespace skiff::protocol {
namespace {

std::unexpected<Error> bad_chunk(std::string_view why) {
  return fail(Errc::invalid_request, "the chunked body is broken: " + std::string{why});
}

bool is_control(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < ' ' && byte != '\t') || byte == 0x7f;
}

}  // namespace

void ChunkedDecoder::take_payload(std::uint64_t count) noexcept {
  left_ -= count;
  if (left_ == 0) state_ = State::payload_return;
}

Result<std::size_t> ChunkedDecoder::consume(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::payload && state_ != State::done) {
    SKIFF_TRY_VOID(step(bytes[used]));
    ++used;
  }
  return used;
}

Result<> ChunkedDecoder::step(char c) {
  switch (state_) {
    case State::size_first:
    case State::size: {
      if (const int digit = hex_value(c); digit >= 0) {
        // 15 digits are an exabyte; 16 could overflow.
        if (++digits_ > 15) return bad_chunk("a chunk's size has more than 15 digits");
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        state_ = State::size;
        return {};
      }
      if (state_ == State::size_first) return bad_chunk("a chunk does not begin with its size in hexadecimal digits");
      if (c == '\r') {
        state_ = State::size_line_feed;
        return {};
      }
      if (takes_spaces_ && (c == ' ' || c == '\t')) {
        if (++extension_bytes_ > kMostExtensionBytes) return bad_chunk("a chunk extension is longer than 256 bytes");
        state_ = State::size_spaces;
        return {};
      }
      if (c != ';') return bad_chunk("a chunk's size is followed by something else than CRLF or an extension");
      extension_bytes_ = 0;
      state_ = State::extension;
      return {};
    }
    case State::size_spaces:
      if (c == '\r') {
        state_ = State::size_line_feed;
        return {};
      }
      if (c == ';') {
        state_ = State::extension;
        return {};
      }
      if (c != ' ' && c != '\t') return bad_chunk("a chunk's size is followed by a space and something else");
      if (++extension_bytes_ > kMostExtensionBytes) return bad_chunk("a chunk extension is longer than 256 bytes");
      return {};
    case State::extension:
      if (c == '\r') {
        state_ = State::size_line_feed;
        return {};
      }
      if (is_control(c)) return bad_chunk("a chunk extension holds a control character");
      if (++extension_bytes_ > kMostExtensionBytes) return bad_chunk("a chunk extension is longer than 256 bytes");
      return {};
    case State::size_line_feed:
      if (c != '\n') return bad_chunk("a carriage return without a line feed");
      state_ = left_ == 0 ? State::trailer : State::payload;
      return {};
    case State::payload_return:
      if (c != '\r') return bad_chunk("a chunk is longer than its size");
      state_ = State::payload_line_feed;
      return {};
    case State::payload_line_feed:
      if (c != '\n') return bad_chunk("a carriage return without a line feed");
      digits_ = 0;
      extension_bytes_ = 0;
      state_ = State::size_first;
      return {};
    case State::trailer:
      if (c == '\r') {
        state_ = State::trailer_line_feed;
        return {};
      }
      if (is_control(c)) return bad_chunk("a trailer holds a control character");
      if (++trailer_bytes_ > kMostTrailerBytes) return bad_chunk("the trailers are longer than 8 KiB");
      line_ += c;
      return {};
    case State::trailer_line_feed:
      if (c != '\n') return bad_chunk("a carriage return without a line feed");
      return end_trailer_line();
    case State::payload:
    case State::done:
      break;
  }
  return {};
}

Result<> ChunkedDecoder::end_trailer_line() {
  if (line_.empty()) {
    state_ = State::done;
    return {};
  }
  const std::size_t colon = line_.find(':');
  const std::string_view line{line_};
  if (colon == std::string::npos || !is_token(line.substr(0, colon)))
    return bad_chunk("a trailer is not \"name: value\"");
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  trailers_.add(line.substr(0, colon), value);
  line_.clear();
  state_ = State::trailer;
  return {};
}

}  // namespace skiff::protocol
