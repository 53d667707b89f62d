#pragma once

#include "runtime/api/requests.hpp"

/// Bodies of /v1/init and /v1/lease.
namespace skiff::runtime::api {

struct SetupRequest {
  std::string command;
  std::optional<Milliseconds> timeout;
  static constexpr std::string_view kSchemaName = "SetupRequest";
  static constexpr auto fields = std::tuple{
      field("command", &SetupRequest::command, "Line for the default session's shell",
            {.min_length = 1, .text = Text::no_nul}),
      field("timeout_ms", &SetupRequest::timeout, "End the command after this time",
            {.minimum = 1, .maximum = kLongestTime}),
  };
};

struct InitRequest {
  std::map<std::string, std::optional<std::string>> env;
  std::map<std::string, std::string> secret_env;
  std::map<std::string, std::string> labels;
  std::vector<std::string> token_sha256;
  std::vector<std::string> public_keys;
  std::optional<std::string> egress_token;
  std::optional<Milliseconds> ttl;
  std::optional<Milliseconds> idle_ttl;
  std::optional<SetupRequest> setup;

  static constexpr auto fields = std::tuple{
      field("env", &InitRequest::env, "Variables of all commands from now on; null removes one",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true}),
      field("secret_env", &InitRequest::secret_env, "Variables that are never listed, logged or echoed",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true, .write_only = true}),
      field("labels", &InitRequest::labels, "Labels, shown by /v1/version", {.max_items = 64, .optional = true}),
      field("token_sha256", &InitRequest::token_sha256, "SHA-256, in hex, of further tokens that are accepted",
            {.min_length = 64, .max_length = 64, .max_items = 64, .optional = true}),
      field("public_keys", &InitRequest::public_keys, "Further Ed25519 keys (PEM) whose JWTs are accepted",
            {.min_length = 1, .max_length = 16384, .max_items = 64, .optional = true}),
      field("egress_token", &InitRequest::egress_token, "Token of the sandbox for its egress proxy",
            {.min_length = 1, .max_length = 2000, .text = Text::no_nul, .write_only = true}),
      field("ttl_ms", &InitRequest::ttl, "The agent drains and exits after this time",
            {.minimum = 1, .maximum = kLongestTime}),
      field("idle_ttl_ms", &InitRequest::idle_ttl, "The agent drains and exits after this time without use",
            {.minimum = 1, .maximum = kLongestTime}),
      field("setup", &InitRequest::setup, "Command to run; its result is in the answer"),
  };
  static constexpr std::string_view kJsonRule =
      R"("allOf":[{"properties":{"token_sha256":{"items":{"pattern":"^[0-9A-Fa-f]{64}$"}}}}])";
};

struct LeaseRequest {
  std::optional<std::optional<Milliseconds>> ttl;
  std::optional<std::optional<Milliseconds>> idle_ttl;
  static constexpr auto fields = std::tuple{
      field("ttl_ms", &LeaseRequest::ttl,
            "The agent drains and exits after this time, from now; null: no lease; absent: the last duration again",
            {.minimum = 1, .maximum = kLongestTime}),
      field("idle_ttl_ms", &LeaseRequest::idle_ttl,
            "The agent drains and exits after this time without use; null: never; absent: unchanged",
            {.minimum = 1, .maximum = kLongestTime}),
  };
};

}  // namespace skiff::runtime::api
