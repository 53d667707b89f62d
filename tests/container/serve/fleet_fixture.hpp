#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/serve/fleet/fleet.hpp"
#include "tests/container/sandbox/refusing_driver.hpp"

/// A fleet whose sandboxes are nothing but records.
namespace skiff::container::serve {

/// Sandboxes that are nothing but a record.
class RecordDriver final : public fakes::RefusingDriver {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return kind; }
  Task<Result<Sandbox>> create(SandboxSpec spec, Progress) override {
    if (records.contains(spec.name)) co_return fail(Errc::sandbox_conflict, "there is one");
    ++created;
    Sandbox& one = records[spec.name];
    one.name = spec.name;
    one.id = "id-" + spec.name;
    one.owner = spec.owner;
    one.labels = spec.labels;
    one.state = SandboxState::running;
    last = std::move(spec);
    // Another process has taken the last place at the same time.
    if (!appears_meanwhile.empty()) {
      Sandbox other = one;
      other.name = std::exchange(appears_meanwhile, {});
      records[other.name] = other;
    }
    co_return one;
  }
  Task<Result<Sandbox>> get(std::string name) override {
    const auto found = records.find(name);
    if (found == records.end()) co_return std::unexpected{no_such_sandbox(name)};
    co_return found->second;
  }
  Task<Result<SandboxPage>> list(SandboxFilter filter) override {
    SandboxPage page;
    for (const auto& [name, one] : records) {
      if (filter.owner && one.owner != *filter.owner) continue;
      if (filter.state && one.state != *filter.state) continue;
      bool fits = true;
      for (const auto& [label, value] : filter.labels) {
        const auto found = one.labels.find(label);
        fits = fits && found != one.labels.end() && found->second == value;
      }
      if (fits) page.items.push_back(one);
    }
    co_return page;
  }
  Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds, Progress) override {
    records[name].state = SandboxState::running;
    if (!appears_meanwhile.empty()) records[std::exchange(appears_meanwhile, {})].state = SandboxState::running;
    co_return records[name];
  }
  Task<Result<>> set_label(std::string name, std::string label, std::string value) override {
    records[name].labels[label] = value;
    co_return Result<>{};
  }
  Task<Result<>> stop(std::string name, Removal) override {
    records[name].state = SandboxState::stopped;
    co_return Result<>{};
  }
  Task<bool> offers_egress() override { co_return has_proxy; }
  Task<Result<EgressState>> set_egress(std::string, EgressChange change) override {
    if (change.rules) rules = *change.rules;
    co_return EgressState{.rules = rules};
  }
  Task<Result<Endpoint>> endpoint(std::string, TokenGrant) override {
    ++sought;
    co_return Endpoint{};
  }
  Task<Result<protocol::Stream>> dial(std::string, std::uint16_t) override {
    ++dialled;
    co_return fail(Errc::io_error, "nobody listens");
  }
  Task<Result<bool>> remove(std::string name, Removal) override { co_return records.erase(name) > 0; }

  std::map<std::string, Sandbox> records;
  SandboxSpec last = {};
  std::string appears_meanwhile;
  std::vector<std::string> rules = {};
  std::string_view kind = "local";
  bool has_proxy = true;
  int created = 0;
  int dialled = 0;
  int sought = 0;
};

class OneDriver final : public Tenants {
 public:
  Task<Result<Driver*>> driver(std::string tenant) override {
    ++asked;
    if (tenant == away) co_return fail(why, "not now");
    co_return &hosted;
  }
  RecordDriver hosted;
  std::string away;
  int asked = 0;
  Errc why = Errc::io_error;
};

class FixedKeys final : public KeyStore {
 public:
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override { co_return ring; }
  Task<Result<>> change(std::function<Result<>(KeyRing&)> edit) override { co_return edit(ring); }
  KeyRing ring{.token_secret = "secret", .keys = {}};
};

inline ApiKey tenant_key(const std::string& tenant, std::uint64_t most = 0) {
  return {.name = "key-" + tenant,
          .sha256 = tenant,
          .tenant = tenant,
          .scopes = {KeyScope::create},
          .max_sandboxes = most,
          .created_at = {},
          .expires_ms = {}};
}

/// A fleet over the fakes.
struct FleetFixture {
  OneDriver tenants;
  FixedKeys store;
  KeyCache keys{&store};
  Templates templates = Templates::create({.name = {}}, {}).value();
  Fleet fleet{&tenants, &keys, &templates};
};

}  // namespace skiff::container::serve
