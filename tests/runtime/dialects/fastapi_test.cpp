#include "runtime/dialects/fastapi.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::dialects {
namespace {

TEST(FastApi, AnErrorHasADetail) {
  const auto response = detail(404, "no \"x\"");
  EXPECT_EQ(response.status, 404U);
  EXPECT_EQ(response.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(response.body, R"({"detail":"no \"x\""})");
}

TEST(FastApi, CountsAnUnreadableKindOfFileAsAbsent) {
  for (const Errc code : {Errc::path_not_found, Errc::is_a_directory, Errc::not_a_regular_file, Errc::name_too_long,
                          Errc::too_many_links, Errc::not_a_directory}) {
    EXPECT_TRUE(is_absence(code)) << name(code);
  }
  for (const Errc code : {Errc::path_escapes_root, Errc::permission_denied})
    EXPECT_FALSE(is_absence(code)) << name(code);
}

}  // namespace
}  // namespace skiff::runtime::dialects
