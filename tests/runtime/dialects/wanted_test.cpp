#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::array kOneDoor{Door{.speaks = "HTTP", .port = 8888, .open = nullptr}};
constexpr std::array kTwoDoors{Door{.speaks = "REST", .port = 8080, .open = nullptr},
                               Door{.speaks = "gRPC", .port = 9090, .open = nullptr}};
constexpr std::array kKnown{Dialect{.name = "one", .doors = kOneDoor}, Dialect{.name = "two", .doors = kTwoDoors}};

/// "NAME ADDRESS..." of each, or the error.
std::vector<std::string> told(const std::vector<std::string>& values) {
  const auto found = wanted(values, kKnown, "127.0.0.1");
  if (!found) return {found.error().message};
  std::vector<std::string> texts;
  for (const Wanted& one : *found) {
    std::string text{one.dialect->name};
    for (const protocol::Address& address : one.addresses) text += ' ' + address.text();
    texts.push_back(std::move(text));
  }
  return texts;
}

TEST(WantedDialects, HaveAnAddressForEachDoor) {
  EXPECT_THAT(told({}), IsEmpty());
  EXPECT_THAT(told({"one"}), ElementsAre("one 127.0.0.1:8888"));
  EXPECT_THAT(told({"two", "one=0.0.0.0:1"}), ElementsAre("two 127.0.0.1:8080 127.0.0.1:9090", "one 0.0.0.0:1"));
  EXPECT_THAT(told({"two=127.0.0.1:1,127.0.0.1:2,one"}),
              ElementsAre("two 127.0.0.1:1 127.0.0.1:2", "one 127.0.0.1:8888"))
      << "as in a variable";
}

TEST(WantedDialects, AreRefusedWhereTheyMakeNoSense) {
  EXPECT_THAT(told({"three"}), ElementsAre(HasSubstr("expected one of one, two")));
  EXPECT_THAT(told({"one", "one"}), ElementsAre(HasSubstr("given twice")));
  EXPECT_THAT(told({"one=nonsense"}), ElementsAre(HasSubstr("--dialect: ")));
  EXPECT_THAT(told({"two=127.0.0.1:1"}), ElementsAre(HasSubstr("one address for each of: REST, gRPC")));
  EXPECT_THAT(told({"one=127.0.0.1:1,127.0.0.1:2"}), ElementsAre(HasSubstr("one address for each of: HTTP")));
}

}  // namespace
}  // namespace skiff::runtime::dialects
