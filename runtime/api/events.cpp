#include "runtime/api/events.hpp"

#include <algorithm>
#include <cstring>

#include "protocol/json/sse.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::runtime::api {

using sessions::LogItem;

void EventWriter::begin(std::string& out, std::string_view type, std::optional<std::uint64_t> next) const {
  if (form_ == Form::sse) protocol::append_sse_head(out, next ? std::to_string(*next) : std::string{}, type);
  append_event_head(out, type, channel_);
}

void EventWriter::finish(std::string& out) const {
  out += '}';
  out += form_ == Form::sse ? protocol::kSseTail : std::string_view{"\n"};
}

template <class S>
void EventWriter::write(std::string& out, const EventAnswer<S>& event, const S& of,
                        std::optional<std::uint64_t> next) const {
  begin(out, event.type, next);
  event.members.append_members(out, of);
  finish(out);
}

void EventWriter::started(std::string& out, const sessions::Command& command, std::string_view instance) {
  write(out, started_event(), {command, instance}, 0);
}

void EventWriter::output(std::string& out, std::uint64_t offset, const LogItem& item, std::string_view head,
                         std::string_view body) const {
  // `head` is at most four bytes: a whole character, or not text.
  const bool is_text = protocol::is_valid_utf8(head) && protocol::is_valid_utf8(body);
  write(out, output_event(), {item, offset, head, body, is_text}, offset + head.size() + body.size());
}

void EventWriter::item(std::string& out, const LogItem& item, const sessions::OutputLog& log) {
  switch (item.kind) {
    case LogItem::Kind::output: {
      std::string_view body = item.bytes.view();
      std::string head;
      std::uint64_t offset = item.offset;
      if (held_size_ > 0) {
        if (held_item_.stream == item.stream && held_item_.offset + held_size_ == item.offset) {
          // Complete the character, or find that it is invalid.
          head.assign(held_.data(), held_size_);
          offset = held_item_.offset;
          held_size_ = 0;
          while (!body.empty() && protocol::is_incomplete_character(head)) {
            head.push_back(body.front());
            body.remove_prefix(1);
          }
        } else {
          release(out);
        }
      }
      const std::string_view last = body.empty() ? std::string_view{head} : body;
      const std::size_t tail = protocol::incomplete_tail(last);
      if (tail > 0) {
        std::memcpy(held_.data(), last.data() + last.size() - tail, tail);
        held_size_ = tail;
        held_item_ = item;
        held_item_.bytes = {};
        held_item_.offset = item.next - tail;
        if (body.empty()) {
          head.resize(head.size() - tail);
        } else {
          body.remove_suffix(tail);
        }
      }
      if (!head.empty() || !body.empty()) output(out, offset, item, head, body);
      return;
    }
    case LogItem::Kind::gap:
      release(out);
      write(out, gap_event(), item, item.next);
      return;
    case LogItem::Kind::exit:
      release(out);
      write(out, exit_event(), *log.exit_status(), item.next);
      return;
    case LogItem::Kind::end:
      release(out);
      write(out, end_event(), log.totals(), item.next);
      return;
  }
}

void EventWriter::release(std::string& out) {
  if (held_size_ == 0) return;
  const std::string_view held{held_.data(), held_size_};
  held_size_ = 0;
  output(out, held_item_.offset, held_item_, {}, held);
}

void EventWriter::keepalive(std::string& out) const {
  if (form_ == Form::sse) {
    out += protocol::kSseKeepalive;
    return;
  }
  write(out, keepalive_event(), {}, std::nullopt);
}

void EventWriter::error(std::string& out, const Error& error) const {
  write(out, error_event(), error, std::nullopt);
}

namespace {

template <class Integer>
void put(char* at, Integer value) noexcept {
  for (std::size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<char>(value >> (8 * (sizeof value - 1 - i)));
}

template <class Integer>
Integer get(const char* at) noexcept {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value = static_cast<Integer>(value << 8U | static_cast<unsigned char>(at[i]));
  return value;
}

}  // namespace

std::array<char, BinaryHeader::kSize> BinaryHeader::encode() const noexcept {
  std::array<char, kSize> bytes{};
  bytes[0] = static_cast<char>(kVersion);
  bytes[1] = static_cast<char>(kind);
  bytes[2] = static_cast<char>(stream);
  bytes[3] = static_cast<char>(flags);
  put(&bytes[4], channel);
  put(&bytes[8], offset);
  put(&bytes[16], time_us);
  return bytes;
}

Result<BinaryHeader> BinaryHeader::decode(std::string_view frame) {
  if (frame.size() < kSize) return fail(Errc::invalid_request, "a binary frame starts with a header of 24 bytes");
  if (static_cast<std::uint8_t>(frame[0]) != kVersion)
    return fail(Errc::invalid_request, "binary frames of version 1 are known");
  return BinaryHeader{.kind = static_cast<std::uint8_t>(frame[1]),
                      .stream = static_cast<std::uint8_t>(frame[2]),
                      .flags = static_cast<std::uint8_t>(frame[3]),
                      .channel = get<std::uint32_t>(&frame[4]),
                      .offset = get<std::uint64_t>(&frame[8]),
                      .time_us = get<std::uint64_t>(&frame[16])};
}

}  // namespace skiff::runtime::api
