#include "container/serve/reached.hpp"

#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

TEST(Reached, TakesTheProxysWordAlone) {
  protocol::HttpRequest request;
  EXPECT_EQ(forwarded_for(request, true), "");
  request.headers = protocol::Headers{{"X-Forwarded-For", "192.0.2.1, 192.0.2.2"}};
  EXPECT_EQ(forwarded_for(request, true), "192.0.2.2");
  request.headers.add("x-forwarded-for", " 192.0.2.3 ");
  EXPECT_EQ(forwarded_for(request, true), "192.0.2.3");
  EXPECT_EQ(forwarded_for(request, false), "");
}

}  // namespace
}  // namespace skiff::container::serve
