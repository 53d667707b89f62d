#include "protocol/json/problem.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/page.hpp"

namespace skiff::protocol {
namespace {

TEST(Problem, HasAStatusAndATitleOfItsOwnForEveryCode) {
  std::set<std::string_view> titles;
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    const auto code = static_cast<Errc>(i);
    EXPECT_GE(http_status(code), 400U) << name(code);
    EXPECT_LT(http_status(code), 600U) << name(code);
    EXPECT_FALSE(problem_title(code).empty()) << name(code);
    if (code != Errc::internal) {
      EXPECT_NE(problem_title(code), problem_title(Errc::internal)) << name(code);
    }
    titles.insert(problem_title(code));
  }
  EXPECT_EQ(titles.size(), error_code_count());
}

TEST(Problem, AnswersWithTheStatusesOfTheContract) {
  EXPECT_EQ(http_status(Errc::unknown_field), 400U);
  EXPECT_EQ(http_status(Errc::unauthenticated), 401U);
  EXPECT_EQ(http_status(Errc::cannot_switch_user), 403U);
  EXPECT_EQ(http_status(Errc::command_conflict), 409U);
  EXPECT_EQ(http_status(Errc::command_forgotten), 410U);
  EXPECT_EQ(http_status(Errc::host_not_allowed), 421U);
  EXPECT_EQ(http_status(Errc::limit_unavailable), 422U);
  EXPECT_EQ(http_status(Errc::too_many_commands), 429U);
  EXPECT_EQ(http_status(Errc::headers_too_large), 431U);
  EXPECT_EQ(http_status(Errc::no_space), 507U);
}

TEST(Problem, IsADocumentWithTheStandardMembersAndOurs) {
  const std::array extra{ProblemMember{"size", std::int64_t{42}}, ProblemMember{"retry", true},
                         ProblemMember{"stage", std::string_view{"ex\"ec"}}};
  const auto json = nlohmann::json::parse(
      problem_json({Errc::invalid_field, "/argv/0: expected a string", "/argv/0"}, "req-1", extra));
  EXPECT_EQ(json["type"], "urn:skiff:problem:invalid_field");
  EXPECT_EQ(json["title"], problem_title(Errc::invalid_field));
  EXPECT_EQ(json["status"], 400);
  EXPECT_EQ(json["detail"], "/argv/0: expected a string");
  EXPECT_EQ(json["instance"], "req-1");
  EXPECT_EQ(json["code"], "invalid_field");
  EXPECT_EQ(json["field"], "/argv/0");
  EXPECT_EQ(json["size"], 42);
  EXPECT_EQ(json["retry"], true);
  EXPECT_EQ(json["stage"], "ex\"ec");
}

TEST(Problem, OmitsEmptyMembersAndRepairsUtf8) {
  const auto json = nlohmann::json::parse(problem_json({Errc::path_not_found, "open \"a\xFF\n\": gone"}, ""));
  EXPECT_EQ(json["detail"], "open \"a\xEF\xBF\xBD\n\": gone");
  EXPECT_FALSE(json.contains("instance"));
  EXPECT_FALSE(json.contains("field"));
}

constexpr std::string_view kIntroduction =
    "# Error codes of skiffd\n\n"
    "An error is a problem document (RFC 9457, `application/problem+json`): branch on `code`, show `detail`. `field` "
    "names "
    "the invalid\ninput: a JSON pointer, or a parameter. Codes are only ever added. On streams and WebSockets the "
    "same codes appear in an\n[error event](events.md#error).\n\n"
    "This page is generated from the tables in `base/error.hpp` and `protocol/json/problem.cpp`: run `protocol_tests` "
    "with "
    "`SKIFF_UPDATE_DOCS=1` after a\nchange.\n\n";

TEST(Problem, IsDocumentedAsItIs) {
  constexpr std::array kAdvice{
#define SKIFF_X(name, advice) advice,
      SKIFF_ERROR_CODES(SKIFF_X)
#undef SKIFF_X
  };
  test::MarkdownTable table{{"Code", "Status", "Title", "What to do"}};
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    const auto code = static_cast<Errc>(i);
    table.add(
        {test::code(name(code)), std::to_string(http_status(code)), std::string{problem_title(code)}, kAdvice.at(i)});
  }
  test::expect_page("errors.md", std::string{kIntroduction} + table.text());
}

}  // namespace
}  // namespace skiff::protocol
