#include "container/trace/trace_settings.hpp"

#include <map>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

using Variables = std::map<std::string, std::string>;

TraceConfiguration read(Variables variables) {
  return read_trace_settings([&](const char* name) { return variables[name]; });
}

/// With an endpoint.
TraceSettings settings_from(Variables variables) {
  variables.try_emplace("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
  const auto configuration = read(std::move(variables));
  EXPECT_EQ(configuration.warnings, std::vector<std::string>{});
  return configuration.settings.value_or(TraceSettings{});
}

std::string warning(Variables variables) {
  variables.try_emplace("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
  const auto configuration = read(std::move(variables));
  EXPECT_EQ(configuration.warnings.size(), 1U);
  return configuration.warnings.empty() ? "" : configuration.warnings.front();
}

TEST(TraceSettings, AreNoneWithoutAnEndpoint) {
  EXPECT_FALSE(read({}).settings);
  EXPECT_FALSE(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", ""}, {"OTEL_SERVICE_NAME", "a"}, {"TRACEPARENT", "b"}}).settings);
  EXPECT_TRUE(read({{"OTEL_TRACES_SAMPLER", "nonsense"}}).warnings.empty()) << "nobody asked for traces";
}

TEST(TraceSettings, AreNoneWhereTheyAreDisabled) {
  const std::string endpoint = "http://collector:4318";
  EXPECT_FALSE(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}, {"OTEL_SDK_DISABLED", "True"}}).settings);
  EXPECT_TRUE(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}, {"OTEL_SDK_DISABLED", "1"}}).settings);
}

TEST(TraceSettings, SendToTheBaseWithAPathOrToTheVeryEndpointOfTraces) {
  const auto url = [](const char* name, const char* value) { return settings_from({{name, value}}).collector.text(); };
  EXPECT_EQ(url("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"), "http://a:1/v1/traces");
  EXPECT_EQ(url("OTEL_EXPORTER_OTLP_ENDPOINT", "https://a/b/"), "https://a:443/b/v1/traces");
  EXPECT_EQ(url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a:1/mine"), "http://a:1/mine");
  EXPECT_EQ(url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a:1"), "http://a:1/");
  const auto bad = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://a"}});
  EXPECT_FALSE(bad.settings);
  ASSERT_EQ(bad.warnings.size(), 1U);
  EXPECT_NE(bad.warnings[0].find("OTEL_EXPORTER_OTLP_ENDPOINT"), std::string::npos);
}

TEST(TraceSettings, DecodeHeadersAndKeepSecretsOutOfWarnings) {
  const auto found = settings_from({{"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b , x=1=2"}}).headers;
  EXPECT_EQ(found.get("api-key"), "a b");
  EXPECT_EQ(found.get("x"), "1=2");
  const auto own =
      settings_from({{"OTEL_EXPORTER_OTLP_HEADERS", "a=1"}, {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "b=2"}}).headers;
  EXPECT_EQ(own.get("a"), "");
  EXPECT_EQ(own.get("b"), "2");
  const auto twice = settings_from({{"OTEL_EXPORTER_OTLP_HEADERS", "x-key=1,X-Key=2"}}).headers;
  EXPECT_EQ(twice.size(), 1U);
  EXPECT_EQ(twice.get("x-key"), "2");
  EXPECT_EQ(warning({{"OTEL_EXPORTER_OTLP_HEADERS", "a=1,geheim"}}).find("geheim"), std::string::npos);
  EXPECT_EQ(warning({{"OTEL_EXPORTER_OTLP_HEADERS", "a=geheim%0d%0aX:1"}}).find("geheim"), std::string::npos);
}

TEST(TraceSettings, TakeTheTimeoutInMilliseconds) {
  EXPECT_EQ(settings_from({}).timeout, std::chrono::milliseconds{3'000});
  EXPECT_EQ(settings_from({{"OTEL_EXPORTER_OTLP_TIMEOUT", "250"}}).timeout, std::chrono::milliseconds{250});
  EXPECT_EQ(settings_from({{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "7"}, {"OTEL_EXPORTER_OTLP_TIMEOUT", "9"}}).timeout,
            std::chrono::milliseconds{7});
  EXPECT_NE(warning({{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s"}}).find("3000"), std::string::npos);
}

TEST(TraceSettings, NameTheServiceAndItsResource) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(settings_from({}).resource, (Pairs{{"service.name", "skiff"}}));
  EXPECT_EQ(
      settings_from({{"OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb,service.name=x"}, {"OTEL_SERVICE_NAME", "ci"}}).resource,
      (Pairs{{"team", "a,b"}, {"service.name", "ci"}}));
  EXPECT_NE(warning({{"OTEL_RESOURCE_ATTRIBUTES", "team"}}).find("OTEL_RESOURCE_ATTRIBUTES"), std::string::npos);
}

TEST(TraceSettings, ChooseASampler) {
  const auto sampler = [](const char* name, const char* argument) {
    return settings_from({{"OTEL_TRACES_SAMPLER", name}, {"OTEL_TRACES_SAMPLER_ARG", argument}}).sampler;
  };
  EXPECT_TRUE(settings_from({}).sampler.parent_based);
  EXPECT_EQ(sampler("always_off", "").root, TraceSampler::Root::always_off);
  EXPECT_FALSE(sampler("always_on", "").parent_based);
  EXPECT_TRUE(sampler("parentbased_always_off", "").parent_based);
  EXPECT_EQ(sampler("traceidratio", "0.25").ratio, 0.25);
  EXPECT_EQ(sampler("parentbased_traceidratio", "").ratio, 1);
  EXPECT_NE(warning({{"OTEL_TRACES_SAMPLER", "jaeger_remote"}}).find("jaeger_remote"), std::string::npos);
  EXPECT_NE(warning({{"OTEL_TRACES_SAMPLER", "traceidratio"}, {"OTEL_TRACES_SAMPLER_ARG", "2"}}).find("_ARG"),
            std::string::npos);
}

TEST(TraceSettings, KeepOnlyAParentThatIsValid) {
  const std::string parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_EQ(settings_from({{"TRACEPARENT", parent}}).parent, parent);
  EXPECT_EQ(settings_from({{"TRACEPARENT", "01"}}).parent, "");
}

TEST(TraceSettings, RefuseToSpeakAnotherProtocol) {
  const auto grpc = read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:4317"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}});
  EXPECT_FALSE(grpc.settings);
  EXPECT_EQ(grpc.warnings.size(), 1U);
}

}  // namespace
}  // namespace skiff::container
