#include "runtime/api/files/entry_members.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "runtime/api/files/call.hpp"
#include "runtime/api/files/edits.hpp"
#include "runtime/api/files/entry_text.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::runtime::api {
namespace {

using Json = nlohmann::ordered_json;

/// Collects the objects that a writer has written.
class WhatIsWritten {
 public:
  void add(const std::string& text) {
    const Json object = Json::parse(text);
    ++objects_;
    for (const auto& [name, value] : object.items()) {
      if (count_[name]++ == 0) {
        names_.push_back(name);
        values_[name] = value;
      }
    }
  }

  /// Checks that the written members are the described ones, that each has the described type, and that a required one
  /// is always present.
  void expect_to_be(const std::vector<Member>& members) const {
    for (const std::string& name : names_) {
      EXPECT_NE(std::ranges::find(members, name, &Member::name), members.end())
          << name << " is written and not described";
    }
    for (const Member& member : members) {
      const std::string name{member.name};
      const auto found = count_.find(name);
      if (found == count_.end()) {
        ADD_FAILURE() << name << " is described and not written";
        continue;
      }
      EXPECT_EQ(member.always, found->second == objects_) << name;
      EXPECT_EQ(Json::parse(member.schema)["type"], type_of(values_.at(name))) << name;
    }
  }

 private:
  static std::string type_of(const Json& value) {
    if (value.is_number_integer()) return "integer";
    return value.type_name();
  }

  std::vector<std::string> names_;
  std::map<std::string, Json> values_;
  std::map<std::string, unsigned> count_;
  unsigned objects_ = 0;
};

std::string entry_text(std::string_view path, const fs::Entry& entry, std::string_view tag) {
  std::string text;
  append_entry(text, path, entry, tag);
  return text;
}

class EntryMembers : public test::Files {
 protected:
  /// Adds entries of every kind: a file with and without a tag, a link, and names that are not UTF-8.
  static void add_entries(WhatIsWritten& written) {
    fs::Entry file;
    file.mode = 07;
    written.add(entry_text("a/b", file, ""));
    written.add(entry_text("a/b", file, "\"m-1\""));
    fs::Entry link;
    link.type = fs::EntryType::link;
    link.target = "to\xff";
    written.add(entry_text("a\xff/b\xff", link, ""));
  }

  /// Adds each item of the batch's answer.
  void run(WhatIsWritten& written, std::vector<fs::Operation> operations) const {
    const fs::Tree tree = open_tree();
    const auto answer = run_batch(tree, operations, false, {});
    ASSERT_TRUE(answer) << answer.error().message;
    for (const Json& item : Json::parse(*answer)["items"]) written.add(item.dump());
  }
};

TEST_F(EntryMembers, MatchWrittenEntries) {
  WhatIsWritten written;
  add_entries(written);
  written.expect_to_be(entry_members());
}

TEST_F(EntryMembers, MatchWrittenEdits) {
  WhatIsWritten written;
  add_entries(written);
  std::string text;
  append_edited(text, "a", {.written = {}, .diff = "+a\n", .diff_cut = true});
  written.add(text);
  written.expect_to_be(edited_members());
}

TEST_F(EntryMembers, MatchWrittenResults) {
  WhatIsWritten written;
  add_entries(written);
  test::put(root / "a", "old\n");
  using Kind = fs::Operation::Kind;
  run(written, {{.kind = Kind::edit, .path = "a", .edits = {{.old = "old", .replacement = "new"}}},
                {.kind = Kind::remove, .path = "a"},
                {.kind = Kind::remove, .path = "missing"}});
  std::string text;
  append_edited(text, "a", {.written = {}, .diff = "+a\n", .diff_cut = true});
  written.add(text);
  written.expect_to_be(entry_result_members());
}

/// The fast writer takes the names of the types from fs.
TEST_F(EntryMembers, NameEveryType) {
  const auto members = entry_members();
  const auto type = std::ranges::find(members, "type", &Member::name);
  const Json words = Json::parse(type->schema)["enum"];
  for (std::size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i], std::string{fs::name(static_cast<fs::EntryType>(i))});
  }
}

}  // namespace
}  // namespace skiff::runtime::api
