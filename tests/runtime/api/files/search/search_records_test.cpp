#include "runtime/api/files/search/search_records.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::api {
namespace {

TEST(SearchRecords, APathIsTextOrBytesAndNeverBoth) {
  EXPECT_EQ(glob_match_answer().text({.path = "a/b", .kind = fs::WalkEntry::Kind::link}),
            R"({"path":"a/b","type":"symlink"})");
  EXPECT_EQ(glob_match_answer().text({.path = "\xff", .kind = fs::WalkEntry::Kind::other}),
            R"({"path_base64":"/w==","type":"other"})");
}

TEST(SearchRecords, AMatchOmitsAbsentMembers) {
  fs::GrepMatch match{.path = "f", .line = {.line_number = 3, .column = 2, .text = "a\"b"}};
  EXPECT_EQ(grep_match_answer().text(match), R"({"path":"f","line_number":3,"column":2,"text":"a\"b"})");
  match.line = {.line_number = 1, .column = 9, .text_column = 5, .text = "\xfe", .cut = true, .before = {"x", "\xff"}};
  EXPECT_EQ(grep_match_answer().text(match),
            R"({"path":"f","line_number":1,"column":9,"text_base64":"/g==","text_column":5,"cut":true,"before":["x",")"
            "\xEF\xBF\xBD"
            R"("]})");
}

TEST(SearchRecords, ASummaryIsTheLastLine) {
  EXPECT_EQ(event_text(glob_summary(), {.matches = 2, .unreadable = 1, .truncated = true}),
            R"({"type":"summary","matches":2,"unreadable":1,"truncated":true})");
  EXPECT_EQ(
      event_text(grep_summary(), {.files = 1, .matches = 2, .searched = 3}),
      R"({"type":"summary","files":1,"matches":2,"searched":3,"unreadable":0,"too_large":0,"binary":0,"truncated":false})");
}

}  // namespace
}  // namespace skiff::runtime::api
