#include "container/drivers/docker/agent_archive.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <fstream>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::container::docker {
namespace {

/// "TYPE MODE USER:GROUP" of each entry, by its name.
std::map<std::string, std::string> entries_of(int file) {
  std::map<std::string, std::string> all;
  const std::unique_ptr<archive, int (*)(archive*)> from{::archive_read_new(), &::archive_read_free};
  ::archive_read_support_format_tar(from.get());
  EXPECT_EQ(::archive_read_open_fd(from.get(), file, 4096), ARCHIVE_OK);
  archive_entry* entry = nullptr;
  while (::archive_read_next_header(from.get(), &entry) == ARCHIVE_OK) {
    std::string name = ::archive_entry_pathname(entry);
    if (name.ends_with('/')) name.pop_back();
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%c %o %lld:%lld", ::archive_entry_filetype(entry) == AE_IFDIR ? 'd' : 'f',
                  static_cast<unsigned>(::archive_entry_perm(entry)),
                  static_cast<long long>(::archive_entry_uid(entry)),
                  static_cast<long long>(::archive_entry_gid(entry)));
    all[name] = text.data();
  }
  return all;
}

std::map<std::string, std::string> packed(const std::string& run_as, const std::string& workdir, bool is_new,
                                          std::vector<std::string> dialects = {}) {
  const test::TemporaryDirectory directory;
  std::ofstream{directory / "skiffd"} << "program";
  HostRecord record;
  record.dialects = std::move(dialects);
  record.container = HostContainer{.run_as = run_as, .workdir = workdir};
  auto file = pack_agent({.skiffd = directory / "skiffd", .launch_plan = "{}", .is_new = is_new}, record);
  EXPECT_TRUE(file.has_value());
  return file ? entries_of(file->get()) : std::map<std::string, std::string>{};
}

using Entries = std::map<std::string, std::string>;
const Entries kAgent{{".skiff", "d 755 0:0"}, {".skiff/skiffd", "f 755 0:0"}, {".skiff/launch.json", "f 444 0:0"}};

TEST(PackAgent, TheAgentBelongsToRoot) {
  EXPECT_EQ(packed("1000:1000", "/workspace", false), kAgent);
}

TEST(PackAgent, ANewContainerGetsItsDirectories) {
  Entries all = kAgent;
  all["workspace"] = "d 755 1000:1001";
  EXPECT_EQ(packed("1000:1001", "/workspace/", true), all);
  all = kAgent;
  all["srv/work"] = "d 777 0:0";
  all["home/user"] = "d 777 0:0";
  EXPECT_EQ(packed("image", "/srv/work", true, {"e2b"}), all) << "only the image knows its user";
  EXPECT_EQ(packed("1000", "/", true), kAgent);
}

}  // namespace
}  // namespace skiff::container::docker
