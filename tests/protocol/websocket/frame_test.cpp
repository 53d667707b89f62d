#include "protocol/websocket/frame.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/json/utf8.hpp"

namespace skiff::protocol {
namespace {

using ParsedKind = MessageParser::Kind;
constexpr MaskKey kKey{0x37, 0xfa, 0x21, 0x3d};
constexpr std::size_t kMost = 200'000;

/// A client's frame, built without the code under test; `first` is the raw first byte.
std::string masked_frame(unsigned first, std::string payload) {
  std::string out{static_cast<char>(first)};
  const std::size_t size = payload.size();
  if (size < 126) {
    out += static_cast<char>(0x80 | size);
  } else if (size < 65536) {
    out += {static_cast<char>(0x80 | 126), static_cast<char>(size >> 8), static_cast<char>(size & 0xFF)};
  } else {
    out += static_cast<char>(0x80 | 127);
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(std::uint64_t{size} >> shift);
  }
  for (const unsigned char c : kKey) out += static_cast<char>(c);
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(payload[i] ^ kKey[i % 4]);
  return out;
}

struct Seen {
  ParsedKind kind;
  std::uint16_t code;
  std::string payload;
  bool operator==(const Seen&) const = default;
};
void PrintTo(const Seen& seen, std::ostream* out) {
  *out << static_cast<int>(seen.kind) << ' ' << seen.code << ' ' << seen.payload.substr(0, 40) << " ("
       << seen.payload.size() << ')';
}

std::vector<Seen> parse(const std::vector<std::string_view>& chunks, Side side = Side::server,
                        bool use_direct = false) {
  MessageParser parser{side, kMost};
  std::vector<Seen> seen;
  MessageParser::Event event;
  const auto keep = [&] {
    if (event.kind != ParsedKind::need_more) seen.push_back({event.kind, event.code, event.payload});
  };
  for (std::string_view chunk : chunks) {
    while (!chunk.empty()) {
      if (const std::span<char> direct = parser.direct(); use_direct && !direct.empty()) {
        const std::size_t take = std::min(direct.size(), chunk.size());
        std::copy_n(chunk.data(), take, direct.data());
        chunk.remove_prefix(take);
        parser.commit(take, event);
      } else {
        chunk.remove_prefix(parser.feed(chunk, event));
      }
      keep();
      if (!seen.empty() && (seen.back().kind == ParsedKind::violation || seen.back().kind == ParsedKind::close))
        return seen;
    }
  }
  return seen;
}

std::vector<Seen> parse(std::string_view bytes, Side side = Side::server) {
  return parse(std::vector{bytes}, side);
}

TEST(WebSocketFrame, ReadsTheExamplesOfTheStandard) {
  const std::vector<Seen> hello{{ParsedKind::text, 0, "Hello"}};
  EXPECT_EQ(parse(std::string_view{"\x81\x05Hello"}, Side::client), hello);
  EXPECT_EQ(parse(std::string_view{"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"}), hello);
  EXPECT_EQ(parse(std::string_view{"\x01\x03Hel\x80\x02lo", 9}, Side::client), hello);
  EXPECT_EQ(parse(std::string_view{"\x89\x05Hello"}, Side::client),
            (std::vector<Seen>{{ParsedKind::ping, 0, "Hello"}}));
  EXPECT_EQ(parse(std::string_view{"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"}),
            (std::vector<Seen>{{ParsedKind::pong, 0, "Hello"}}));
  EXPECT_EQ(parse(std::string{"\x82\x7E\x01\x00", 4} + std::string(256, 'x'), Side::client),
            (std::vector<Seen>{{ParsedKind::binary, 0, std::string(256, 'x')}}));
  EXPECT_EQ(parse(std::string{"\x82\x7F\0\0\0\0\0\x01\0\0", 10} + std::string(65536, 'x'), Side::client),
            (std::vector<Seen>{{ParsedKind::binary, 0, std::string(65536, 'x')}}));
}

TEST(WebSocketFrame, ReadsEveryFormOfLengthAndEveryMaskPhase) {
  for (const std::size_t size :
       {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 124U, 125U, 126U, 127U, 65535U, 65536U, 65537U, 200'000U}) {
    std::string payload(size, '\0');
    for (std::size_t i = 0; i < size; ++i) payload[i] = static_cast<char>(i * 7);
    const std::string bytes = masked_frame(0x82, payload);
    EXPECT_EQ(parse(bytes), (std::vector<Seen>{{ParsedKind::binary, 0, payload}})) << size;
    for (const std::size_t step : {1U, 3U, 1000U, 5003U}) {
      if (size / step > 70'000) continue;
      std::vector<std::string_view> chunks;
      for (std::size_t at = 0; at < bytes.size(); at += step)
        chunks.push_back(std::string_view{bytes}.substr(at, step));
      for (const bool direct : {false, true}) {
        EXPECT_EQ(parse(chunks, Side::server, direct), (std::vector<Seen>{{ParsedKind::binary, 0, payload}}))
            << size << ' ' << step;
      }
    }
  }
}

/// The events of a parser that reads pieces, with one event for each run of bytes.
std::vector<Seen> in_runs(std::string_view bytes, std::size_t step, bool use_direct) {
  MessageParser parser{Side::server, 10, MessageParser::Bytes::in_pieces};
  std::vector<Seen> seen;
  MessageParser::Event event;
  while (!bytes.empty()) {
    std::string_view chunk = bytes.substr(0, step);
    if (const std::span<char> direct = parser.direct(); use_direct && !direct.empty()) {
      EXPECT_LE(direct.size(), 65536U);
      chunk = chunk.substr(0, direct.size());
      std::ranges::copy(chunk, direct.data());
      parser.commit(chunk.size(), event);
    } else {
      chunk = chunk.substr(0, parser.feed(chunk, event));
    }
    bytes.remove_prefix(chunk.size());
    if (event.kind == ParsedKind::need_more) continue;
    EXPECT_LE(event.payload.size(), 65536U);
    if (event.kind == ParsedKind::binary && !seen.empty() && seen.back().kind == ParsedKind::binary) {
      seen.back().payload += event.payload;
    } else {
      seen.push_back({event.kind, event.code, event.payload});
    }
    if (event.kind == ParsedKind::violation || event.kind == ParsedKind::close) break;
  }
  return seen;
}

TEST(WebSocketFrame, GivesBytesInPiecesHoweverLongTheMessageAndHoweverItIsCut) {
  std::string payload(200'001, '\0');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 7);
  const std::string head = payload.substr(0, 70'001), tail = payload.substr(70'001);
  const std::string whole = masked_frame(0x82, payload);
  const std::string cut = masked_frame(0x82, {}) + masked_frame(0x02, head) + masked_frame(0x80, {}) +
                          masked_frame(0x02, {}) + masked_frame(0x00, tail) + masked_frame(0x80, {});
  for (const std::string& bytes : {whole, cut}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{4099}, std::size_t{70'000}, bytes.size()}) {
      for (const bool direct : {false, true}) {
        EXPECT_EQ(in_runs(bytes, step, direct), (std::vector<Seen>{{ParsedKind::binary, 0, payload}})) << step;
      }
    }
  }
}

TEST(WebSocketFrame, KeepsTextsWholeAndShortBesideThePieces) {
  const std::string mixed = masked_frame(0x02, "ab") + masked_frame(0x89, "ping") + masked_frame(0x80, "cd") +
                            masked_frame(0x01, "whole") + masked_frame(0x80, "text") + masked_frame(0x81, {}) +
                            masked_frame(0x82, "ef");
  const std::vector<Seen> expected{{ParsedKind::binary, 0, "ab"}, {ParsedKind::ping, 0, "ping"},
                                   {ParsedKind::binary, 0, "cd"}, {ParsedKind::text, 0, "wholetext"},
                                   {ParsedKind::text, 0, ""},     {ParsedKind::binary, 0, "ef"}};
  for (const std::size_t step : {std::size_t{1}, mixed.size()}) EXPECT_EQ(in_runs(mixed, step, false), expected);
  const auto long_text = in_runs(masked_frame(0x81, "eleven byte"), 100, false);
  ASSERT_EQ(long_text.size(), 1U);
  EXPECT_EQ(long_text.front().code, close_code::kTooBig);
  EXPECT_EQ(in_runs(masked_frame(0x02, "a") + masked_frame(0x02, "b"), 100, false).back().code,
            close_code::kProtocolError);
}

TEST(WebSocketFrame, WritesHeadersThatItReads) {
  for (const bool masked : {false, true}) {
    for (const std::uint64_t size : {0ULL, 1ULL, 125ULL, 126ULL, 127ULL, 65535ULL, 65536ULL, 100'000ULL}) {
      std::array<char, kMaxFrameHeader> header;
      const std::size_t header_size =
          write_frame_header(header, Opcode::binary, size, masked ? std::optional{kKey} : std::nullopt);
      EXPECT_EQ(header_size, (size < 126 ? 2U : size < 65536 ? 4U : 10U) + (masked ? 4U : 0U));
      std::string payload(size, 'p');
      if (masked) apply_mask(payload, kKey, 0);
      EXPECT_EQ(parse(std::string{header.data(), header_size} + payload, masked ? Side::server : Side::client),
                (std::vector<Seen>{{ParsedKind::binary, 0, std::string(size, 'p')}}));
    }
  }
}

TEST(WebSocketFrame, ReassemblesFragmentsWithControlFramesBetweenThemWhereverTheBytesAreSplit) {
  const std::string euro = "\xE2\x82\xAC";
  const std::string bytes = masked_frame(0x01, "a" + euro.substr(0, 1)) + masked_frame(0x89, "p1") +
                            masked_frame(0x00, euro.substr(1, 1)) + masked_frame(0x8A, "") + masked_frame(0x00, "") +
                            masked_frame(0x80, euro.substr(2) + "z") + masked_frame(0x82, std::string("\xFF\0", 2)) +
                            masked_frame(0x88,
                                         "\x03\xE8"
                                         "bye");
  const std::vector<Seen> expected{{ParsedKind::ping, 0, "p1"},
                                   {ParsedKind::pong, 0, ""},
                                   {ParsedKind::text, 0, "a" + euro + "z"},
                                   {ParsedKind::binary, 0, std::string("\xFF\0", 2)},
                                   {ParsedKind::close, 1000, "bye"}};
  const std::string_view view{bytes};
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      ASSERT_EQ(parse({view.substr(0, first), view.substr(first, second - first), view.substr(second)}), expected)
          << first << ' ' << second;
    }
  }
}

TEST(WebSocketFrame, AnswersEveryBreachOfTheProtocolWithItsCloseCode) {
  struct Breach {
    std::string bytes;
    std::uint16_t code;
    Side side = Side::server;
  };
  const std::string key{"\x37\xfa\x21\x3d"};
  std::vector<Breach> breaches{
      {std::string{"\x81\x05", 2}, 1002},                // a client does not mask
      {std::string{"\x81\x85", 2}, 1002, Side::client},  // a server masks
      {masked_frame(0x80, "x"), 1002},                   // a continuation of nothing
      {masked_frame(0x00, "x"), 1002},
      {masked_frame(0x01, "x") + masked_frame(0x81, "y"), 1002},  // a message inside a message
      {masked_frame(0x02, "x") + masked_frame(0x02, "y"), 1002},
      {masked_frame(0x09, ""), 1002},  // fragmented control frames
      {masked_frame(0x08, ""), 1002},
      {masked_frame(0x0A, ""), 1002},
      {masked_frame(0x89, std::string(126, 'x')), 1002},  // long control frames
      {masked_frame(0x88, std::string(126, 'x')), 1002},
      {masked_frame(0x88, "x"), 1002},                             // half a close code
      {masked_frame(0x88, std::string("\x03\xE8\xFF", 3)), 1007},  // a close reason that is not UTF-8
      {masked_frame(0x81, "a\xFF"), 1007},
      {masked_frame(0x81, "\xE2\x82"), 1007},  // ends within a character
      {masked_frame(0x01, "\xE2") + masked_frame(0x80, ""), 1007},
      {masked_frame(0x01, "\xED\xA0"), 1007},  // told before the message ends
      {masked_frame(0x82, std::string(kMost + 1, 'x')), 1009},
      {masked_frame(0x02, std::string(kMost, 'x')) + masked_frame(0x80, "y"), 1009},
      {std::string{"\x82\xFE\x00\x7D", 4} + key, 1002},  // not the shortest length
      {std::string{"\x82\xFF\0\0\0\0\0\0\xFF\xFF", 10} + key, 1002},
      {std::string{"\x82\xFF\x80\0\0\0\0\0\0\0", 10} + key, 1002},  // above 2^63
      {std::string{"\x82\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 10} + key, 1009},
  };
  for (const unsigned reserved : {0x40U, 0x20U, 0x10U}) breaches.push_back({masked_frame(0x81 | reserved, ""), 1002});
  for (const unsigned opcode : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U})
    breaches.push_back({masked_frame(0x80 | opcode, ""), 1002});
  for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1015U, 1016U, 1100U, 2000U, 2999U, 5000U, 65535U}) {
    breaches.push_back({masked_frame(0x88, {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)}), 1002});
  }
  for (std::size_t i = 0; i < breaches.size(); ++i) {
    const Breach& breach = breaches[i];
    const auto seen = parse(breach.bytes, breach.side);
    ASSERT_EQ(seen.size(), 1U) << i;
    EXPECT_EQ(seen[0].kind, ParsedKind::violation) << i;
    EXPECT_EQ(seen[0].code, breach.code) << i << ": " << seen[0].payload;
    EXPECT_FALSE(seen[0].payload.empty()) << i;
    if (breach.bytes.size() > 1000) continue;
    std::vector<std::string_view> bytes;
    for (std::size_t at = 0; at < breach.bytes.size(); ++at)
      bytes.push_back(std::string_view{breach.bytes}.substr(at, 1));
    EXPECT_EQ(parse(bytes, breach.side), seen) << i;
  }
}

TEST(WebSocketFrame, TakesTheCloseCodesThatMayBeSentAndNoneAtAll) {
  for (const unsigned code : {1000U, 1001U, 1002U, 1003U, 1007U, 1008U, 1009U, 1010U, 1011U, 1012U, 1013U, 1014U, 3000U,
                              3999U, 4000U, 4008U, 4999U}) {
    const auto seen = parse(masked_frame(0x88, {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)}));
    ASSERT_EQ(seen, (std::vector<Seen>{{ParsedKind::close, static_cast<std::uint16_t>(code), ""}}));
  }
  EXPECT_EQ(parse(masked_frame(0x88, "")), (std::vector<Seen>{{ParsedKind::close, 1005, ""}}));
}

TEST(WebSocketFrame, TakesNothingMoreAfterTheEnd) {
  MessageParser parser{Side::server, kMost};
  MessageParser::Event event;
  const std::string bytes = masked_frame(0x88, "") + masked_frame(0x81, "late");
  EXPECT_EQ(parser.feed(bytes, event), 6U);
  EXPECT_EQ(event.kind, ParsedKind::close);
  EXPECT_EQ(parser.feed(std::string_view{bytes}.substr(6), event), bytes.size() - 6);
  EXPECT_EQ(event.kind, ParsedKind::need_more);
  EXPECT_TRUE(parser.direct().empty());
}

TEST(WebSocketFrame, DoesNotBelieveALengthBeforeTheBytesCome) {
  MessageParser parser{Side::client, std::size_t{1} << 40};
  MessageParser::Event event;
  const std::string header{"\x82\x7F\0\0\0\x10\0\0\0\0", 10};  // 64 GiB are announced
  EXPECT_EQ(parser.feed(header, event), header.size());
  EXPECT_EQ(event.kind, ParsedKind::need_more);
  EXPECT_LE(parser.direct().size(), 64U * 1024);
}

TEST(WebSocketFrame, CutsACloseReasonAtACharacterAndLeavesCode1005Out) {
  EXPECT_EQ(close_payload(1005, "x"), "");
  EXPECT_EQ(close_payload(4008, "slow"), "\x0F\xA8slow");
  for (std::size_t lead = 0; lead < 4; ++lead) {
    std::string reason(lead, 'x');
    for (int i = 0; i < 60; ++i) reason += "\xE2\x82\xAC";
    const std::string payload = close_payload(1011, reason);
    EXPECT_LE(payload.size(), 125U);
    EXPECT_GT(payload.size(), 120U);
    EXPECT_TRUE(is_valid_utf8(std::string_view{payload}.substr(2)));
  }
  EXPECT_LE(close_payload(1011, std::string(200, '\xFF')).size(), 125U);
}

TEST(WebSocketFrame, MasksTheSameInAnyPortions) {
  std::mt19937 random{5};
  std::string bytes(100, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  std::string expected = bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) expected[i] = static_cast<char>(expected[i] ^ kKey[i % 4]);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::string masked = bytes;
    apply_mask(std::span{masked}.first(cut), kKey, 0);
    apply_mask(std::span{masked}.subspan(cut), kKey, cut % 4);
    ASSERT_EQ(masked, expected) << cut;
  }
}

}  // namespace
}  // namespace skiff::protocol
