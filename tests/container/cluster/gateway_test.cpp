#include "container/cluster/gateway.hpp"

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

TEST(GatewayAddress, IsItsFirstAddressWithThePortOfItsHttpListener) {
  const auto found = gateway_address(
      gateway({{{"protocol", "HTTPS"}, {"port", 443}}, {{"protocol", "HTTP"}, {"port", 8080}}}, kAddress));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->url.text(), "http://192.0.2.7:8080");
}

TEST(GatewayAddress, IsHttpsWhereThereIsNoOtherListener) {
  const auto found =
      gateway_address(gateway({{{"protocol", "TCP"}, {"port", 22}}, {{"protocol", "HTTPS"}, {"port", 443}}},
                              {{"addresses", {{{"value", "front.example"}}}}}));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->url.text(), "https://front.example:443");
}

TEST(GatewayAddress, HasTheHostnameOfItsListener) {
  const auto named = [](const char* hostname) {
    const auto found =
        gateway_address(gateway({{{"protocol", "HTTPS"}, {"port", 443}, {"hostname", hostname}}}, kAddress));
    return found ? found->url.text() + " " + found->hostname : found.error().message;
  };
  EXPECT_EQ(named("box.example"), "https://192.0.2.7:443 box.example");
  EXPECT_EQ(named("*.example"), "https://192.0.2.7:443 ");
}

TEST(GatewayAddress, IsMissingAsLongAsTheGatewayHasNoAddressAndSaysWhy) {
  const json waiting{{"conditions", {{{"type", "Programmed"}, {"status", "False"}, {"message", "no pool"}}}}};
  const auto found = gateway_address(gateway({{{"protocol", "HTTP"}, {"port", 80}}}, waiting));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "Gateway edge/front has no address yet: no pool");
}

TEST(GatewayAddress, NeedsAListenerThatSpeaksHttp) {
  const auto found = gateway_address(gateway({{{"protocol", "TCP"}, {"port", 22}}}, kAddress));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("no listener for HTTP"), std::string::npos);
}

}  // namespace
}  // namespace skiff::container
