#include "container/changes/equal.hpp"

#include <fcntl.h>

#include "base/unique_fd.hpp"
#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class EqualTest : public Layered {
 protected:
  std::string compare_texts(const std::string& one, const std::string& other) const {
    test::put(under / "one", one);
    test::put(layer / "other", other);
    const UniqueFd first{::open((under / "one").c_str(), O_RDONLY | O_CLOEXEC)};
    const UniqueFd second{::open((layer / "other").c_str(), O_RDONLY | O_CLOEXEC)};
    const auto same = has_same_bytes(first.get(), second.get());
    return !same ? test::word(same) : *same ? "same" : "other";
  }
};

TEST_F(EqualTest, ComparesAllBytes) {
  const std::string large(1'000'000, 'a');
  EXPECT_EQ(compare_texts("", ""), "same");
  EXPECT_EQ(compare_texts("a", "a"), "same");
  EXPECT_EQ(compare_texts("a", "b"), "other");
  EXPECT_EQ(compare_texts(large, large), "same");
  EXPECT_EQ(compare_texts(large + "a", large + "b"), "other");
  EXPECT_EQ(compare_texts(large, large + "b"), "other");
}

TEST_F(EqualTest, AHoleIsZeros) {
  test::put(under / "one", std::string(100'000, '\0') + "end");
  const UniqueFd sparse{::open((layer / "other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  ASSERT_EQ(::pwrite(sparse.get(), "end", 3, 100'000), 3);
  const UniqueFd full{::open((under / "one").c_str(), O_RDONLY | O_CLOEXEC)};
  EXPECT_TRUE(has_same_bytes(full.get(), sparse.get()).value());
  ASSERT_EQ(::pwrite(sparse.get(), "x", 1, 5), 1);
  EXPECT_FALSE(has_same_bytes(full.get(), sparse.get()).value());
}

TEST_F(EqualTest, ReadsTheTargetOfALink) {
  std::filesystem::create_symlink("some/where", layer / "link");
  const UniqueFd link{::open((layer / "link").c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  EXPECT_EQ(target_of(link.get()).value(), "some/where");
}

}  // namespace
}  // namespace skiff::container::changes
