#include "container/mcp/client_config.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kCommand{"/opt/a \"b\"/skiff", "mcp", "--driver", "box"};

TEST(McpClients, HaveTheFormOfTheirConfiguration) {
  const nlohmann::json untyped{{"command", kCommand[0]}, {"args", {"mcp", "--driver", "box"}}};
  nlohmann::json typed = untyped;
  typed["type"] = "stdio";
  for (const auto& [name, whole] :
       std::vector<std::pair<std::string, nlohmann::json>>{{"claude-desktop", {{"mcpServers", {{"sandbox", untyped}}}}},
                                                           {"claude-code", {{"mcpServers", {{"sandbox", typed}}}}},
                                                           {"cursor", {{"mcpServers", {{"sandbox", untyped}}}}},
                                                           {"vscode", {{"servers", {{"sandbox", typed}}}}},
                                                           {"zed", {{"context_servers", {{"sandbox", untyped}}}}}}) {
    const auto lines = server_lines(find_mcp_client(name).value(), kCommand);
    ASSERT_TRUE(lines) << name;
    EXPECT_EQ(nlohmann::json::parse(*lines), whole) << *lines;
  }
  EXPECT_EQ(server_lines(find_mcp_client("codex").value(), kCommand).value(),
            "[mcp_servers.sandbox]\n"
            "command = \"/opt/a \\\"b\\\"/skiff\"\n"
            "args = [\"mcp\", \"--driver\", \"box\"]\n");
}

TEST(McpClients, AreListedWhereOneIsNotKnown) {
  const auto found = find_mcp_client("emacs");
  ASSERT_FALSE(found);
  for (const McpClient& client : mcp_clients()) {
    EXPECT_THAT(found.error().message, HasSubstr(std::string{client.name}));
  }
}

TEST(McpClients, RefuseAPathThatIsNotUtf8) {
  for (const McpClient& client : mcp_clients()) {
    EXPECT_FALSE(server_lines(client, std::vector<std::string>{"/a/\xff", "mcp"})) << client.name;
  }
}

}  // namespace
}  // namespace skiff::container
