#include "container/launcher/gateway.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using nlohmann::json;

kube::Object gateway(json listeners, json status) {
  return {json{{"metadata", {{"namespace", "edge"}, {"name", "front"}}},
               {"spec", {{"listeners", std::move(listeners)}}},
               {"status", std::move(status)}}};
}

const json kAddress{{"addresses", {{{"type", "IPAddress"}, {"value", "192.0.2.7"}}, {{"value", "192.0.2.8"}}}}};

TEST(GatewayUrl, IsItsFirstAddressWithThePortOfItsHttpListener) {
  const auto url =
      gateway_url(gateway({{{"protocol", "HTTPS"}, {"port", 443}}, {{"protocol", "HTTP"}, {"port", 8080}}}, kAddress));
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(*url, "http://192.0.2.7:8080");
}

TEST(GatewayUrl, IsHttpsWhereThereIsNoOtherListener) {
  const auto url = gateway_url(gateway({{{"protocol", "TCP"}, {"port", 22}}, {{"protocol", "HTTPS"}, {"port", 443}}},
                                       {{"addresses", {{{"value", "front.example"}}}}}));
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(*url, "https://front.example:443");
}

TEST(GatewayUrl, IsMissingAsLongAsTheGatewayHasNoAddressAndSaysWhy) {
  const json waiting{{"conditions", {{{"type", "Programmed"}, {"status", "False"}, {"message", "no pool"}}}}};
  const auto url = gateway_url(gateway({{{"protocol", "HTTP"}, {"port", 80}}}, waiting));
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message, "Gateway edge/front has no address yet: no pool");
}

TEST(GatewayUrl, NeedsAListenerThatSpeaksHttp) {
  const auto url = gateway_url(gateway({{{"protocol", "TCP"}, {"port", 22}}}, kAddress));
  ASSERT_FALSE(url);
  EXPECT_NE(url.error().message.find("no listener for HTTP"), std::string::npos);
}

}  // namespace
}  // namespace skiff::container
