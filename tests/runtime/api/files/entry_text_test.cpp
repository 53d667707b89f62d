#include "runtime/api/files/entry_text.hpp"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"

namespace skiff::runtime::api {
namespace {

nlohmann::json entry_json(std::string_view path, const fs::Entry& entry = {}, std::string_view tag = {}) {
  std::string text{"["};
  append_entry(text, path, entry, tag);
  return nlohmann::json::parse(text + ']')[0];
}

TEST(EntryText, FitsTheLongestValues) {
  fs::Entry entry;
  entry.type = fs::EntryType::character_device;
  entry.size = std::numeric_limits<std::uint64_t>::max();
  entry.mode = 07777;
  entry.uid = entry.gid = std::numeric_limits<std::uint32_t>::max();
  entry.modified = fs::FileTime{std::chrono::seconds{9'223'372'035}};
  const std::string name(255, 'n');
  const std::string path = std::string(3000, 'd') + '/' + name;
  const std::string tag = "\"h-" + std::string(64, 'f') + '"';
  EXPECT_EQ(entry_json(path, entry, tag), (nlohmann::json{{"path", path},
                                                          {"name", name},
                                                          {"type", "character_device"},
                                                          {"size", entry.size},
                                                          {"mode", "7777"},
                                                          {"uid", 4'294'967'295U},
                                                          {"gid", 4'294'967'295U},
                                                          {"modified_at", "2262-04-11T23:47:15.000Z"},
                                                          {"etag", tag}}));
}

TEST(EntryText, KeepsEveryByteOfAName) {
  for (unsigned byte = 1; byte < 256; ++byte) {
    for (const std::size_t size : {1U, 7U, 8U, 9U, 40U}) {
      for (std::size_t at = 0; at < size; ++at) {
        std::string path(size, 'x');
        path[at] = static_cast<char>(byte);
        const auto entry = entry_json(path);
        if (byte < 0x80) {
          ASSERT_EQ(entry["path"], path) << byte;
        } else {
          ASSERT_EQ(entry["path_base64"], protocol::encode_base64(path)) << byte;
        }
      }
    }
  }
}

TEST(EntryText, NamesTheLastPartOfAPath) {
  for (const auto& [path, last] :
       {std::pair{"a", "a"}, {"a/b", "b"}, {"a/b//", "b"}, {"/", "/"}, {"//", "/"}, {"", ""}, {"ä/ö", "ö"}}) {
    EXPECT_EQ(entry_json(path)["name"], last) << path;
  }
}

TEST(EntryText, OmitsAnEmptyTag) {
  EXPECT_FALSE(entry_json("a").contains("etag"));
  EXPECT_EQ(entry_json("a", {}, R"("m-1-2")")["etag"], R"("m-1-2")");
}

}  // namespace
}  // namespace skiff::runtime::api
