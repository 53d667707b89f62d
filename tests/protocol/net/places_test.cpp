#include "protocol/net/places.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace skiff::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kForStrangers = PlaceLimits{}.strangers;
const Address kHere = Address::parse("127.0.0.1:1000").value();

using Use = Places::Place::Use;

/// A server with room for so many clients that have shown a credential.
struct House {
  explicit House(std::size_t most) : places{{.vouched_for = most}} {}

  Places::Place& enter(const std::string& name, const Address& from = kHere) {
    guests.push_back(std::make_unique<Places::Place>(places, from, [this, name] { gone.push_back(name); }));
    return *guests.back();
  }
  Places::Place& enter(const Holder& holder, Use use = Use::works) {
    Places::Place& place = enter(holder.who + holder.part);
    EXPECT_TRUE(place.vouch(holder));
    place.now(use);
    return place;
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
  house.enter(kForStrangers, "other");
  EXPECT_THAT(house.gone, IsEmpty());
  house.enter("newcomer");
  house.enter("newcomer");
  EXPECT_THAT(house.gone, ElementsAre("first", "second"));
  EXPECT_EQ(house.places.strangers(), 2 + kForStrangers);
}

TEST(Places, WhoHasShownACredentialStays) {
  House house{2};
  Places::Place& known = house.enter("known");
  EXPECT_FALSE(known.vouched());
  EXPECT_TRUE(known.vouch());
  EXPECT_TRUE(known.vouch()) << "again";
  EXPECT_TRUE(known.vouched());
  house.enter(10 * kForStrangers, "stranger");
  EXPECT_THAT(house.gone, ::testing::Each("stranger"));
  EXPECT_EQ(house.places.vouched(), 1U);
  EXPECT_EQ(house.places.strangers(), 1 + kForStrangers);
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

TEST(Places, WhoHasTheMostMakesRoomForWhoHasFewer) {
  House house{4};
  const Holder many{.who = "many"};
  house.enter(many);
  house.enter(many, Use::upgraded);
  house.enter(many, Use::waits);
  house.enter(many);
  for (int number = 0; number < 3; ++number) house.enter({.who = "few" + std::to_string(number)});
  EXPECT_THAT(house.gone, ElementsAre("many", "many", "many"));
  EXPECT_TRUE(house.guests[0]->vouched()) << "what waits goes first, then what was upgraded, then the last at work";
  EXPECT_FALSE(house.enter("many").vouch(many)) << "nobody has more";
  EXPECT_FALSE(house.enter("few0").vouch({.who = "few0"}));
  EXPECT_EQ(house.places.vouched(), 4U);
}

TEST(Places, WithinAHoldersOwnItIsThePartThatHasMost) {
  House house{3};
  for (int number = 0; number < 3; ++number) house.enter({.who = "tenant", .part = "link"}, Use::upgraded);
  house.enter({.who = "tenant", .part = "key"});
  EXPECT_THAT(house.gone, ElementsAre("tenantlink"));
  EXPECT_FALSE(house.enter("other").vouch({.who = "tenant", .part = "link"})) << "it has the most itself";
}

TEST(Places, WhatWaitsForARequestMakesRoomForTheHoldersNext) {
  House house{2};
  const Holder one{.who = "one"};
  house.enter(one, Use::waits);
  house.enter(one);
  house.enter(one);
  EXPECT_EQ(house.gone.size(), 1U);
  EXPECT_FALSE(house.guests[0]->vouched());
}

TEST(Places, AHigherRankTakesWhatLowerOnesLeaveIdle) {
  House house{3};
  const Holder admin{.who = "admin", .rank = 2};
  house.enter({.who = "reader"}, Use::upgraded);
  house.enter(admin);
  house.enter({.who = "runner", .rank = 1}, Use::works);
  house.enter(admin);
  EXPECT_THAT(house.gone, ElementsAre("reader"));
  EXPECT_FALSE(house.enter("admin").vouch(admin)) << "what is at work is not idle";
}

TEST(Places, AConnectionIsWhoseItsLastRequestIs) {
  House house{2};
  Places::Place& kept = house.enter({.who = "first"});
  EXPECT_TRUE(kept.vouch({.who = "second"}));
  EXPECT_EQ(kept.who(), "second");
  house.enter({.who = "second"});
  house.enter({.who = "first"});
  EXPECT_THAT(house.gone, ElementsAre("second"));
}

TEST(Places, WhoHasShownNothingIsHisAddress) {
  House house{2};
  for (int number = 0; number < 2; ++number) EXPECT_TRUE(house.enter("near").vouch());
  EXPECT_FALSE(house.enter("near").vouch());
  EXPECT_TRUE(house.enter("far", Address::parse("10.0.0.7:1000").value()).vouch());
  EXPECT_THAT(house.gone, ElementsAre("near"));
}

TEST(Places, AreNoMoreThanThereAreDescriptorsFor) {
  for (const LeadTo lead_to : {LeadTo::another, LeadTo::little}) {
    EXPECT_EQ(places_within(1'000'000, 10'000, lead_to).vouched_for, 10'000U);
    EXPECT_EQ(places_within(1'200, 10'000, lead_to).vouched_for, 500U);
    EXPECT_EQ(places_within(256, 10'000, lead_to).vouched_for, 28U);
    EXPECT_EQ(places_within(256, 10'000, lead_to).strangers, 32U);
    EXPECT_EQ(places_within(0, 10'000, lead_to).vouched_for, 16U);
    EXPECT_EQ(places_within(1'200, 8, lead_to).vouched_for, 8U);
  }
}

TEST(Places, ThatLeadToLittleLeaveAFixedPartToCommandsAndFiles) {
  EXPECT_EQ(places_within(20'000, 100'000, LeadTo::another).vouched_for, 9'900U);
  EXPECT_EQ(places_within(20'000, 100'000, LeadTo::little).vouched_for, 15'704U);
  EXPECT_EQ(places_within(14'496, 100'000, LeadTo::little).vouched_for, 10'200U);
  EXPECT_EQ(places_within(8'392, 100'000, LeadTo::little).vouched_for, 4'096U);
  EXPECT_EQ(places_within(8'000, 100'000, LeadTo::little).vouched_for, 3'900U) << "half is more";
}

TEST(Places, WhoeverHadToGoIsNotVouchedForAnyMore) {
  House house{1};
  Places::Place& late = house.enter("late");
  house.enter(1 + kForStrangers, "other");
  EXPECT_THAT(house.gone, ElementsAre("late"));
  EXPECT_FALSE(late.vouch());
  house.guests.erase(house.guests.begin());
  EXPECT_EQ(house.places.strangers(), 1 + kForStrangers);
}

TEST(Places, ACrowdOfOneSourceMakesRoomBeforeOthers) {
  House house{4};
  house.enter("elsewhere", Address::parse("10.0.0.7:1000").value());
  house.enter("far", Address::parse("[2001:db8::1]:1000").value());
  for (const char* loopback : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/s"}) {
    house.enter(kForStrangers, "crowd", Address::parse(loopback).value());
  }
  for (const char* neighbour : {"[2001:db8:0:1::1]:1", "[2001:db8:0:1::2]:1", "[2001:db8:0:1:ffff::]:1"}) {
    house.enter(kForStrangers, "network", Address::parse(neighbour).value());
  }
  EXPECT_EQ(house.gone.size(), 6 * kForStrangers - 2);
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
