#include "container/serve/e2b/network.hpp"

#include <initializer_list>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace skiff::container::serve::e2b {
namespace {

using nlohmann::json;
using Kind = WantedNetwork::Kind;

constexpr const char* kAll = "0.0.0.0/0";

void expect_refused(const json& network, Errc code, const std::string& field) {
  const auto wanted = wanted_network(network);
  ASSERT_FALSE(wanted) << network;
  EXPECT_EQ(wanted.error().code, code) << network << ": " << wanted.error().message;
  EXPECT_EQ(wanted.error().field, field) << network;
}

TEST(E2bNetwork, WithoutAnAnswerIsTheTemplates) {
  for (const json& network : {json{}, json::object(), json::array(), json(false), json{{"allowPublicTraffic", true}},
                              json{{"allowOut", json::array()}}, json{{"denyOut", nullptr}}}) {
    const auto wanted = wanted_network(network);
    ASSERT_TRUE(wanted) << network;
    EXPECT_EQ(wanted->kind, Kind::whole) << network;
    EXPECT_EQ(wanted_network(network, false)->kind, Kind::nothing) << network;
  }
}

TEST(E2bNetwork, NothingIsDeniedAddressesOrNoAccess) {
  for (const json& network :
       {json{{"denyOut", {kAll}}}, json{{"denyOut", {"::/0"}}}, json{{"allow_internet_access", false}}}) {
    const auto wanted = wanted_network(network);
    ASSERT_TRUE(wanted) << network;
    EXPECT_EQ(wanted->kind, Kind::nothing) << network;
    EXPECT_TRUE(wanted->rules.empty());
  }
}

TEST(E2bNetwork, AllowedAddressesOfEverythingWin) {
  EXPECT_EQ(wanted_network(json{{"allowOut", {"one.example", kAll}}, {"denyOut", {kAll}}})->kind, Kind::whole);
  EXPECT_EQ(wanted_network(json{{"allowOut", {kAll}}}, false)->kind, Kind::whole);
}

TEST(E2bNetwork, NamesAreRulesForBothPorts) {
  const auto wanted = wanted_network(json{{"allowOut", {"one.example", "*.two.example"}}, {"denyOut", {kAll}}});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->kind, Kind::names);
  EXPECT_EQ(wanted->rules,
            (std::vector<std::string>{"one.example", "http://one.example", "*.two.example", "http://*.two.example"}));
  EXPECT_EQ(wanted_network(json{{"allowOut", {"one.example"}}}, false)->kind, Kind::names);
}

TEST(E2bNetwork, NamesBesideAnOpenNetworkAreRefused) {
  expect_refused(json{{"allowOut", {"one.example"}}}, Errc::invalid_field, "denyOut");
}

TEST(E2bNetwork, WhatItCannotKeepIsRefused) {
  for (const char* place : {"10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"}) {
    expect_refused(json{{"allowOut", {place}}, {"denyOut", {kAll}}}, Errc::not_supported, "allowOut");
    expect_refused(json{{"denyOut", {place}}}, Errc::not_supported, "denyOut");
  }
  expect_refused(json{{"denyOut", {"one.example"}}}, Errc::invalid_field, "denyOut");
  for (const char* name : {"one.example:8443", "https://one.example", "localhost", "", "a..example"}) {
    expect_refused(json{{"allowOut", {name}}, {"denyOut", {kAll}}}, Errc::invalid_field, "allowOut");
  }
  expect_refused(json{{"allowOut", "one.example"}}, Errc::invalid_field, "allowOut");
  expect_refused(json{{"allow_internet_access", "no"}}, Errc::invalid_field, "allow_internet_access");
  expect_refused(json("all"), Errc::invalid_field, "network");
  expect_refused(json{{"rules", {{"a.example", 1}}}}, Errc::not_supported, "network.rules");
  expect_refused(json{{"allowPublicTraffic", false}}, Errc::not_supported, "network.allowPublicTraffic");
}

TEST(E2bNetwork, RulesForARunningSandbox) {
  EXPECT_EQ(rules_for({.kind = Kind::whole}, true), (std::vector<std::string>{"*", "http://*"}));
  EXPECT_TRUE(rules_for({.kind = Kind::whole}, false).empty());
  EXPECT_TRUE(rules_for({.kind = Kind::nothing}, true).empty());
  EXPECT_EQ(rules_for({.kind = Kind::names, .rules = {"one.example"}}, true),
            (std::vector<std::string>{"one.example"}));
}

}  // namespace
}  // namespace skiff::container::serve::e2b
