#include "container/kube/objects/status.hpp"

#include <gtest/gtest.h>

namespace skiff::kube {
namespace {

using namespace std::chrono_literals;
using protocol::HttpResponseHead;

HttpResponseHead head(unsigned status, protocol::Headers headers = {}) {
  HttpResponseHead made;
  made.status = status;
  made.headers = std::move(headers);
  return made;
}

TEST(Status, TellsWhatTheServerSaidAndWhatWasTried) {
  const Failure failure = read_failure(
      head(409),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"a\" already exists",
               "reason":"AlreadyExists","details":{"name":"a","kind":"pods"},"code":409})",
      "create pods default/a");
  EXPECT_TRUE(failure.already_exists());
  EXPECT_FALSE(failure.conflict());
  EXPECT_EQ(failure.error.code, Errc::already_exists);
  EXPECT_EQ(failure.error.message, "create pods default/a: pods \"a\" already exists (AlreadyExists, 409)");
}

TEST(Status, KeepsTheCauses) {
  const Failure failure =
      read_failure(head(422),
                   R"({"kind":"Status","message":"m","reason":"Invalid","code":422,"details":{"causes":[
          {"reason":"FieldValueRequired","message":"Required value","field":"spec.containers[0].image"},
          {"reason":"FieldValueInvalid","message":"Invalid value","field":"spec.restartPolicy"}]}})",
                   "create");
  ASSERT_EQ(failure.status.causes.size(), 2u);
  EXPECT_EQ(failure.status.causes[0].reason, "FieldValueRequired");
  EXPECT_EQ(failure.status.causes[1].field, "spec.restartPolicy");
  EXPECT_EQ(failure.error.field, "spec.containers[0].image");
  EXPECT_EQ(failure.error.code, Errc::invalid_field);
}

TEST(Status, TakesPlainText) {
  const protocol::Headers headers = {{"Retry-After", "1"}, {"Content-Type", "text/plain"}};
  const Failure failure =
      read_failure(head(429, headers), "Too many requests,\nplease try again later.\n", "list pods");
  EXPECT_EQ(failure.status.code, 429u);
  EXPECT_EQ(failure.status.retry_after, 1000ms);
  EXPECT_EQ(failure.error.message, "list pods: Too many requests, please try again later. (429)");
}

TEST(Status, DoesWithoutABody) {
  const Failure failure = read_failure(head(403), "", "watch pods");
  EXPECT_TRUE(failure.forbidden());
  EXPECT_EQ(failure.error.message, "watch pods: Forbidden (403)");
}

TEST(Status, TakesOtherJsonAndBrokenBytesAsText) {
  EXPECT_EQ(read_failure(head(502), R"({"detail":"x"})", "get").error.message, R"(get: {"detail":"x"} (502))");
  const Failure broken = read_failure(head(500), "a\xff\x01z", "get");
  EXPECT_EQ(broken.error.message, "get: a\xef\xbf\xbd z (500)");
  EXPECT_EQ(read_failure(head(500), std::string(100'000, 'x'), "get").status.message.size(), 300u);
}

TEST(Status, OfAnExpiredListHoldsTheTokenToGoOnWith) {
  const Failure failure = read_failure(
      head(410), R"({"kind":"Status","metadata":{"continue":"next"},"reason":"Expired","code":410,"message":"old"})",
      "list pods");
  EXPECT_TRUE(failure.expired());
  EXPECT_EQ(failure.status.continue_token, "next");
}

TEST(Status, ComesAsAnObjectToo) {
  const Failure failure = read_status(
      R"({"kind":"Status","code":429,"reason":"TooManyRequests","message":"busy","details":{"retryAfterSeconds":7}})",
      "watch");
  EXPECT_EQ(failure.status.retry_after, 7s);
  EXPECT_EQ(failure.error.code, Errc::resource_exhausted);
  EXPECT_EQ(read_status("[]", "watch").error.code, Errc::invalid_request);
}

}  // namespace
}  // namespace skiff::kube
