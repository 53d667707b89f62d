#include "fs/content/kernel_file.hpp"

#include <unistd.h>

#include <string>
#include <thread>

#include "fs/content/read.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::put;
using test::word;

class KernelFileTest : public test::Files {
 public:
  const Tree everything = Tree::open({.path = "/", .access = Access::read_write}, {}).value();

  std::string read(const std::string& path) const {
    const OpenFile file = open_to_read(everything, path).value();
    std::string text(file.entry.size, '\0');
    EXPECT_EQ(read_at(file.fd.get(), 0, text), text.size()) << path;
    return text;
  }
};

TEST_F(KernelFileTest, HasTheSizeOfWhatItHolds) {
  for (const char* path : {"/proc/version", "/proc/sys/kernel/ostype", "/proc/mounts"}) {
    EXPECT_EQ(read(path), get(path)) << path;
    EXPECT_FALSE(read(path).empty()) << path;
  }
  const std::string mtu = "/sys/class/net/lo/mtu";
  if (std::filesystem::exists(mtu)) {
    EXPECT_EQ(read(mtu), get(mtu));
  }
}

TEST_F(KernelFileTest, HasTheTagOfItsBytes) {
  const OpenFile file = open_to_read(everything, "/proc/version").value();
  const auto tag = entity_tag(file.fd.get(), file.entry);
  ASSERT_TRUE(tag);
  EXPECT_TRUE(tag->starts_with("\"h-")) << *tag;
  EXPECT_EQ(file.entry.mode, 0444U);
}

TEST_F(KernelFileTest, ExcludesEmptyFilesAndThoseOfAPage) {
  put(root / "empty", "");
  put(root / "page", std::string(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), 'x'));
  const Tree tree = open_tree();
  for (const char* name : {"empty", "page"}) {
    const OpenFile file = open_to_read(tree, name).value();
    EXPECT_FALSE(copy_of_kernel_file(file.fd.get(), file.entry).value()) << name;
  }
}

TEST_F(KernelFileTest, RefusesFilesAboutThisProcess) {
  for (const char* name : {"environ", "maps", "mem", "status", "task/../maps"}) {
    EXPECT_EQ(word(open_to_read(everything, "/proc/self/" + std::string{name})), "permission_denied") << name;
  }
  const std::string own = std::to_string(::getpid());
  EXPECT_EQ(word(open_to_read(everything, "/proc/" + own + "/maps")), "permission_denied");
  EXPECT_EQ(word(open_to_read(everything, "/proc/self/task/" + own + "/maps")), "permission_denied");
  std::thread{[&] {
    EXPECT_EQ(word(open_to_read(everything, "/proc/" + std::to_string(::gettid()) + "/maps")), "permission_denied");
  }}.join();
  EXPECT_EQ(word(open_to_read(everything, "/proc/1/environ")), "permission_denied");
}

}  // namespace
}  // namespace skiff::fs
