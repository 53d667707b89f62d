#include "container/egress/explain.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

Explanation explained(const std::string& wanted) {
  static const Policy policy =
      Policy::parse(std::vector<std::string>{"pypi.org", "*.example.com:8443", "http://deb.debian.org"}).value();
  return explain(&policy, wanted, "box");
}

TEST(Explain, NamesTheRule) {
  EXPECT_EQ(explained("PyPI.org.").rule, "pypi.org");
  EXPECT_EQ(explained("https://pypi.org/simple?a#b").rule, "pypi.org");
  EXPECT_EQ(explained("HTTPS://a.b.example.com:8443").rule, "*.example.com:8443");
  EXPECT_EQ(explained("http://deb.debian.org/debian/").rule, "http://deb.debian.org");
  EXPECT_FALSE(explained("pypi.org:443").refusal);
}

TEST(Explain, NamesTheCodeAndTheRuleThatWouldAllowIt) {
  const auto other = explained("evil.org");
  ASSERT_TRUE(other.refusal);
  EXPECT_EQ(other.refusal->code, "not_allowed");
  EXPECT_EQ(other.refusal->rule, "evil.org");
  const auto plain = explained("http://pypi.org/");
  ASSERT_TRUE(plain.refusal);
  EXPECT_EQ(plain.refusal->code, "port_not_allowed");
  EXPECT_EQ(plain.refusal->rule, "http://pypi.org");
  EXPECT_EQ(explained("example.com:8443").refusal->code, "not_allowed");
  EXPECT_EQ(explained("localhost").refusal->rule, "") << "no rule can name it";
}

TEST(Explain, TakesNoTargetThatTwoReadersReadDifferently) {
  for (const char* wanted : {"",
                             ":",
                             "https://",
                             "https://pypi.org@evil.org/",
                             "https://user:secret@pypi.org",
                             "https://evil.org\\@pypi.org/",
                             "https://pypi.org\\.evil.org",
                             "pypi.org/path",
                             "pypi.org#",
                             "1.2.3.4",
                             "[::1]",
                             "https://[::1]/",
                             "2130706433",
                             "0x7f.1",
                             "p\xC3\xBCpi.org",
                             "pypi.org:0",
                             "pypi.org:65536",
                             "pypi.org:443:443",
                             "ssh://pypi.org",
                             "ftp://pypi.org",
                             "*.example.com:8443",
                             "pypi.org\n",
                             "https://pypi.org\t/",
                             "://pypi.org"}) {
    const auto found = explained(wanted);
    ASSERT_TRUE(found.refusal) << wanted;
    EXPECT_EQ(found.refusal->code, "bad_target") << wanted;
    EXPECT_TRUE(found.rule.empty() && found.refusal->rule.empty()) << wanted;
  }
}

TEST(Explain, AllowsNothingWithoutAPolicy) {
  const auto found = explain(nullptr, "pypi.org", "box");
  ASSERT_TRUE(found.refusal);
  EXPECT_EQ(found.refusal->code, "no_policy");
}

TEST(Explain, JudgesARequestThatGetsASecret) {
  const Policy policy = Policy::parse(std::vector<std::string>{"github.com", "pypi.org"}).value();
  const std::vector<Secret> secrets{{.name = "git",
                                     .hosts = {"github.com"},
                                     .header = {},
                                     .requests = {"POST /acme/app.git/git-upload-pack"},
                                     .value = {}}};
  const auto asked = [&](const std::string& method, const std::string& wanted) {
    const auto found = explain(&policy, wanted, "box", method, secrets);
    return std::pair{found.secret, found.refusal ? std::string{found.refusal->code} : std::string{}};
  };
  EXPECT_EQ(asked("", "github.com"), (std::pair<std::string, std::string>{"git", ""}));
  EXPECT_EQ(asked("POST", "https://github.com/acme/app.git/git-upload-pack?x#y"),
            (std::pair<std::string, std::string>{"git", ""}));
  EXPECT_EQ(asked("POST", "https://github.com/acme/app.git/git-receive-pack").second, "request_not_allowed");
  EXPECT_EQ(asked("GET", "github.com").second, "request_not_allowed");
  EXPECT_EQ(asked("", "https://github.com/acme/app.git/git-upload-pack").second, "request_not_allowed");
  EXPECT_EQ(asked("POST", "https://github.com/acme/../x").second, "bad_path");
  EXPECT_EQ(asked("POST", "https://pypi.org/x"), (std::pair<std::string, std::string>{"", ""}));
}

}  // namespace
}  // namespace skiff::container::egress
