#include "container/console/sign_in_page.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::container::console {
namespace {

TEST(SignInPage, HasAFormWithoutScripts) {
  const auto page = sign_in_page();
  EXPECT_EQ(page.status, 200U);
  EXPECT_TRUE(page.body.contains(R"(<form method="post" action="/sign-in">)"));
  EXPECT_TRUE(page.body.contains(R"(<label for="key">)"));
  EXPECT_FALSE(page.body.contains("<script") || page.body.contains("role=\"alert\""));
  const auto policy = page.headers.get("Content-Security-Policy");
  EXPECT_TRUE(policy.contains("default-src 'none'") && policy.contains("form-action 'self'")) << policy;
  EXPECT_FALSE(policy.contains("script-src"));
  // With no-referrer the browser would send the form with the origin null.
  EXPECT_EQ(page.headers.get("Referrer-Policy"), "same-origin");
}

TEST(SignInPage, SaysWhyWithoutRepeatingWhatWasSent) {
  for (const auto& [code, status, words] : {std::tuple{Errc::unauthenticated, 401U, "not known"},
                                            {Errc::resource_exhausted, 503U, "Too many keys"},
                                            {Errc::origin_not_allowed, 403U, "Another page"},
                                            {Errc::cluster_unavailable, 503U, "cannot be read"},
                                            {Errc::payload_too_large, 413U, "not understood"}}) {
    const auto page = sign_in_page(Error{code, "<b>sent</b>"});
    EXPECT_EQ(page.status, status) << words;
    EXPECT_TRUE(page.body.contains("<p role=\"alert\">") && page.body.contains(words)) << page.body;
    EXPECT_FALSE(page.body.contains("<b>sent</b>"));
  }
}

TEST(SignInPage, ReadsTheKeyOfItsForm) {
  EXPECT_EQ(key_in_form("key=e2b_1"), "e2b_1");
  EXPECT_EQ(key_in_form("a=b&key=+e2b%5f1%09&c"), "e2b_1");
  EXPECT_EQ(key_in_form("key=a&key=b"), "a");
  for (const char* other : {"", "key", "key=", "&", "=", "keys=x", "KEY=x", "key=%", "key=%00", "key=%zz"}) {
    EXPECT_EQ(key_in_form(other), "") << other;
  }
}

}  // namespace
}  // namespace skiff::container::console
