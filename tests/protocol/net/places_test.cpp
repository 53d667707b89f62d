#include "protocol/net/places.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace skiff::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Address kHere = Address::parse("127.0.0.1:1000").value();

/// A server with room for so many clients that have shown a credential.
struct House {
  explicit House(std::size_t most) : places{most} {}

  Places::Place& enter(const std::string& name, const Address& from = kHere) {
    guests.push_back(std::make_unique<Places::Place>(places, from, [this, name] { gone.push_back(name); }));
    return *guests.back();
  }
  void enter(std::size_t count, const std::string& name, const Address& from = kHere) {
    for (std::size_t number = 0; number < count; ++number) enter(name, from);
  }

  Places places;
  std::vector<std::string> gone;
  std::vector<std::unique_ptr<Places::Place>> guests;
};

TEST(Places, AStrangerMakesRoomWhenAllAreTakenTheFirstThatCameFirst) {
  House house{2};
  house.enter("first");
  house.enter("second");
  house.enter(Places::kForStrangers, "other");
  EXPECT_THAT(house.gone, IsEmpty());
  house.enter("newcomer");
  house.enter("newcomer");
  EXPECT_THAT(house.gone, ElementsAre("first", "second"));
  EXPECT_EQ(house.places.strangers(), 2 + Places::kForStrangers);
}

TEST(Places, WhoHasShownACredentialStays) {
  House house{2};
  Places::Place& known = house.enter("known");
  EXPECT_FALSE(known.vouched());
  EXPECT_TRUE(known.vouch());
  EXPECT_TRUE(known.vouch()) << "again";
  EXPECT_TRUE(known.vouched());
  house.enter(10 * Places::kForStrangers, "stranger");
  EXPECT_THAT(house.gone, ::testing::Each("stranger"));
  EXPECT_EQ(house.places.vouched(), 1U);
  EXPECT_EQ(house.places.strangers(), 1 + Places::kForStrangers);
}

TEST(Places, StrangersHaveSomeThatNobodyElseGets) {
  House house{2};
  Places::Place& first = house.enter("first");
  EXPECT_TRUE(first.vouch());
  EXPECT_TRUE(house.enter("second").vouch());
  Places::Place& third = house.enter("third");
  EXPECT_FALSE(third.vouch());
  EXPECT_FALSE(third.vouched());
  EXPECT_EQ(house.places.strangers(), 1U);
  house.guests.erase(house.guests.begin());
  EXPECT_TRUE(third.vouch());
}

TEST(Places, WhoeverHadToGoIsNotVouchedForAnyMore) {
  House house{1};
  Places::Place& late = house.enter("late");
  house.enter(1 + Places::kForStrangers, "other");
  EXPECT_THAT(house.gone, ElementsAre("late"));
  EXPECT_FALSE(late.vouch());
  house.guests.erase(house.guests.begin());
  EXPECT_EQ(house.places.strangers(), 1 + Places::kForStrangers);
}

TEST(Places, ACrowdOfOneSourceMakesRoomBeforeOthers) {
  House house{4};
  house.enter("elsewhere", Address::parse("10.0.0.7:1000").value());
  house.enter("far", Address::parse("[2001:db8::1]:1000").value());
  for (const char* loopback : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/s"}) {
    house.enter(Places::kForStrangers, "crowd", Address::parse(loopback).value());
  }
  for (const char* neighbour : {"[2001:db8:0:1::1]:1", "[2001:db8:0:1::2]:1", "[2001:db8:0:1:ffff::]:1"}) {
    house.enter(Places::kForStrangers, "network", Address::parse(neighbour).value());
  }
  EXPECT_EQ(house.gone.size(), 6 * Places::kForStrangers - 2);
  EXPECT_THAT(house.gone, ::testing::Each(::testing::AnyOf("crowd", "network")));
}

TEST(Places, RoomCanBeAskedFor) {
  House house{4};
  EXPECT_FALSE(house.places.make_room());
  EXPECT_TRUE(house.enter("known").vouch());
  EXPECT_FALSE(house.places.make_room());
  house.enter("stranger");
  EXPECT_TRUE(house.places.make_room());
  EXPECT_FALSE(house.places.make_room());
  EXPECT_THAT(house.gone, ElementsAre("stranger"));
}

}  // namespace
}  // namespace skiff::protocol
