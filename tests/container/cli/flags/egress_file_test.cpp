#include "container/cli/flags/egress_file.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

using Rules = std::vector<std::string>;

TEST(EgressFile, HasRulesAndHosts) {
  const auto rules = egress_rules_in(
      "version: 1\n"
      "allow:\n"
      "  - pypi.org\n"
      "  - \"*.githubusercontent.com\"\n"
      "  - {host: db.example.com, ports: [5432, 8443]}\n"
      "  - {host: deb.debian.org, protocol: http}\n"
      "  - host: mirror.example.com\n"
      "    ports: [8080]\n"
      "    protocol: http\n"
      "  - profile: npm\n"
      "  - \"@pypi\"\n");
  ASSERT_TRUE(rules.has_value()) << rules.error().message;
  EXPECT_EQ(*rules, (Rules{"pypi.org", "*.githubusercontent.com", "db.example.com:5432", "db.example.com:8443",
                           "http://deb.debian.org", "http://mirror.example.com:8080", "registry.npmjs.org", "pypi.org",
                           "files.pythonhosted.org"}));
}

TEST(EgressFile, SaysWhereItIsWrong) {
  const std::string begin = "version: 1\nallow: ";
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "expected version and allow"},
      {"[]", "expected version and allow"},
      {"allow: [a.org]", "/version: expected 1"},
      {"version: 2\nallow: [a.org]", "/version: expected 1"},
      {"version: 1", "/allow: expected a list"},
      {begin + "[]", "/allow: expected a list"},
      {begin + "a.org", "/allow: expected a list"},
      {begin + "[a.org, 1.2.3.4]", "/allow/1: "},
      {begin + "[\"*.\"]", "/allow/0: "},
      {begin + "[[a.org]]", "/allow/0: expected a host"},
      {begin + "[{ports: [443]}]", "/allow/0/host: expected the name"},
      {begin + "[{host: a.org, ports: []}]", "/allow/0/ports: expected a list"},
      {begin + "[{host: a.org, ports: [443, 0]}]", "/allow/0/ports/1: "},
      {begin + "[{host: a.org, ports: [\"443\"]}]", "/allow/0/ports/0: expected a port"},
      {begin + "[{host: a.org, ports: [-1]}]", "/allow/0/ports/0: "},
      {begin + "[{host: \"http://a.org\", ports: [443]}]", "/allow/0/host: expected a name alone"},
      {begin + "[{host: a.org, protocol: tcp}]", "/allow/0/protocol: expected http"},
      {begin + "[{host: a.org, secret: github}]", "/allow/0/secret: this version does not support it"},
      {begin + "[{host: a.org, rules: []}]", "/allow/0/rules: this version does not support it"},
      {begin + "[{host: a.org, tls: terminate}]", "/allow/0/tls: this version does not support it"},
      {begin + "[{host: a.org, private: true}]", "/allow/0/private: this version does not support it"},
      {begin + "[{profile: nmp}]", "/allow/0/profile: --egress \"@nmp\": unknown profile"},
      {begin + "[{profile: [npm]}]", "/allow/0/profile: expected the name of a profile"},
      {begin + "[{profile: npm, ports: [8443]}]", "/allow/0/ports: unknown key"},
      {begin + "[{profile: \"@npm\"}]", "/allow/0/profile: --egress \"@@npm\""},
      {begin + "[\"@\"]", "/allow/0: --egress \"@\""},
      {begin + "[a.org]\nsecrets: {}", "/secrets: this version does not support it"},
      {begin + "[{host: a.org, \"p/o~rts\": [1]}]", "/allow/0/p~1o~0rts: unknown key"},
      {begin + "[a.org]\nallow: [b.org]", "--egress-file"},
      {begin + "[a.org]\n---\nversion: 1", "--egress-file"},
      {begin + "{", "--egress-file"},
  };
  for (const auto& [text, said] : wrong) {
    const auto rules = egress_rules_in(text);
    ASSERT_FALSE(rules.has_value()) << text;
    EXPECT_TRUE(rules.error().message.contains(said)) << text << ": " << rules.error().message;
  }
}

}  // namespace
}  // namespace skiff::container
