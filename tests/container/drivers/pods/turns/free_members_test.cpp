#include "container/drivers/pods/turns/free_members.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "container/cluster/labels.hpp"
#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FilledPool;
using test::once;

CO_TEST(FreeMembers, HandsOutEachToOneCaller) {
  FilledPool pool{executor, 3};
  pool.fake.cluster->watch_objects();
  const WatchedObjects& watched = *pool.fake.cluster->watched();
  co_await once([&] { return watched.is_complete(); });
  FreeMembers members{&watched.pods()};
  EXPECT_FALSE(members.next("another").has_value());
  std::set<std::string> names;
  {
    std::vector<FreeMembers::Held> held;
    while (auto one = members.next("p")) {
      names.insert(one->pod().name());
      held.push_back(std::move(*one));
    }
    EXPECT_EQ(held.size(), 3u);
    EXPECT_EQ(names.size(), 3u);
    held.front().refuse();
  }
  std::vector<FreeMembers::Held> again;
  while (auto one = members.next("p")) again.push_back(std::move(*one));
  EXPECT_EQ(again.size(), 2u) << "one of them was refused";
  again.clear();
  for (const std::string& name : names) {
    pool.fake.server.change(kube::kPods, "default", name,
                            [](nlohmann::json& pod) { pod["metadata"]["annotations"]["a"] = "b"; });
  }
  co_await once([&] {
    again.clear();
    while (auto one = members.next("p")) again.push_back(std::move(*one));
    return again.size() == 3;
  });
  again.clear();
  co_await pool.fake.cluster->close();
  co_await pool.fake.stop();
}

/// The order in which it hands out all members of the pool.
std::vector<std::string> order_of(FreeMembers& members) {
  std::vector<std::string> names;
  while (auto one = members.next("p")) {
    names.push_back(one->pod().name());
    one->refuse();
  }
  return names;
}

CO_TEST(FreeMembers, OfServersThatKnowEachOtherBeginWithDifferentOnes) {
  constexpr unsigned kFree = 100;
  FilledPool pool{executor, kFree + 3};
  pool.fake.cluster->watch_objects();
  const WatchedObjects& watched = *pool.fake.cluster->watched();
  co_await once([&] { return watched.is_complete(); });
  FreeMembers one{&watched.pods()};
  FreeMembers other{&watched.pods()};
  // Each has taken a Pod, and so has a server of last year.
  for (const auto& [number, taker] : {std::pair{0, one.taker()}, {1, other.taker()}, {2, std::string{"29000000/7"}}}) {
    pool.fake.server.change(kube::kPods, "default", "skiff-pool-p-" + std::to_string(number), [&](nlohmann::json& pod) {
      pod["metadata"]["labels"][labels::kPoolState] = "taken";
      pod["metadata"]["annotations"][labels::kTakenBy] = taker;
    });
  }
  co_await once([&] { return watched.pods().groups(kTakers, kTakers, 9).size() == 3; });
  {
    // It holds only a few that the other wants more, since that may be taking them.
    std::vector<FreeMembers::Held> held;
    while (auto member = one.next("p")) held.push_back(std::move(*member));
    EXPECT_TRUE(one.has_others("p"));
    std::vector<FreeMembers::Held> theirs;
    while (auto member = other.next("p")) theirs.push_back(std::move(*member));
    EXPECT_EQ(held.size() + theirs.size(), kFree + 2 * FreeMembers::kTheirsAtOnce);
  }
  const std::vector<std::string> mine = order_of(one);
  const std::vector<std::string> theirs = order_of(other);
  EXPECT_EQ(mine.size(), kFree);
  EXPECT_EQ(theirs.size(), kFree);
  // What one takes first the other one takes last, so together they take all before they meet.
  EXPECT_EQ(mine, std::vector<std::string>(theirs.rbegin(), theirs.rend()));
  co_await pool.fake.cluster->close();
  co_await pool.fake.stop();
}

}  // namespace
}  // namespace skiff::container
