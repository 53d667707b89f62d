#include "protocol/websocket/frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/json/utf8.hpp"

namespace skiff::protocol {
namespace {

constexpr std::size_t kLargestControl = 125;
constexpr std::size_t kDirectLeast = 4 * 1024;
constexpr std::size_t kDirectMost = 256 * 1024;
constexpr std::size_t kMostPiece = 64 * 1024;

constexpr bool is_control(Opcode opcode) noexcept {
  return static_cast<unsigned>(opcode) >= 8;
}

constexpr bool is_known(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::continuation:
    case Opcode::text:
    case Opcode::binary:
    case Opcode::close:
    case Opcode::ping:
    case Opcode::pong:
      return true;
  }
  return false;
}

/// Returns the size of a header, from its second byte.
constexpr std::size_t header_size(unsigned char second) noexcept {
  const unsigned length = second & 0x7FU;
  return 2 + (length == 126 ? 2U : length == 127 ? 8U : 0U) + ((second & 0x80U) != 0 ? 4U : 0U);
}

}  // namespace

bool is_sendable_close_code(std::uint16_t code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

void apply_mask(std::span<char> data, MaskKey key, std::size_t phase) noexcept {
  std::array<unsigned char, 8> turned;
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = key[(phase + i) % key.size()];
  std::uint64_t mask = 0;
  std::memcpy(&mask, turned.data(), sizeof mask);
  char* at = data.data();
  std::size_t blocks = data.size() / sizeof mask;
  for (; blocks > 0; --blocks, at += sizeof mask) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    word ^= mask;
    std::memcpy(at, &word, sizeof word);
  }
  for (std::size_t i = 0; i < data.size() % sizeof mask; ++i) at[i] = static_cast<char>(at[i] ^ turned[i]);
}

std::size_t write_frame_header(std::span<char, kMaxFrameHeader> out, Opcode opcode, std::uint64_t length,
                               std::optional<MaskKey> mask, bool fin) noexcept {
  const unsigned masked = mask ? 0x80U : 0U;
  out[0] = static_cast<char>((fin ? 0x80U : 0U) | static_cast<unsigned>(opcode));
  std::size_t size = 2;
  const auto big_endian = [&](unsigned bytes) {
    for (unsigned i = bytes; i > 0; --i) out[size++] = static_cast<char>(length >> (8 * (i - 1)));
  };
  if (length < 126) {
    out[1] = static_cast<char>(masked | length);
  } else if (length <= 0xFFFF) {
    out[1] = static_cast<char>(masked | 126U);
    big_endian(2);
  } else {
    out[1] = static_cast<char>(masked | 127U);
    big_endian(8);
  }
  if (mask) {
    std::memcpy(out.data() + size, mask->data(), mask->size());
    size += mask->size();
  }
  return size;
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string out;
  if (code == close_code::kNoStatus) return out;
  out += static_cast<char>(code >> 8);
  out += static_cast<char>(code & 0xFF);
  // Cut the reason first to bound the work; the repair may make it longer, so cut it again.
  std::string text = to_valid_utf8(reason.substr(0, kLargestControl));
  if (text.size() > kLargestControl - 2) {
    text.resize(kLargestControl - 2);
    text.resize(valid_prefix(text));
  }
  return out + text;
}

bool MessageParser::violation(Event& event, std::uint16_t code, std::string_view why) {
  dead_ = true;
  std::string{}.swap(message_);  // assigning an empty string would keep the memory
  event = {Kind::violation, code, std::string{why}};
  return false;
}

/// Called twice for each header: after its first two bytes, to refuse errors at once, and when it is complete.
bool MessageParser::begin_frame(Event& event) {
  const unsigned first = header_[0], second = header_[1];
  fin_ = (first & 0x80U) != 0;
  opcode_ = static_cast<Opcode>(first & 0x0FU);
  const bool masked = (second & 0x80U) != 0;
  const unsigned short_length = second & 0x7FU;
  if (header_have_ == 2) {
    if ((first & 0x70U) != 0) return violation(event, close_code::kProtocolError, "a reserved bit is set");
    if (!is_known(opcode_)) return violation(event, close_code::kProtocolError, "an unknown opcode");
    if (masked != (receiver_ == Side::server)) {
      return violation(event, close_code::kProtocolError,
                       masked ? "a server's frame is masked" : "a client's frame is not masked");
    }
    if (is_control(opcode_)) {
      if (!fin_) return violation(event, close_code::kProtocolError, "a control frame is fragmented");
      if (short_length > kLargestControl)
        return violation(event, close_code::kProtocolError, "a control frame is too long");
    } else if ((opcode_ == Opcode::continuation) != in_message_) {
      return violation(event, close_code::kProtocolError,
                       in_message_ ? "a new message begins inside another" : "a continuation of nothing");
    }
  }
  if (header_have_ < header_size(header_[1])) return true;

  frame_length_ = short_length;
  std::size_t at = 2;
  if (short_length >= 126) {
    const std::size_t end = short_length == 126 ? 4 : 10;
    for (frame_length_ = 0; at < end; ++at) frame_length_ = frame_length_ << 8 | header_[at];
    if (frame_length_ >> 63 != 0) return violation(event, close_code::kProtocolError, "a length above 2^63");
    if (frame_length_ <= (short_length == 126 ? 125U : 0xFFFFU)) {
      return violation(event, close_code::kProtocolError, "a length is not in its shortest form");
    }
  }
  mask_ = {};
  if (masked) std::memcpy(mask_.data(), header_.data() + at, mask_.size());
  if (!is_control(opcode_)) {
    if (!in_message_) message_is_text_ = opcode_ == Opcode::text;
    if (!gives_pieces() && frame_length_ > max_message_bytes_ - message_size_) {
      return violation(event, close_code::kTooBig,
                       "a message has more than " + std::to_string(max_message_bytes_) + " bytes");
    }
    in_message_ = true;
  }
  in_payload_ = true;
  frame_have_ = 0;
  return true;
}

bool MessageParser::check_text(Event& event) {
  if (!message_is_text_) return true;
  const std::string_view fresh = std::string_view{message_}.substr(checked_, message_size_ - checked_);
  const std::size_t valid = valid_prefix(fresh);
  checked_ += valid;
  const std::string_view rest = fresh.substr(valid);
  const bool last = fin_ && frame_have_ == frame_length_;
  if (rest.empty() || (!last && is_incomplete_character(rest))) return true;
  return violation(event, close_code::kBadData, "a text message is not UTF-8");
}

void MessageParser::end_control(Event& event) {
  apply_mask(control_, mask_, 0);
  if (opcode_ != Opcode::close) {
    event = {opcode_ == Opcode::ping ? Kind::ping : Kind::pong, 0, std::exchange(control_, {})};
    return;
  }
  if (control_.empty()) {
    dead_ = true;
    event = {Kind::close, close_code::kNoStatus, {}};
    return;
  }
  if (control_.size() == 1) {
    violation(event, close_code::kProtocolError, "a close frame with half a code");
    return;
  }
  const auto code = static_cast<std::uint16_t>(static_cast<unsigned char>(control_[0]) << 8 |
                                               static_cast<unsigned char>(control_[1]));
  if (!is_sendable_close_code(code)) {
    violation(event, close_code::kProtocolError, "a close code that may not be sent");
    return;
  }
  std::string reason = control_.substr(2);
  if (!is_valid_utf8(reason)) {
    violation(event, close_code::kBadData, "a close reason is not UTF-8");
    return;
  }
  dead_ = true;
  event = {Kind::close, code, std::move(reason)};
}

void MessageParser::end_frame(Event& event) {
  in_payload_ = false;
  header_have_ = 0;
  if (is_control(opcode_)) return end_control(event);
  if (!fin_) return;
  in_message_ = false;
  if (gives_pieces()) return;
  message_.resize(message_size_);
  event = {message_is_text_ ? Kind::text : Kind::binary, 0, std::exchange(message_, {})};
  message_size_ = 0;
  checked_ = 0;
}

void MessageParser::give_piece(Event& event) {
  if (message_size_ == 0) return;
  message_.resize(message_size_);
  event = {Kind::binary, 0, std::exchange(message_, {})};
  message_size_ = 0;
}

std::size_t MessageParser::feed(std::string_view bytes, Event& event) {
  event = {};
  std::size_t at = 0;
  while (!dead_) {
    while (!in_payload_) {
      if (at == bytes.size()) return at;
      header_[header_have_++] = static_cast<unsigned char>(bytes[at++]);
      const bool judge = header_have_ == 2 || (header_have_ > 2 && header_have_ == header_size(header_[1]));
      if (judge && !begin_frame(event)) return at;
    }
    auto take = static_cast<std::size_t>(std::min<std::uint64_t>(frame_length_ - frame_have_, bytes.size() - at));
    if (!is_control(opcode_) && gives_pieces()) take = std::min(take, kMostPiece);
    const std::string_view piece = bytes.substr(at, take);
    at += take;
    if (is_control(opcode_)) {
      control_ += piece;
      frame_have_ += take;
    } else {
      message_.resize(message_size_);
      message_ += piece;
      apply_mask(std::span{message_}.subspan(message_size_), mask_, static_cast<std::size_t>(frame_have_ % 4));
      message_size_ += take;
      frame_have_ += take;
      if (!check_text(event)) return at;
      if (gives_pieces()) give_piece(event);
    }
    if (frame_have_ == frame_length_) end_frame(event);
    if (event.kind != Kind::need_more || (in_payload_ && at == bytes.size())) return at;
  }
  return bytes.size();
}

std::span<char> MessageParser::direct() {
  if (dead_ || !in_payload_ || is_control(opcode_) || frame_length_ - frame_have_ < kDirectLeast) return {};
  // The room is bounded by the bytes so far: a large length without bytes must not cause a large allocation.
  const std::size_t room = gives_pieces() ? kMostPiece : std::clamp(message_size_, kDirectLeast, kDirectMost);
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(frame_length_ - frame_have_, room));
  if (message_.size() < message_size_ + take) {
    message_.resize_and_overwrite(message_size_ + take, [](char*, std::size_t size) { return size; });
  }
  return std::span{message_}.subspan(message_size_, take);
}

void MessageParser::commit(std::size_t size, Event& event) {
  event = {};
  if (size == 0) return;
  apply_mask(std::span{message_}.subspan(message_size_, size), mask_, static_cast<std::size_t>(frame_have_ % 4));
  message_size_ += size;
  frame_have_ += size;
  if (!check_text(event)) return;
  if (gives_pieces()) give_piece(event);
  if (frame_have_ == frame_length_) end_frame(event);
}

}  // namespace skiff::protocol
