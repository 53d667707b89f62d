#include "container/egress/cluster/cluster_proxy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <boost/system/system_error.hpp>

#include "base/async/semaphore.hpp"
#include "base/async/with_timeout.hpp"
#include "base/clock.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/egress/cluster/pod_terminator.hpp"
#include "container/egress/cluster/preamble.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::chrono::milliseconds kRefusalLinger{1'000};
constexpr std::size_t kRefusalDiscarded = std::size_t{64} << 10U;

/// The rules in an annotation; nullopt without any, or with broken ones.
std::optional<Policy> policy_in(const std::string& text) {
  if (text.empty() || text.size() > kLargestEgressPolicy) return std::nullopt;
  auto policy = Policy::parse_json(text);
  return policy ? std::optional{std::move(*policy)} : std::nullopt;
}

using Places = std::shared_ptr<Semaphore>;

Task<Result<std::vector<protocol::Address>>> resolve_in_turn(protocol::Resolver resolve, Places places,
                                                             ProxyStats* stats, std::string host, std::uint16_t port) {
  const Semaphore::Permit permit = co_await places->acquire();
  const SteadyTime begun = std::chrono::steady_clock::now();
  auto found = co_await resolve(std::move(host), port);
  stats->note_look_up(begun);
  co_return found;
}

protocol::Resolver limited(protocol::Resolver resolve, Places places, ProxyStats* stats) {
  return [resolve = std::move(resolve), places = std::move(places), stats](std::string host, std::uint16_t port) {
    return resolve_in_turn(resolve, places, stats, std::move(host), port);
  };
}

}  // namespace

/// A Pod that may be served.
struct ClusterProxy::Member {
  Member(ClusterProxy* owner, SeenPod seen)
      : pod{std::move(seen)},
        audit{{.sandbox = pod.sandbox, .id = pod.id, .pod = pod.name}, owner->options_.log, &owner->stats_},
        terminator{&owner->secrets_},
        proxy{owner->executor_,
              {.sandbox = pod.sandbox,
               .holder = pod.uid,
               .room = &owner->room_,
               .resolve = limited(owner->options_.resolve, std::make_shared<Semaphore>(owner->executor_, kLookUps),
                                  &owner->stats_),
               .is_public = owner->options_.is_public,
               .audit = &audit,
               .terminator = &terminator,
               .dials = &owner->stats_.dials()}} {}

  SeenPod pod;  ///< its sandbox id stays the same
  TokenCheck::Shown shown = {};
  PodAudit audit;
  PodTerminator terminator;
  Proxy proxy;
  bool was_proven = false;   ///< its agent has seen the fence: it was ready, or has sent its token
  bool is_unfenced = false;  ///< it has reached the canary
  bool has_policy = false;   ///< the one in force
};

/// Counts a connection that has not said who it is.
struct ClusterProxy::Waiting {
  Waiting(ClusterProxy* owner, std::string from) : proxy{owner}, address{std::move(from)} {
    ++proxy->unknown_;
    ++proxy->unknown_of_[address];
  }
  ~Waiting() {
    --proxy->unknown_;
    if (--proxy->unknown_of_[address] == 0) proxy->unknown_of_.erase(address);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  ClusterProxy* proxy;
  std::string address;
};

ClusterProxy::ClusterProxy(Executor executor, Options options)
    : executor_{executor},
      options_{std::move(options)},
      tokens_{options_.public_keys},
      changed_{executor},
      tasks_{executor} {}

ClusterProxy::~ClusterProxy() = default;

void ClusterProxy::put(const kube::Object& pod) {
  const SteadyTime begun = std::chrono::steady_clock::now();
  SeenPod seen = SeenPod::of(pod);
  const SeenPod* const before = pods_.find(seen.name);
  if (before != nullptr && before->uid != seen.uid) retire(before->uid);
  pods_.put(seen);
  auto member = members_.find(seen.uid);
  if (member != members_.end() && (!seen.is_fenced || member->second->pod.id != seen.id)) {
    retire(seen.uid);
    member = members_.end();
  }
  changed_.notify_all();
  if (!seen.is_fenced) return;
  const bool is_new = member == members_.end();
  if (is_new) member = members_.emplace(seen.uid, std::make_shared<Member>(this, seen)).first;
  Member& known = *member->second;
  const bool has_changed = is_new || known.pod.policy != seen.policy || known.pod.secrets != seen.secrets;
  known.was_proven = known.was_proven || seen.is_ready;
  known.pod = std::move(seen);
  if (!has_changed || known.is_unfenced) return;
  // Without its secrets a host with one would be an open tunnel.
  auto policy = known.terminator.use(known.pod.secrets) ? policy_in(known.pod.policy) : std::nullopt;
  known.has_policy = policy.has_value();
  known.proxy.replace(std::move(policy));
  stats_.note_generation(begun);
}

std::string ClusterProxy::metrics() const {
  ProxyStats::Measured measured{.connections = unknown_};
  for (const auto& [uid, member] : members_) {
    measured.connections += member->proxy.connections();
    if (member->has_policy) ++measured.policies;
    const protocol::Traffic open = member->proxy.carried();
    measured.open.sent += open.sent;
    measured.open.received += open.received;
  }
  return stats_.text(measured);
}

void ClusterProxy::erase(std::string_view name) {
  const SeenPod* const pod = pods_.find(name);
  if (pod == nullptr) return;
  retire(pod->uid);
  pods_.erase(name);
  changed_.notify_all();
}

void ClusterProxy::keep(const std::set<std::string>& names) {
  for (const std::string& name : pods_.names()) {
    if (!names.contains(name)) erase(name);
  }
}

void ClusterProxy::retire(std::string_view uid) {
  const auto found = members_.find(uid);
  if (found == members_.end()) return;
  tasks_.spawn("end of a sandbox's egress", end(std::move(found->second)));
  members_.erase(found);
}

Task<> ClusterProxy::end(std::shared_ptr<Member> member) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await member->proxy.stop();
}

Task<> ClusterProxy::stop() {
  while (!members_.empty()) retire(members_.begin()->first);
  tasks_.cancel();
  co_await tasks_.join();
}

void ClusterProxy::serve(UniqueFd socket, const protocol::Address& peer) {
  std::string address = peer.host();
  const auto waiting = unknown_of_.find(address);
  if (unknown_ >= kUnknown || (waiting != unknown_of_.end() && waiting->second >= kUnknownOfOne)) return;
  tasks_.spawn("egress client", admit(this, std::move(socket), std::move(address)));
}

void ClusterProxy::note_canary(const protocol::Address& peer) {
  const SeenPod* const pod = pods_.at(peer.host());
  const auto found = pod == nullptr ? members_.end() : members_.find(pod->uid);
  if (found == members_.end() || !found->second->was_proven) return;
  stats_.count_canary_hit();
  Member& member = *found->second;
  if (std::exchange(member.is_unfenced, true)) return;
  member.has_policy = false;
  member.proxy.replace(std::nullopt);
  member.audit.deny({.verdict = verdict::kDenied,
                     .code = "not_fenced",
                     .address = peer.host(),
                     .detail = "it has reached the canary"});
}

Task<> ClusterProxy::await_pod(const std::string* address) {
  while (pods_.at(*address) == nullptr) co_await changed_.wait();
}

std::optional<Refusal> ClusterProxy::identify(std::string_view address, std::string_view token,
                                              std::shared_ptr<Member>* member) {
  const SeenPod* const pod = pods_.at(address);
  const auto found = pod == nullptr ? members_.end() : members_.find(pod->uid);
  if (found == members_.end()) {
    return Refusal{403, "unknown_source", "no sandbox with egress by name has the address of this connection alone"};
  }
  const auto is_its_own = tokens_.is_of(found->second->pod.id, token, &found->second->shown);
  if (!is_its_own) return Refusal{503, "no_keys", "the proxy cannot read the public key of its sandboxes' tokens"};
  if (!*is_its_own) {
    return Refusal{403, "wrong_credential", "the credential is not that of the sandbox at this address"};
  }
  if (found->second->is_unfenced) {
    return Refusal{403, "not_fenced",
                   "this sandbox can reach more than the proxy, because the cluster does not enforce its "
                   "NetworkPolicy: skiff doctor --egress"};
  }
  *member = found->second;
  return std::nullopt;
}

Task<> ClusterProxy::admit(ClusterProxy* self, UniqueFd socket, std::string address) {
  const Waiting waiting{self, address};
  const auto now = [] { return std::chrono::steady_clock::now(); };
  boost::asio::posix::basic_stream_descriptor<Executor> client{self->executor_, socket.release()};
  const auto token = co_await within(now() + self->options_.first_words, read_preamble(&client));
  // An agent looks whether the proxy is there.
  if (token && *token && (*token)->empty()) co_return;
  Refusal refusal{407, "no_credential", "a connection begins with the credential of a sandbox"};
  if (token && *token) {
    // The Pod may connect before the watch tells of its address.
    (void)co_await within(now() + self->options_.news, [](ClusterProxy* proxy, const std::string* of) -> Task<bool> {
      co_await proxy->await_pod(of);
      co_return true;
    }(self, &address));
    std::shared_ptr<Member> member;
    auto refused = self->identify(address, **token, &member);
    // The descriptor leaves the reactor here; the proxy waits for it from now on.
    if (!refused) {
      member->was_proven = true;
      member->proxy.serve(UniqueFd{client.release()});
      co_return;
    }
    refusal = std::move(*refused);
  }
  co_await self->refuse(UniqueFd{client.release()}, std::move(address), std::move(refusal));
}

Task<> ClusterProxy::refuse(UniqueFd socket, std::string address, Refusal refusal) {
  const AuditEntry entry{
      .verdict = verdict::kDenied, .code = refusal.code, .address = std::move(address), .detail = refusal.detail};
  stats_.count(entry);
  if (unknown_lines_.take()) (void)options_.log(audit_line({}, entry));
  protocol::Stream client{executor_, std::move(socket), "sandbox"};
  const std::string text = response(refusal, {});
  const std::array<std::string_view, 1> parts{text};
  if (auto sent = co_await client.write(parts, kRefusalLinger); !sent) co_return;
  client.shutdown_write();
  // A connection that is closed with unread bytes is reset, and the answer may be lost.
  const SteadyTime until = std::chrono::steady_clock::now() + kRefusalLinger;
  std::array<char, 4096> block{};
  for (std::size_t read = 0; read < kRefusalDiscarded;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const auto got = co_await client.read_some(block, std::max(left, std::chrono::milliseconds{1}));
    if (!got || *got == 0) co_return;
    read += *got;
  }
}

}  // namespace skiff::container::egress
