#include "protocol/service/body.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol::service {
namespace {

TEST(ServiceBody, KnowsJsonByItsType) {
  for (const char* type : {"application/json", "Application/JSON", "application/json;charset=utf-8",
                           "application/json ; x=y", "application/merge-patch+json"}) {
    EXPECT_TRUE(is_json(type)) << type;
  }
  for (const char* type : {"", "text/plain", "application/jsonp", "application/x-www-form-urlencoded", "json"}) {
    EXPECT_FALSE(is_json(type)) << type;
  }
}

TEST(ServiceBody, LeavesParametersOutOfAMediaType) {
  EXPECT_EQ(media_type("text/plain; charset=utf-8"), "text/plain");
  EXPECT_EQ(media_type("text/plain \t;x"), "text/plain");
  EXPECT_EQ(media_type(""), "");
}

TEST(ServiceBody, IsRefusedWhenItIsPacked) {
  HttpRequest request;
  request.headers = {{"Content-Encoding", "gzip"}};
  request.body = {.kind = BodyFraming::Kind::length, .length = 3};
  ASSERT_FALSE(check_coding(request));
  EXPECT_EQ(check_coding(request).error().code, Errc::unsupported_media_type);
  request.body = {.kind = BodyFraming::Kind::chunked};
  EXPECT_FALSE(check_coding(request));
  request.body = {.kind = BodyFraming::Kind::length, .length = 0};
  EXPECT_TRUE(check_coding(request)) << "there is nothing to unpack";
  request.headers = {{"Content-Encoding", "Identity"}};
  request.body = {.kind = BodyFraming::Kind::chunked};
  EXPECT_TRUE(check_coding(request));
}

}  // namespace
}  // namespace skiff::protocol::service
