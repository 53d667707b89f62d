#include "protocol/http/chunked.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace skiff::protocol {
namespace {

struct Decoded {
  std::string payload;
  std::string rest;
  bool done = false;
  Headers trailers;
};

/// Decodes `bytes`, split at `cut`; empty when they are refused.
std::optional<Decoded> decode_chunked(std::string_view bytes, std::size_t cut) {
  ChunkedDecoder decoder;
  Decoded decoded;
  for (std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    while (!piece.empty() && !decoder.done()) {
      const auto used = decoder.consume(piece);
      if (!used) return std::nullopt;
      piece.remove_prefix(*used);
      const std::size_t payload = std::min<std::size_t>(decoder.payload_left(), piece.size());
      if (payload > 0) {
        decoded.payload += piece.substr(0, payload);
        decoder.take_payload(payload);
        piece.remove_prefix(payload);
      }
    }
    if (decoder.done()) decoded.rest += piece;
  }
  decoded.done = decoder.done();
  decoded.trailers = decoder.trailers();
  return decoded;
}

TEST(ChunkedDecoder, DecodesTheSameHoweverTheBodyIsSplit) {
  constexpr std::string_view kBody =
      "3\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n1\r\n\n\r\n000\r\nT: v \r\nU:\r\n\r\nNEXT";
  for (std::size_t cut = 0; cut <= kBody.size(); ++cut) {
    const auto decoded = decode_chunked(kBody, cut);
    ASSERT_TRUE(decoded.has_value()) << cut;
    EXPECT_TRUE(decoded->done) << cut;
    EXPECT_EQ(decoded->payload, "abc0123456789\n") << cut;
    EXPECT_EQ(decoded->rest, "NEXT") << cut;
    EXPECT_EQ(decoded->trailers.wire(), "T: v\r\nU: \r\n") << cut;
  }
}

TEST(ChunkedDecoder, RefusesEveryOtherForm) {
  for (const std::string_view body : {"\r\n",        "+1\r\n",       "-1\r\n",         "0x1\r\n",
                                      " 1\r\n",      "1 \r\n",       "1\t\r\n",        "1\n",
                                      "1\rX",        "1;\n",         "1;a\x01",        "g",
                                      "1\r\naX",     "1\r\na\n",     "1\r\na\rX",      "1111111111111111",
                                      "0\r\nX\r\n",  "0\r\n: a\r\n", "0\r\nA : b\r\n", "0\r\n a\r\n",
                                      "0\r\nA: b\n", "0\r\n\rX"}) {
    EXPECT_FALSE(decode_chunked(body, 0).has_value()) << body;
    EXPECT_FALSE(decode_chunked(body, body.size() / 2).has_value()) << body;
  }
}

TEST(ChunkedDecoder, BoundsWhatIsNotPayload) {
  EXPECT_TRUE(decode_chunked("1;" + std::string(256, 'e') + "\r\na", 0).has_value());
  EXPECT_FALSE(decode_chunked("1;" + std::string(257, 'e') + "\r\na", 0).has_value());
  EXPECT_TRUE(decode_chunked("0\r\nA: " + std::string(8000, 't') + "\r\n\r\n", 0)->done);
  EXPECT_FALSE(decode_chunked("0\r\nA: " + std::string(9000, 't') + "\r\n\r\n", 0).has_value());
}

TEST(ChunkedDecoder, TakesTheLargestSizeWithoutOverflow) {
  ChunkedDecoder decoder;
  ASSERT_TRUE(decoder.consume("fffffffffffffff\r\n").has_value());
  EXPECT_EQ(decoder.payload_left(), 0xfffffffffffffffu);
}

}  // namespace
}  // namespace skiff::protocol
