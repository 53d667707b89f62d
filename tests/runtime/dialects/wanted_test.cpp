#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array kOne{Endpoint{.speaks = "HTTP", .port = 8888, .open = nullptr}};
constexpr std::array kTwo{Endpoint{.speaks = "REST", .port = 8080, .open = nullptr},
                          Endpoint{.speaks = "gRPC", .port = 9090, .open = nullptr}};
constexpr std::array kKnown{Dialect{.name = "plain", .endpoints = kOne}, Dialect{.name = "double", .endpoints = kTwo}};

std::vector<std::string> addresses(const Wanted& one) {
  std::vector<std::string> texts;
  for (const auto& address : one.addresses) texts.push_back(address.text());
  return texts;
}

std::string refused(const std::vector<std::string>& values) {
  const auto found = wanted(values, kKnown, "127.0.0.1");
  if (found) return "accepted";
  EXPECT_EQ(found.error().code, Errc::invalid_field);
  return found.error().message;
}

TEST(WantedDialects, ListenOnTheirOwnPortsOfTheHost) {
  const auto found = wanted({"plain", "double"}, kKnown, "[::]");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->front().dialect->name, "plain");
  EXPECT_THAT(addresses((*found)[0]), ElementsAre("[::]:8888"));
  EXPECT_THAT(addresses((*found)[1]), ElementsAre("[::]:8080", "[::]:9090"));
}

TEST(WantedDialects, TakeAnAddressForEachEndpoint) {
  // The addresses come as flags, or as one variable, whose values are separated by commas, too.
  for (const std::vector<std::string>& values :
       {std::vector<std::string>{"double=127.0.0.1:1,[::1]:2", "plain=unix:/run/plain"},
        std::vector<std::string>{"double=127.0.0.1:1", "[::1]:2", "plain=unix:/run/plain"}}) {
    const auto found = wanted(values, kKnown, "[::]");
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 2U);
    EXPECT_THAT(addresses((*found)[0]), ElementsAre("127.0.0.1:1", "[::1]:2"));
    EXPECT_THAT(addresses((*found)[1]), ElementsAre("unix:/run/plain"));
  }
}

TEST(WantedDialects, AreNoneIfNoValueIsGiven) {
  const auto found = wanted({}, kKnown, "127.0.0.1");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->empty());
}

TEST(WantedDialects, AreRefusedIfTheValueIsInvalid) {
  EXPECT_THAT(refused({"other"}), HasSubstr("expected one of plain, double"));
  EXPECT_THAT(refused({"plain", "plain"}), HasSubstr("given twice"));
  EXPECT_THAT(refused({"double=127.0.0.1:1"}), HasSubstr("one address for each of: REST, gRPC"));
  EXPECT_THAT(refused({"plain=127.0.0.1:1,127.0.0.1:2"}), HasSubstr("one address for each of: HTTP"));
  EXPECT_THAT(refused({"plain="}), HasSubstr("--dialect"));
  EXPECT_THAT(refused({"plain=localhost:1"}), HasSubstr("--dialect"));
  EXPECT_THAT(refused({"127.0.0.1:1"}), HasSubstr("expected one of"));
  EXPECT_THAT(refused({""}), HasSubstr("expected one of"));
}

}  // namespace
}  // namespace skiff::runtime::dialects
