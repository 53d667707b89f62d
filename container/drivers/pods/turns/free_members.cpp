#include "container/drivers/pods/turns/free_members.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/clock.hpp"
#include "container/cluster/watched_objects.hpp"
#include "container/drivers/pods/pool_record.hpp"

namespace skiff::container {
namespace {

/// A server that has taken nothing for so long is not expected to.
constexpr std::chrono::minutes kRecent{10};
/// Most names of such servers that are read, one for each minute in which one has taken something.
constexpr std::size_t kMostTakers = 64;

/// FNV-1a, and then the last step of MurmurHash3, so that similar names get scores that have nothing in common. It must
/// be the same in all processes.
std::int64_t score(std::string_view server, std::string_view member) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string_view text : {server, std::string_view{"/"}, member}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  hash = (hash ^ (hash >> 33U)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33U)) * 0xc4ceb9fe1a85ec53;
  return static_cast<std::int64_t>(hash >> 33U);
}

/// The minute in eight digits, so that the order of the texts is that of the times.
std::string minute_of(WallTime time) {
  return std::to_string(std::chrono::floor<std::chrono::minutes>(time).time_since_epoch().count());
}

}  // namespace

FreeMembers::FreeMembers(const kube::Mirror* pods) : pods_{pods}, number_{random_number()} {}

FreeMembers::Held::Held(FreeMembers* from, kube::Object pod, std::uint64_t version, bool is_theirs)
    : from_{from}, pod_{std::move(pod)}, version_{version}, is_theirs_{is_theirs} {
  from_->held_.insert(pod_.name());
  if (is_theirs_) ++from_->theirs_;
}

FreeMembers::Held::~Held() {
  if (from_ == nullptr) return;
  from_->held_.erase(pod_.name());
  if (is_theirs_) --from_->theirs_;
}

void FreeMembers::Held::refuse() {
  from_->refused_.insert_or_assign(pod_.name(), version_);
}

std::string FreeMembers::taker() const {
  return minute_of(wall_now()) + "/" + std::to_string(number_);
}

std::set<std::string> FreeMembers::others() const {
  const std::string from = std::string{kTakers} + minute_of(wall_now() - kRecent);
  std::set<std::string> servers;
  for (const std::string& group : pods_->groups(kTakers, from, kMostTakers)) {
    servers.insert(group.substr(group.rfind('/') + 1));
  }
  servers.erase(std::to_string(number_));
  return servers;
}

std::optional<FreeMembers::Held> FreeMembers::next(const std::string& pool) {
  std::erase_if(refused_, [this](const auto& one) { return pods_->version_of(one.first) != one.second; });
  const std::string self = std::to_string(number_);
  const std::set<std::string> servers = others();
  // The lead of the first other server, which is negative for a member of this one: two servers have opposite orders.
  const auto lead_of_others = [&](const std::string& member) {
    std::int64_t first = 0;
    for (const std::string& server : servers) first = std::max(first, score(server, member));
    return first - score(self, member);
  };
  const std::string* best = nullptr;
  std::int64_t least = 0;
  for (const std::string& name : pods_->group(pool)) {
    if (refused_.contains(name) || held_.contains(name)) continue;
    const std::int64_t lead = lead_of_others(name);
    if (best != nullptr && lead >= least) continue;
    best = &name;
    least = lead;
  }
  const bool is_theirs = least > 0;
  if (best == nullptr || (is_theirs && theirs_ >= kTheirsAtOnce)) return std::nullopt;
  return Held{this, *pods_->find(*best), pods_->version_of(*best), is_theirs};
}

bool FreeMembers::has_others(const std::string& pool) const {
  return std::ranges::any_of(pods_->group(pool), [this](const std::string& name) {
    const auto refused = refused_.find(name);
    const bool is_refused = refused != refused_.end() && pods_->version_of(name) == refused->second;
    return !is_refused && !held_.contains(name);
  });
}

}  // namespace skiff::container
