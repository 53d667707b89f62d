#include "runtime/api/files/entry_members.hpp"

namespace skiff::runtime::api {

std::vector<Member> entry_members() {
  const std::string mode = R"({"type":"string","pattern":"^[0-7]{4}$"})";
  const std::string type =
      one_of({"file", "directory", "symlink", "fifo", "socket", "character_device", "block_device"});
  return {{"path", kText},
          {"path_base64", kText, false, "Path in base64, if it is not UTF-8"},
          {"name", kText},
          {"name_base64", kText, false},
          {"type", named("FileType", type)},
          {"size", kCount},
          {"mode", mode},
          {"uid", kCount},
          {"gid", kCount},
          {"modified_at", kTime},
          {"target", kText, false, "Target of a symbolic link"},
          {"target_base64", kText, false},
          {"etag", kText, false}};
}

std::vector<Member> edited_members() {
  std::vector<Member> members = entry_members();
  members.push_back({"diff", kText, false, "Unified diff of an edit"});
  members.push_back({"diff_cut", kFlag, false, "true: the diff is too long, and this is its beginning"});
  return members;
}

std::vector<Member> entry_result_members() {
  std::vector<Member> members = edited_members();
  for (Member& member : members) member.always = member.name == "path";
  members.push_back({"deleted", kFlag, false, "true: the file was deleted"});
  members.push_back({"error", named("FileError", object({{"code", kText}, {"detail", kText}})), false});
  return members;
}

}  // namespace skiff::runtime::api
