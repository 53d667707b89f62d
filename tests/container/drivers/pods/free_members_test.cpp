#include "container/drivers/pods/free_members.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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
      EXPECT_TRUE(members.is_held(one->pod().name()));
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

}  // namespace
}  // namespace skiff::container
