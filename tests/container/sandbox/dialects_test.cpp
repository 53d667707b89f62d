#include "container/sandbox/dialects.hpp"

#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

namespace skiff::container {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Ports = std::map<std::string, std::vector<std::uint16_t>>;

/// The ports in docs/dialects/ports.md, which is generated from skiffd's table: `NAME` in the first cell, numbers in
/// the second.
Ports documented() {
  std::ifstream page{std::string{test::kDocs} + "/dialects/ports.md"};
  Ports found;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t name_end = line.find('`', 3);
    const std::size_t cell = line.find('|', name_end) + 1;
    std::vector<std::uint16_t>& ports = found[line.substr(3, name_end - 3)];
    const char* const end = line.data() + line.find('|', cell);
    for (const char* at = line.data() + cell; at < end;) {
      std::uint16_t number = 0;
      const auto [after, error] = std::from_chars(at, end, number);
      if (error == std::errc{}) ports.push_back(number);
      at = error == std::errc{} ? after : at + 1;
    }
  }
  return found;
}

TEST(Dialects, AreThoseOfTheAgentOnItsPorts) {
  Ports ours;
  for (const Dialect& dialect : kDialects) {
    for (const DialectPort& port : dialect.ports) ours[std::string{dialect.name}].push_back(port.number);
  }
  EXPECT_EQ(ours, documented());
}

TEST(Dialects, HaveNamesAndPortsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::uint16_t> numbers;
  std::size_t count = 0;
  for (const Dialect& dialect : kDialects) {
    for (const DialectPort& port : dialect.ports) {
      ++count;
      names.insert(port.name);
      numbers.insert(port.number);
      EXPECT_LE(port.name.size(), 15U) << "Kubernetes refuses a longer one";
    }
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(numbers.size(), count);
  EXPECT_FALSE(names.contains("agent"));
}

TEST(Dialects, AreAskedForByNameAndOnce) {
  std::vector<std::uint16_t> numbers;
  const auto ports = ports_of_dialects({"sandboxd", "python-runtime"});
  ASSERT_TRUE(ports);
  for (const DialectPort& port : *ports) numbers.push_back(port.number);
  EXPECT_THAT(numbers, ElementsAre(8080, 9090, 8888));
  EXPECT_TRUE(ports_of_dialects({})->empty());
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"nope"}, std::vector<std::string>{"sandboxd=127.0.0.1:1"},
        std::vector<std::string>{"sandboxd", "kubebox", "sandboxd"}}) {
    const auto refused = ports_of_dialects(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::invalid_field);
    EXPECT_EQ(refused.error().field, "--dialect");
  }
  EXPECT_THAT(ports_of_dialects({"nope"}).error().message, HasSubstr("expected one of e2b, kubebox"));
}

TEST(Dialects, AreASettingOfTheAgent) {
  EXPECT_EQ(dialect_setting("python-runtime", "0.0.0.0", PortNumbers::known), "python-runtime=0.0.0.0:8888");
  EXPECT_EQ(dialect_setting("sandboxd", "0.0.0.0", PortNumbers::known), "sandboxd=0.0.0.0:8080,0.0.0.0:9090");
  EXPECT_EQ(dialect_setting("sandboxd", "127.0.0.1", PortNumbers::free), "sandboxd=127.0.0.1:0,127.0.0.1:0");
}

}  // namespace
}  // namespace skiff::container
