#include "runtime/api/code/languages.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::api {
namespace {

TEST(CodeLanguages, AreFoundByEachOfTheirNames) {
  EXPECT_EQ(find_code_language("").value()->name, "python");
  EXPECT_EQ(find_code_language("python3").value()->name, "python");
  EXPECT_EQ(find_code_language("js").value()->name, "javascript");
  EXPECT_EQ(find_code_language("cobol").error().code, Errc::language_unavailable);
}

TEST(CodeLanguages, HaveTheirOwnWorkers) {
  EXPECT_TRUE(code_worker_source(*find_code_language("python").value()).starts_with("\"\"\"Runs the Python"));
  EXPECT_TRUE(code_worker_source(*find_code_language("js").value()).starts_with("// Runs the JavaScript"));
  EXPECT_TRUE(code_worker_source(*find_code_language("bash").value()).starts_with("# Runs the bash"));
}

TEST(CodeLanguages, WriteRequestsAsTheirWorkersReadThem) {
  const std::map<std::string, std::string> env{{"A", "it's"}};
  EXPECT_EQ(code_worker_request(*find_code_language("python").value(), 7, "a\n\"b\"", env),
            "{\"id\":7,\"code\":\"a\\n\\\"b\\\"\",\"env\":{\"A\":\"it's\"}}\n");
  EXPECT_EQ(code_worker_request(*find_code_language("bash").value(), 7, "echo", env),
            std::string("7\0export A='it'\\''s'; echo\0", 27));
}

}  // namespace
}  // namespace skiff::runtime::api
