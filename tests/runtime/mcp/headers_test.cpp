#include "runtime/mcp/headers.hpp"

#include <gtest/gtest.h>

#include "runtime/mcp/revision.hpp"

namespace skiff::runtime::mcp {
namespace {

using protocol::Headers;

TEST(McpHeaders, AcceptNamesATypeOrARangeThatHoldsIt) {
  EXPECT_TRUE(accepts({}, "text/event-stream"));
  EXPECT_TRUE(accepts({{"Accept", "application/json, text/event-stream;q=0.5"}}, "text/event-stream"));
  EXPECT_TRUE(accepts({{"Accept", "application/json"}, {"Accept", "Text/*"}}, "text/event-stream"));
  EXPECT_TRUE(accepts({{"Accept", "*/*"}}, "application/json"));
  EXPECT_FALSE(accepts({{"Accept", "application/json"}}, "text/event-stream"));
  EXPECT_FALSE(accepts({{"Accept", "application/*"}}, "text/event-stream"));
  EXPECT_FALSE(accepts({{"Accept", ""}}, "text/event-stream"));
}

Message call(std::string revision, std::string name) {
  Message message{.method = "tools/call"};
  message.params = {{"name", std::move(name)},
                    {"_meta",
                     {{"io.modelcontextprotocol/protocolVersion", std::move(revision)},
                      {"io.modelcontextprotocol/clientCapabilities", nlohmann::json::object()}}}};
  return message;
}

Headers fields(std::string_view revision, std::string_view method, std::string_view name) {
  return {{"MCP-Protocol-Version", revision}, {"Mcp-Method", method}, {"Mcp-Name", name}};
}

RpcCode refusal(const Headers& headers, const Message& message) {
  const auto checked = check_headers(headers, message);
  return checked ? RpcCode{} : checked.error().code;
}

TEST(McpHeaders, TheyMustAgreeWithTheBody) {
  const Message message = call("2026-07-28", "naïve");
  EXPECT_EQ(refusal(fields("2026-07-28", "tools/call", "=?base64?bmHDr3Zl?="), message), RpcCode{});
  EXPECT_EQ(refusal(fields("2026-07-28", "tools/call", "naive"), message), RpcCode::header_mismatch);
  EXPECT_EQ(refusal(fields("2026-07-28", "tools/list", "=?base64?bmHDr3Zl?="), message), RpcCode::header_mismatch);
  EXPECT_EQ(refusal(fields("2025-11-25", "tools/call", "=?base64?bmHDr3Zl?="), message), RpcCode::header_mismatch);
  EXPECT_EQ(refusal(fields("2026-07-28", "tools/call", "=?base64?bmHDr3Zl"), message), RpcCode::header_mismatch);
  EXPECT_EQ(refusal({}, message), RpcCode::header_mismatch);
  Headers twice = fields("2026-07-28", "tools/call", "=?base64?bmHDr3Zl?=");
  twice.add("mcp-name", "other");
  EXPECT_EQ(refusal(twice, message), RpcCode::header_mismatch);
}

TEST(McpHeaders, AnUnknownRevisionIsAnsweredWithTheKnownOnes) {
  const auto checked = check_headers(fields("2031-01-01", "tools/call", "x"), call("2031-01-01", "x"));
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, RpcCode::unsupported_version);
  EXPECT_EQ(checked.error().data,
            R"({"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"2031-01-01"})");
  EXPECT_EQ(refusal(fields("2025-11-25", "tools/call", "x"), call("2025-11-25", "x")), RpcCode::unsupported_version);
}

TEST(McpHeaders, ABodyThatDoesNotSayItsRevisionIsRefused) {
  EXPECT_EQ(refusal(fields("2026-07-28", "ping", ""), Message{.method = "ping"}), RpcCode::invalid_params);
}

TEST(McpHeaders, TheBodyOrTheHeaderMakesARequestStateless) {
  EXPECT_TRUE(is_stateless({}, call("x", "y")));
  EXPECT_TRUE(is_stateless(fields("2026-07-28", "", ""), {}));
  EXPECT_FALSE(is_stateless(fields("2025-11-25", "", ""), {}));
  EXPECT_FALSE(is_stateless({}, {}));
  EXPECT_FALSE(is_stateless(fields("2026-07-28", "initialize", ""), Message{.method = "initialize"}));
}

}  // namespace
}  // namespace skiff::runtime::mcp
