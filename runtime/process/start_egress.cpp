#include "runtime/process/start_egress.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/log/log.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/splice_pipes.hpp"
#include "runtime/egress/trust.hpp"
#include "runtime/process/process_stats.hpp"

namespace skiff::runtime {
namespace {

/// Whether the proxy itself listens where commands look for one.
bool listens_here(const protocol::Address& proxy) {
  return proxy.text() == egress::kAddress;
}

/// Answers programs that know no proxy, if the address of their name server is free and this process may listen there.
Result<> start_names(Agent& agent) {
  constexpr std::uint64_t kPart = 16;  // of all descriptors, for listeners
  const std::uint64_t affordable = most_open_files() / kPart / egress::LoopbackNames::kDescriptors;
  const std::size_t listeners = std::clamp<std::uint64_t>(affordable, 1, egress::LoopbackNames::kNames);
  SKIFF_TRY(const auto address, protocol::Address::parse(egress::kNameServer));
  auto names = std::make_unique<egress::NameServer>(agent.executor, agent.egress.get(), listeners);
  SKIFF_TRY_VOID(names->listen(address));
  agent.connections.own_ports.push_back(address.port());
  agent.names = std::move(names);
  return {};
}

}  // namespace

Result<> check_egress(const Settings& settings) {
  const bool is_alone = settings.egress_canary.empty() && settings.egress_token.empty();
  const auto proxy = protocol::Address::parse(settings.egress);
  const bool has_no_other = settings.egress.empty() || (proxy && listens_here(*proxy));
  if (has_no_other && is_alone) return {};
  const auto refuse = [](const std::string& why, const char* flag) { return fail(Errc::invalid_field, why, flag); };
  if (has_no_other) {
    return refuse("--egress-canary and SKIFF_EGRESS_TOKEN need --egress IP:PORT of another host", "--egress");
  }
  if (!proxy || proxy->port() == 0) {
    return refuse("--egress \"" + settings.egress + "\": expected IP:PORT", "--egress");
  }
  auto canary = protocol::Address::parse(settings.egress_canary);
  if (!canary || canary->port() == 0) {
    return refuse("--egress IP:PORT needs --egress-canary IP:PORT, which shows that nothing else can be reached",
                  "--egress-canary");
  }
  if (settings.egress_token.empty() || egress::Helper::is_token(settings.egress_token)) return {};
  return refuse("SKIFF_EGRESS_TOKEN is printable ASCII without blanks, at most 2000 bytes", "SKIFF_EGRESS_TOKEN");
}

Result<> start_trust(const Settings& settings) {
  if (settings.egress_trust.empty() && settings.egress_ca.empty()) return {};
  if (settings.egress_trust.empty() || settings.egress_ca.empty()) {
    return fail(Errc::invalid_field, "--egress-trust DIR and SKIFF_EGRESS_CA need each other", "--egress-trust");
  }
  return egress::write_trust(settings.egress_trust, settings.egress_ca);
}

Result<> start_egress(Agent& agent) {
  if (agent.settings.egress.empty()) return {};
  static const std::string holder{"egress"};
  static protocol::SplicePipes pipes{16};
  SKIFF_TRY(auto proxy, protocol::Address::parse(agent.settings.egress));
  SKIFF_TRY(const auto own, protocol::Address::parse(egress::kAddress));
  std::shared_ptr<protocol::Listener> listener;
  if (!listens_here(proxy)) {
    SKIFF_TRY(listener, protocol::Listener::open(agent.executor, own));
    SKIFF_TRY(auto canary, protocol::Address::parse(agent.settings.egress_canary));
    agent.fence = std::make_unique<egress::Fence>(agent.executor,
                                                  egress::Fence::Options{.proxy = proxy, .canary = std::move(canary)});
    agent.fence->start();
  }
  agent.egress = std::make_unique<egress::Helper>(agent.executor, std::move(proxy),
                                                  protocol::TunnelLimits{.stall = agent.settings.write_timeout,
                                                                         .silent = agent.settings.port_timeout,
                                                                         .budget = &agent.quotas.received,
                                                                         .who = &holder,
                                                                         .pipes = &pipes},
                                                  agent.fence.get());
  if (!agent.settings.egress_token.empty()) agent.egress->use_token(std::exchange(agent.settings.egress_token, {}));
  agent.connections.own_ports.push_back(own.port());
  // Without it commands reach the proxy itself, without a hop.
  if (listener) agent.egress->listen(std::move(listener));
  if (auto started = start_names(agent); !started) {
    log::warning("programs that know no proxy reach nothing: " + started.error().message);
  }
  return {};
}

}  // namespace skiff::runtime
