#include "protocol/http/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "protocol/http/parser.hpp"

namespace skiff::protocol {
namespace {

using testing::HasSubstr;
using testing::Not;

HttpRequest asked_with(const std::string& accept, const std::string& method = "GET") {
  const std::string field = accept.empty() ? "" : "Accept: " + accept + "\r\n";
  auto request = parse_request_head(method + " / HTTP/1.1\r\nHost: x\r\n" + field + "\r\n", 1000);
  EXPECT_TRUE(request.has_value());
  return std::move(request).value();
}

HttpResponse page_of(Errc code, const std::string& message, unsigned status = 502, const std::string& method = "GET") {
  return error_page(asked_with("text/html", method), status, {code, message}, "r-1");
}

TEST(PrefersPage, IsTrueForBrowsersOnly) {
  for (const char* accept : {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text/html",
                             "TEXT/HTML;q=0.3", "text/html, application/json;q=0.9", "text/html, */*"}) {
    EXPECT_TRUE(prefers_page(asked_with(accept))) << accept;
  }
  for (const char* accept :
       {"", "*/*", "application/json", "application/json, text/html", "text/html;q=0",
        "text/html;q=0.5, application/json", "application/problem+json", "text/plain", "text/*",
        "image/avif,image/webp,*/*;q=0.8", "*/*;q=0.8, text/html;q=0.7",
        "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text/html, image/gif, image/jpeg, */*; q=0.2"}) {
    EXPECT_FALSE(prefers_page(asked_with(accept))) << accept;
  }
}

TEST(PageAnswer, EscapesWhateverItIsGiven) {
  const std::string evil = "<script>alert('1')</script>\"&";
  const auto answer = page_answer(200, {.title = evil, .paragraphs = {evil}, .links = {{evil, evil}}, .small = evil});
  EXPECT_THAT(answer.body, Not(HasSubstr("<script")));
  EXPECT_THAT(answer.body, Not(HasSubstr("'")));
  EXPECT_THAT(answer.body, HasSubstr("<p>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;</p>"));
  EXPECT_THAT(page_of(Errc::unknown_field, evil).body, Not(HasSubstr("<script")));
  EXPECT_THAT(page_of(Errc::port_not_listening, evil).body, Not(HasSubstr("<script")));
}

TEST(PageAnswer, LoadsNothingAndRunsNothing) {
  const auto answer = page_answer(404, {.title = "x"});
  EXPECT_EQ(answer.headers.get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(std::string{answer.headers.get("Content-Security-Policy")}, HasSubstr("default-src 'none'"));
  EXPECT_THAT(std::string{answer.headers.get("Content-Security-Policy")}, HasSubstr("frame-ancestors 'self'"));
  EXPECT_EQ(answer.headers.get("X-Frame-Options"), "SAMEORIGIN");
  EXPECT_EQ(answer.headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(answer.headers.get("Referrer-Policy"), "no-referrer");
  for (const char* word : {"src=", "url(", "http:", "https:", "<script", "<form", "<link"}) {
    EXPECT_THAT(answer.body, Not(HasSubstr(word)));
  }
}

TEST(ErrorPage, TriesAgainWhereWaitingHelps) {
  const std::string refresh = "http-equiv=\"refresh\"";
  const auto page = page_of(Errc::port_not_listening, "nothing listens on port 3000 at 127.0.0.1 or ::1");
  EXPECT_EQ(page.status, 502u);
  EXPECT_THAT(page.body, HasSubstr("<h1>Nothing listens on port 3000 yet</h1>"));
  EXPECT_THAT(page.body, HasSubstr("This page tries again"));
  EXPECT_THAT(page.body, HasSubstr("502 port_not_listening, request r-1"));
  for (const Errc code : {Errc::port_not_listening, Errc::bad_gateway, Errc::sandbox_starting, Errc::draining}) {
    EXPECT_THAT(page_of(code, "x").body, HasSubstr(refresh)) << name(code);
    EXPECT_THAT(page_of(code, "x", 502, "POST").body, Not(HasSubstr(refresh))) << "it would be asked for with GET";
  }
  for (const Errc code : {Errc::unauthenticated, Errc::sandbox_not_found, Errc::sandbox_not_running, Errc::timeout,
                          Errc::insufficient_scope}) {
    EXPECT_THAT(page_of(code, "x").body, Not(HasSubstr(refresh))) << name(code);
  }
}

TEST(ErrorPage, SaysWhatIsWrongInASentence) {
  EXPECT_THAT(page_of(Errc::unauthenticated, "the link of this preview is invalid or has expired", 401).body,
              HasSubstr("<p>The link of this preview is invalid or has expired.</p>"));
  EXPECT_THAT(page_of(Errc::invalid_field, "a port is a number", 400).body, HasSubstr("<h1>Bad Request</h1>"));
}

}  // namespace
}  // namespace skiff::protocol
