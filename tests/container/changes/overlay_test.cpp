#include "container/changes/overlay.hpp"

#include <fcntl.h>

#include "base/unique_fd.hpp"
#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class OverlayMarksTest : public Layered {
 protected:
  [[nodiscard]] UniqueFd open(const char* name) const {
    return UniqueFd{::open((layer / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  }
  [[nodiscard]] bool is_gone(const std::string& directory, const char* name) const {
    const UniqueFd in = open(directory.c_str());
    struct stat status{};
    EXPECT_EQ(::fstatat(in.get(), name, &status, AT_SYMLINK_NOFOLLOW), 0);
    return is_whiteout(in.get(), name, status, opacity_of(in.get()));
  }
};

TEST_F(OverlayMarksTest, ReadsOpaqueDirectories) {
  std::filesystem::create_directory(layer / "d");
  EXPECT_FALSE(opacity_of(open("d").get()).is_opaque);
  mark("d", "user.overlay.opaque", "y");
  EXPECT_TRUE(opacity_of(open("d").get()).is_opaque);
  mark("d", "user.overlay.opaque", "yes");
  EXPECT_FALSE(opacity_of(open("d").get()).is_opaque);
}

TEST_F(OverlayMarksTest, ADeviceWithoutNumbersIsAWhiteout) {
  whiteout("d/gone");
  write(layer / "d/file", "");
  EXPECT_TRUE(is_gone("d", "gone"));
  EXPECT_FALSE(is_gone("d", "file"));
}

TEST_F(OverlayMarksTest, AMarkedFileIsAWhiteoutInAMarkedDirectory) {
  write(layer / "d/gone", "");
  write(layer / "d/full", "x");
  for (const char* name : {"d/gone", "d/full"}) mark(name, "user.overlay.whiteout", "");
  EXPECT_FALSE(is_gone("d", "gone"));
  mark("d", "user.overlay.opaque", "x");
  EXPECT_TRUE(is_gone("d", "gone"));
  EXPECT_FALSE(is_gone("d", "full"));
}

}  // namespace
}  // namespace skiff::container::changes
