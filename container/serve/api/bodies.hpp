#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "container/egress/policy.hpp"
#include "container/sandbox/pools.hpp"
#include "container/sandbox/sandbox.hpp"
#include "container/serve/fleet/record_labels.hpp"
#include "container/serve/fleet/templates.hpp"
#include "container/serve/keys/api_key.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::protocol {

template <>
struct EnumNames<container::serve::OnEnd> {
  using E = container::serve::OnEnd;
  static constexpr std::array values{EnumName{E::remove, "remove"}, EnumName{E::stop, "stop"}};
};

}  // namespace skiff::protocol

/// The bodies of the server's own API.
namespace skiff::container::serve::own {

/// A client's choice of a sandbox's network, which can only restrict the template's.
enum class Network : std::uint8_t { deny };

}  // namespace skiff::container::serve::own

namespace skiff::protocol {

template <>
struct EnumNames<container::serve::own::Network> {
  using E = container::serve::own::Network;
  static constexpr std::array values{EnumName{E::deny, "deny"}};
};

}  // namespace skiff::protocol

namespace skiff::container::serve::own {

/// A shorter lease could end before the agent answers.
inline constexpr std::int64_t kShortestLeaseMs = 1000;
inline constexpr std::int64_t kLongestLeaseMs = std::int64_t{365} * 24 * 3'600'000;
/// Longest wait for a sandbox.
inline constexpr std::size_t kLongestWaitMs = 600'000;
/// Longest time for processes to end by themselves.
inline constexpr std::size_t kLongestGraceMs = 300'000;
inline constexpr std::size_t kMostRules = egress::Policy::kMostRules;

struct CreateSandbox {
  static constexpr std::string_view kSchemaName = "CreateSandbox";
  std::string name = {};
  bool get_or_create = false;
  bool wait = true;
  std::string template_name{Templates::kBase};
  std::map<std::string, std::string> env = {};
  std::map<std::string, std::string> labels = {};
  std::optional<std::chrono::milliseconds> ttl = {};
  std::optional<std::chrono::milliseconds> idle_ttl = {};
  OnEnd on_end = OnEnd::remove;
  std::optional<Network> network = {};
  std::optional<std::vector<std::string>> egress = {};
  std::string owner = {};
  bool wakes = true;

  static constexpr auto fields = std::tuple{
      protocol::field(
          "name", &CreateSandbox::name,
          "Id of the sandbox: lower-case letters, digits and, between them, -; by default the server chooses one",
          {.max_length = 50, .optional = true}),
      protocol::field("get_or_create", &CreateSandbox::get_or_create,
                      "Use an existing sandbox of this name, and start it unless it runs", {.optional = true}),
      protocol::field("wait", &CreateSandbox::wait,
                      "Wait until the sandbox is up; false: answer when it is visible, and continue the creation",
                      {.optional = true}),
      protocol::field("template", &CreateSandbox::template_name, "Name of the template", {.optional = true}),
      protocol::field("env", &CreateSandbox::env, "Variables of all its commands",
                      {.text = protocol::Text::no_nul, .keys = protocol::Text::env_name, .optional = true}),
      protocol::field("labels", &CreateSandbox::labels, "Labels of the sandbox", {.optional = true}),
      protocol::field("ttl_ms", &CreateSandbox::ttl, "Lease of the sandbox; by default none",
                      {.minimum = kShortestLeaseMs, .maximum = kLongestLeaseMs}),
      protocol::field("idle_ttl_ms", &CreateSandbox::idle_ttl, "The sandbox ends after this time without use",
                      {.minimum = kShortestLeaseMs, .maximum = kLongestLeaseMs}),
      protocol::field("on_end", &CreateSandbox::on_end,
                      "At the end of the lease: remove the sandbox, or stop it and keep its files", {.optional = true}),
      protocol::field("network", &CreateSandbox::network, "deny: no network; otherwise the template decides"),
      protocol::field("egress", &CreateSandbox::egress,
                      "Names that the sandbox may reach, and nothing else: pypi.org, *.example.com, example.com:8443, "
                      "http://deb.debian.org, @npm for the hosts of a tool; an empty list: nothing",
                      {.max_items = kMostRules}),
      protocol::field("owner", &CreateSandbox::owner, "Owner of the sandbox, within the tenant",
                      {.max_length = 253, .text = protocol::Text::no_nul, .optional = true}),
      protocol::field("wakes", &CreateSandbox::wakes, "Whether a request starts the stopped sandbox again",
                      {.optional = true})};
};

struct NetworkView {
  static constexpr std::string_view kSchemaName = "Network";
  std::vector<std::string> egress;

  static constexpr auto fields = std::tuple{protocol::field(
      "egress", &NetworkView::egress, "Names that the sandbox may reach, and nothing else", {.max_items = kMostRules})};
};

struct NetworkChange {
  static constexpr std::string_view kSchemaName = "NetworkChange";
  std::vector<std::string> add = {};
  std::vector<std::string> remove = {};

  static constexpr auto fields =
      std::tuple{protocol::field("add", &NetworkChange::add, "Names that it may reach, too",
                                 {.max_items = kMostRules, .optional = true}),
                 protocol::field("remove", &NetworkChange::remove, "Names that it may reach no more, as they are shown",
                                 {.max_items = kMostRules, .optional = true})};
};

struct StopSandbox {
  static constexpr std::string_view kSchemaName = "StopSandbox";
  std::optional<std::chrono::milliseconds> grace = {};

  static constexpr auto fields =
      std::tuple{protocol::field("grace_ms", &StopSandbox::grace, "How long processes may take to end by themselves",
                                 {.minimum = 0, .maximum = kLongestGraceMs})};
};

/// Without both times the current lease begins again.
struct ExtendSandbox {
  static constexpr std::string_view kSchemaName = "ExtendSandbox";
  std::optional<std::chrono::milliseconds> ttl = {};
  std::optional<std::chrono::milliseconds> idle_ttl = {};

  static constexpr auto fields = std::tuple{
      protocol::field("ttl_ms", &ExtendSandbox::ttl, "New lease of the sandbox, from now on",
                      {.minimum = 1, .maximum = kLongestLeaseMs}),
      protocol::field("idle_ttl_ms", &ExtendSandbox::idle_ttl, "The sandbox ends after this time without use",
                      {.minimum = 1, .maximum = kLongestLeaseMs})};
};

struct MakeToken {
  static constexpr std::string_view kSchemaName = "MakeToken";
  std::vector<std::string> scopes{"read", "exec"};
  std::chrono::milliseconds ttl{300'000};

  static constexpr auto fields =
      std::tuple{protocol::field("scopes", &MakeToken::scopes, "Scopes of the token: read, exec, ports or admin",
                                 {.max_items = 4, .optional = true}),
                 protocol::field("ttl_ms", &MakeToken::ttl, "How long the token is valid",
                                 {.minimum = 1000, .maximum = 86'400'000, .optional = true})};
};

/// A sandbox as the server's own API shows it.
struct SandboxView {
  static constexpr std::string_view kSchemaName = "Sandbox";
  std::string id;
  std::string uid;
  std::string template_name;
  SandboxState state = SandboxState::creating;
  std::string reason;
  std::string owner;
  std::map<std::string, std::string> labels;
  std::string created_at;
  std::optional<std::string> expires_at;
  OnEnd on_end = OnEnd::remove;
  bool was_broken = false;

  static constexpr auto fields = std::tuple{
      protocol::field("id", &SandboxView::id, "Id of the sandbox: its name, or a unique id"),
      protocol::field("uid", &SandboxView::uid, "Unique id, which is never used again", {.optional = true}),
      protocol::field("template", &SandboxView::template_name, "Name of its template"),
      protocol::field("state", &SandboxView::state, "State of the sandbox"),
      protocol::field("reason", &SandboxView::reason,
                      "Why the sandbox ended or failed, or what it lost when it began anew; otherwise empty"),
      protocol::field("owner", &SandboxView::owner, "Owner that was given at creation", {.optional = true}),
      protocol::field("labels", &SandboxView::labels, "Labels of the sandbox"),
      protocol::field("created_at", &SandboxView::created_at, "Time of its creation (RFC 3339)"),
      protocol::field("expires_at", &SandboxView::expires_at, "End of its lease (RFC 3339), if it has one"),
      protocol::field("on_end", &SandboxView::on_end,
                      "At the end of the lease: remove the sandbox, or stop it and keep its files"),
      protocol::field("was_broken", &SandboxView::was_broken,
                      "The sandbox did not end by itself: `start` may start it again", {.optional = true})};
};

struct SandboxList {
  static constexpr std::string_view kSchemaName = "SandboxList";
  std::vector<SandboxView> items = {};
  std::string next = {};

  static constexpr auto fields = std::tuple{
      protocol::field("items", &SandboxList::items, "Sandboxes, sorted by id"),
      protocol::field("next", &SandboxList::next, "`cursor` of the next page; empty: this is the last page")};
};

struct PoolList {
  static constexpr std::string_view kSchemaName = "PoolList";
  std::vector<PoolStatus> items;
  static constexpr auto fields = std::tuple{protocol::field("items", &PoolList::items, "Pools, sorted by name")};
};

struct TokenView {
  static constexpr std::string_view kSchemaName = "Token";
  std::string token;
  static constexpr auto fields =
      std::tuple{protocol::field("token", &TokenView::token, "Bearer token for the agent of this sandbox only")};
};

struct MakePreview {
  static constexpr std::string_view kSchemaName = "MakePreview";
  std::uint16_t port = 0;
  std::chrono::milliseconds ttl{3'600'000};

  static constexpr auto fields =
      std::tuple{protocol::field("port", &MakePreview::port, "Port of a server in the sandbox", {.minimum = 1}),
                 protocol::field("ttl_ms", &MakePreview::ttl, "How long the link and what it opens are valid",
                                 {.minimum = 1000, .maximum = 604'800'000, .optional = true})};
};

struct PreviewView {
  static constexpr std::string_view kSchemaName = "Preview";
  std::string url;
  std::string expires_at;
  static constexpr auto fields =
      std::tuple{protocol::field("url", &PreviewView::url, "Link for a browser; everyone who has it can use the port"),
                 protocol::field("expires_at", &PreviewView::expires_at, "When the link ends (RFC 3339)")};
};

struct KeyView {
  static constexpr std::string_view kSchemaName = "Key";
  std::string name;
  std::string tenant;
  std::vector<KeyScope> scopes;
  std::uint64_t max_sandboxes = 0;
  std::uint64_t creations_per_minute = 0;
  std::uint64_t max_stopped = 0;

  static constexpr auto fields =
      std::tuple{protocol::field("name", &KeyView::name, "Name of the key"),
                 protocol::field("tenant", &KeyView::tenant, "Tenant whose sandboxes the key reaches"),
                 protocol::field("scopes", &KeyView::scopes, "Scopes of the key"),
                 protocol::field("max_sandboxes", &KeyView::max_sandboxes,
                                 "Most sandboxes that run at the same time; 0: no limit"),
                 protocol::field("creations_per_minute", &KeyView::creations_per_minute,
                                 "Most creations per minute, on each server; 0: no limit"),
                 protocol::field("max_stopped", &KeyView::max_stopped,
                                 "Most sandboxes that are kept and do not run; 0: no limit", {.optional = true})};
};

[[nodiscard]] SandboxView view_of(const Sandbox& sandbox);

}  // namespace skiff::container::serve::own
