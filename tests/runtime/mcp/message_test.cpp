#include "runtime/mcp/message.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::mcp {
namespace {

using nlohmann::json;

RpcResult<Message> read(const char* text, std::string* id = nullptr) {
  std::string found;
  auto message = read_message(json::parse(text), found);
  if (id != nullptr) *id = found;
  return message;
}

TEST(McpMessage, TheThreeKindsAreDistinguished) {
  const auto request = read(R"({"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"b","_meta":{"x":1}}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, Message::Kind::request);
  EXPECT_EQ(request->id, "7");
  EXPECT_EQ(request->method, "ping");
  EXPECT_EQ(request->text("a"), "b");
  EXPECT_EQ(request->text("none"), "");
  EXPECT_EQ(request->meta("x"), 1);
  EXPECT_TRUE(request->meta("y").is_null());
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","method":"x"})")->kind, Message::Kind::notification);
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"result":{}})")->kind, Message::Kind::response);
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"error":{}})")->kind, Message::Kind::response);
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":null,"error":{}})")->kind, Message::Kind::response);
}

TEST(McpMessage, ANumberAndATextAreDifferentIds) {
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"x"})")->id, "1");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":"1","method":"x"})")->id, R"("1")");
}

TEST(McpMessage, AMalformedMessageIsRefusedWithItsId) {
  std::string id;
  EXPECT_FALSE(read(R"({"jsonrpc":"1.0","id":3,"method":"x"})", &id));
  EXPECT_EQ(id, "3");
  for (const char* text :
       {R"([])", R"(1)", R"({})", R"({"jsonrpc":"2.0","id":null,"method":"x"})",
        R"({"jsonrpc":"2.0","id":1.5,"method":"x"})", R"({"jsonrpc":"2.0","id":{},"method":"x"})",
        R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","method":1})", R"({"jsonrpc":"2.0","id":null,"result":{}})",
        R"({"jsonrpc":"2.0","method":"x","params":[]})"}) {
    const auto message = read(text, &id);
    ASSERT_FALSE(message) << text;
    EXPECT_EQ(message.error().code, RpcCode::invalid_request);
  }
  EXPECT_FALSE(read((R"({"jsonrpc":"2.0","method":"x","id":")" + std::string(300, 'x') + R"("})").c_str()));
}

TEST(McpMessage, ACursorIsATextOrAbsent) {
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"x"})")->cursor(), "");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"cursor":"c"}})")->cursor(), "c");
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"cursor":null}})")->cursor(), "");
  for (const char* text : {"5", "{}", "[\"c\"]"}) {
    const auto message =
        read((R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"cursor":)" + std::string{text} + "}}").c_str());
    ASSERT_TRUE(message) << text;
    EXPECT_EQ(message->cursor().error().code, RpcCode::invalid_params) << text;
  }
}

TEST(McpMessage, AProgressTokenIsAShortTextOrAnInteger) {
  const auto token = [](const std::string& text) {
    return read((R"({"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":)" + text + "}}}").c_str())
        ->progress_token();
  };
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":1,"method":"x"})")->progress_token(), "");
  EXPECT_EQ(token("null"), "");
  EXPECT_EQ(token("0"), "0");
  EXPECT_EQ(token(R"("")"), R"("")");
  for (const std::string& text :
       {std::string{"1.5"}, std::string{"true"}, std::string{"[]"}, '"' + std::string(256, 'x') + '"'}) {
    EXPECT_EQ(token(text).error().code, RpcCode::invalid_params) << text;
  }
}

TEST(McpMessage, MessagesAreJsonOnOneLine) {
  EXPECT_EQ(json::parse(result_message("\"a\"", R"({"x":1})")),
            json::parse(R"({"jsonrpc":"2.0","id":"a","result":{"x":1}})"));
  EXPECT_EQ(json::parse(error_message("", {RpcCode::parse_error, "a\nb", R"({"c":1})"})),
            json::parse(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a\nb","data":{"c":1}}})"));
  EXPECT_EQ(notification_message("n", "{}"), R"({"jsonrpc":"2.0","method":"n","params":{}})");
}

}  // namespace
}  // namespace skiff::runtime::mcp
