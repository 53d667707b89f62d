#include "protocol/net/connection_slots.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace skiff::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kForStrangers = SlotLimits{}.strangers;
const Address kHere = Address::parse("127.0.0.1:1000").value();

using Use = ConnectionSlots::Slot::Use;

/// A server with room for that many authenticated clients.
struct House {
  explicit House(std::size_t most) : slots{{.authenticated = most}} {}

  ConnectionSlots::Slot& enter(const std::string& name, const Address& from = kHere) {
    guests.push_back(std::make_unique<ConnectionSlots::Slot>(slots, from, [this, name] { gone.push_back(name); }));
    return *guests.back();
  }
  ConnectionSlots::Slot& enter(const Holder& holder, Use use = Use::works) {
    ConnectionSlots::Slot& slot = enter(holder.who + holder.part);
    EXPECT_TRUE(slot.mark_authenticated(holder));
    slot.now(use);
    return slot;
  }
  void enter(std::size_t count, const std::string& name, const Address& from = kHere) {
    for (std::size_t number = 0; number < count; ++number) enter(name, from);
  }

  ConnectionSlots slots;
  std::vector<std::string> gone;
  std::vector<std::unique_ptr<ConnectionSlots::Slot>> guests;
};

TEST(ConnectionSlots, CloseTheOldestUnauthenticatedConnectionWhenFull) {
  House house{2};
  house.enter("first");
  house.enter("second");
  house.enter(kForStrangers, "other");
  EXPECT_THAT(house.gone, IsEmpty());
  house.enter("newcomer");
  house.enter("newcomer");
  EXPECT_THAT(house.gone, ElementsAre("first", "second"));
  EXPECT_EQ(house.slots.strangers(), 2 + kForStrangers);
}

TEST(ConnectionSlots, KeepAuthenticatedConnections) {
  House house{2};
  ConnectionSlots::Slot& known = house.enter("known");
  EXPECT_FALSE(known.is_authenticated());
  EXPECT_TRUE(known.mark_authenticated());
  EXPECT_TRUE(known.mark_authenticated()) << "again";
  EXPECT_TRUE(known.is_authenticated());
  house.enter(10 * kForStrangers, "stranger");
  EXPECT_THAT(house.gone, ::testing::Each("stranger"));
  EXPECT_EQ(house.slots.authenticated(), 1U);
  EXPECT_EQ(house.slots.strangers(), 1 + kForStrangers);
}

TEST(ConnectionSlots, ReserveSomeForUnauthenticatedConnections) {
  House house{2};
  ConnectionSlots::Slot& first = house.enter("first");
  EXPECT_TRUE(first.mark_authenticated());
  EXPECT_TRUE(house.enter("second").mark_authenticated());
  ConnectionSlots::Slot& third = house.enter("third");
  EXPECT_FALSE(third.mark_authenticated());
  EXPECT_FALSE(third.is_authenticated());
  EXPECT_EQ(house.slots.strangers(), 1U);
  house.guests.erase(house.guests.begin());
  EXPECT_TRUE(third.mark_authenticated());
}

TEST(ConnectionSlots, TakeFromTheHolderWithTheMost) {
  House house{4};
  const Holder many{.who = "many"};
  house.enter(many);
  house.enter(many, Use::upgraded);
  house.enter(many, Use::waits);
  house.enter(many);
  for (int number = 0; number < 3; ++number) house.enter({.who = "few" + std::to_string(number)});
  EXPECT_THAT(house.gone, ElementsAre("many", "many", "many"));
  EXPECT_TRUE(house.guests[0]->is_authenticated())
      << "what waits goes first, then what was upgraded, then the last at work";
  EXPECT_FALSE(house.enter("many").mark_authenticated(many)) << "nobody has more";
  EXPECT_FALSE(house.enter("few0").mark_authenticated({.who = "few0"}));
  EXPECT_EQ(house.slots.authenticated(), 4U);
}

TEST(ConnectionSlots, TakeFromTheLargestPartOfAHolder) {
  House house{3};
  for (int number = 0; number < 3; ++number) house.enter({.who = "tenant", .part = "link"}, Use::upgraded);
  house.enter({.who = "tenant", .part = "key"});
  EXPECT_THAT(house.gone, ElementsAre("tenantlink"));
  EXPECT_FALSE(house.enter("other").mark_authenticated({.who = "tenant", .part = "link"})) << "it has the most itself";
}

TEST(ConnectionSlots, CloseAnIdleConnectionForItsHoldersNext) {
  House house{2};
  const Holder one{.who = "one"};
  house.enter(one, Use::waits);
  house.enter(one);
  house.enter(one);
  EXPECT_EQ(house.gone.size(), 1U);
  EXPECT_FALSE(house.guests[0]->is_authenticated());
}

TEST(ConnectionSlots, LetAHigherRankTakeIdleConnections) {
  House house{3};
  const Holder admin{.who = "admin", .rank = 2};
  house.enter({.who = "reader"}, Use::upgraded);
  house.enter(admin);
  house.enter({.who = "runner", .rank = 1}, Use::works);
  house.enter(admin);
  EXPECT_THAT(house.gone, ElementsAre("reader"));
  EXPECT_FALSE(house.enter("admin").mark_authenticated(admin)) << "what is at work is not idle";
}

TEST(ConnectionSlots, CountAConnectionForTheHolderOfItsLastRequest) {
  House house{2};
  ConnectionSlots::Slot& kept = house.enter({.who = "first"});
  EXPECT_TRUE(kept.mark_authenticated({.who = "second"}));
  EXPECT_EQ(kept.who(), "second");
  house.enter({.who = "second"});
  house.enter({.who = "first"});
  EXPECT_THAT(house.gone, ElementsAre("second"));
}

TEST(ConnectionSlots, CountUnauthenticatedClientsByAddress) {
  House house{2};
  for (int number = 0; number < 2; ++number) EXPECT_TRUE(house.enter("near").mark_authenticated());
  EXPECT_FALSE(house.enter("near").mark_authenticated());
  EXPECT_TRUE(house.enter("far", Address::parse("10.0.0.7:1000").value()).mark_authenticated());
  EXPECT_THAT(house.gone, ElementsAre("near"));
}

TEST(ConnectionSlots, AreBoundedByDescriptors) {
  for (const LeadTo lead_to : {LeadTo::another, LeadTo::little}) {
    EXPECT_EQ(slots_within(1'000'000, 10'000, lead_to).authenticated, 10'000U);
    EXPECT_EQ(slots_within(1'200, 10'000, lead_to).authenticated, 500U);
    EXPECT_EQ(slots_within(256, 10'000, lead_to).authenticated, 28U);
    EXPECT_EQ(slots_within(256, 10'000, lead_to).strangers, 32U);
    EXPECT_EQ(slots_within(0, 10'000, lead_to).authenticated, 16U);
    EXPECT_EQ(slots_within(1'200, 8, lead_to).authenticated, 8U);
  }
}

TEST(ConnectionSlots, LeaveAFixedPartToCommandsIfTheyLeadToLittle) {
  EXPECT_EQ(slots_within(20'000, 100'000, LeadTo::another).authenticated, 9'900U);
  EXPECT_EQ(slots_within(20'000, 100'000, LeadTo::little).authenticated, 15'704U);
  EXPECT_EQ(slots_within(14'496, 100'000, LeadTo::little).authenticated, 10'200U);
  EXPECT_EQ(slots_within(8'392, 100'000, LeadTo::little).authenticated, 4'096U);
  EXPECT_EQ(slots_within(8'000, 100'000, LeadTo::little).authenticated, 3'900U) << "half is more";
}

TEST(ConnectionSlots, ForgetTheHolderOfAClosedConnection) {
  House house{1};
  ConnectionSlots::Slot& late = house.enter("late");
  house.enter(1 + kForStrangers, "other");
  EXPECT_THAT(house.gone, ElementsAre("late"));
  EXPECT_FALSE(late.mark_authenticated());
  house.guests.erase(house.guests.begin());
  EXPECT_EQ(house.slots.strangers(), 1 + kForStrangers);
}

TEST(ConnectionSlots, CloseConnectionsOfTheLargestSourceFirst) {
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

TEST(ConnectionSlots, MakeRoomOnRequest) {
  House house{4};
  EXPECT_FALSE(house.slots.make_room());
  EXPECT_TRUE(house.enter("known").mark_authenticated());
  EXPECT_FALSE(house.slots.make_room());
  house.enter("stranger");
  EXPECT_TRUE(house.slots.make_room());
  EXPECT_FALSE(house.slots.make_room());
  EXPECT_THAT(house.gone, ElementsAre("stranger"));
}

}  // namespace
}  // namespace skiff::protocol
