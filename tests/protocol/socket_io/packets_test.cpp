#include "protocol/socket_io/packets.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace skiff::protocol::socket_io {
namespace {

TEST(SocketIoFrame, OpensAConnection) {
  using std::chrono::milliseconds;
  EXPECT_EQ(to_frame(Opening{"e-1", milliseconds{25'000}, milliseconds{20'000}, 1'000'000}),
            R"(0{"sid":"e-1","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000})");
  EXPECT_EQ(refusal_frame("/admin"), R"(44/admin,{"message":"Invalid namespace"})");
}

TEST(SocketIoFrame, IsWhatAClientMaySend) {
  EXPECT_EQ(parse_frame("3")->type, FrameType::pong);
  EXPECT_EQ(parse_frame("1")->type, FrameType::close);
  EXPECT_EQ(parse_frame("40{}")->content, "0{}");
  for (const char* const text : {"", "0{}", "2", "5", "6", "x", "\n"}) {
    ASSERT_FALSE(parse_frame(text)) << text;
    EXPECT_EQ(parse_frame(text).error().code, Errc::invalid_request);
  }
}

struct PacketCase {
  const char* text;
  PacketType type;
  std::optional<std::uint64_t> id;
  const char* payload;
};

TEST(SocketIoPacket, IsReadAndWrittenAsTheProtocolHasIt) {
  const PacketCase cases[]{{"0", PacketType::connect, {}, ""},
                           {"0{\"a\":1}", PacketType::connect, {}, "{\"a\":1}"},
                           {"1", PacketType::disconnect, {}, ""},
                           {"2[\"a\"]", PacketType::event, {}, "[\"a\"]"},
                           {"213[\"a\"]", PacketType::event, 13, "[\"a\"]"},
                           {"20[\"a\"]", PacketType::event, 0, "[\"a\"]"},
                           {"39007199254740991[]", PacketType::ack, 9007199254740991U, "[]"}};
  for (const auto& one : cases) {
    const auto packet = parse_packet(one.text);
    ASSERT_TRUE(packet) << one.text;
    EXPECT_EQ(packet->type, one.type) << one.text;
    EXPECT_EQ(packet->id, one.id) << one.text;
    EXPECT_EQ(packet->payload, one.payload) << one.text;
    EXPECT_EQ(to_frame(*packet), std::string{"4"} + one.text);
  }
}

TEST(SocketIoPacket, ConnectMayNameAnUnknownNamespace) {
  EXPECT_EQ(parse_packet("0/admin")->other, "/admin");
  EXPECT_EQ(parse_packet("0/admin,{\"a\":1}")->other, "/admin");
  EXPECT_EQ(parse_packet("0/,{}")->other, "");
  EXPECT_EQ(parse_packet("2/,[\"a\"]")->payload, "[\"a\"]");
  EXPECT_FALSE(parse_packet("0/" + std::string(256, 'a')));
}

TEST(SocketIoPacket, ThatIsNoneIsRefused) {
  for (const char* const text : {"", "4{}", "5", "51-[\"a\"]", "x", "29007199254740992[]", "299999999999999999999999[]",
                                 "01", "3[]", "11", "0/admin,1[]", "2/admin,[]", "1/admin", "2x"}) {
    EXPECT_FALSE(parse_packet(text)) << text;
  }
}

TEST(SocketIoEvent, BeginsWithItsName) {
  EXPECT_EQ(parse_event(R"(["a",{"b":1}, 2])")->at(1).dump(), R"({"b":1})");
  EXPECT_EQ(parse_event(R"(["a"])")->size(), 1U);
  EXPECT_EQ(begin_event("a"), "42[\"a\",{");
  EXPECT_EQ(begin_event("a", 7), "427[\"a\",{");
}

TEST(SocketIoEvent, ThatIsNoneIsRefused) {
  const std::string deep = R"(["a",)" + std::string(40, '[') + std::string(40, ']') + "]";
  for (const std::string& text : {std::string{}, std::string{"{}"}, std::string{"[]"}, std::string{"[1]"},
                                  std::string{"[\"a\""}, std::string{"[\"a\"] "} + "x", deep}) {
    EXPECT_FALSE(parse_event(text)) << text;
  }
}

}  // namespace
}  // namespace skiff::protocol::socket_io
