#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "container/kube/mirror.hpp"
#include "container/kube/objects/object.hpp"

namespace skiff::container {

/// Hands out the members of pools that a watch knows to be free, each to one caller of this process at a time. Other
/// processes may be faster, so a caller must take the Pod by a conditional patch. Servers know each other by the Pods
/// that they have taken. Each begins where the others end: hashes of a server and a member say how much the server
/// wants the member, and it takes first what it wants most and the others least (rendezvous hashing).
class FreeMembers {
 public:
  /// `pods` must outlive it. Its groups are the pools.
  explicit FreeMembers(const kube::Mirror* pods);

  /// A member that no other caller gets while this lives.
  class Held {
   public:
    Held(FreeMembers* from, kube::Object pod, std::uint64_t version)
        : from_{from}, pod_{std::move(pod)}, version_{version} {}
    ~Held();
    Held(Held&& other) noexcept
        : from_{std::exchange(other.from_, nullptr)}, pod_{std::move(other.pod_)}, version_{other.version_} {}
    Held& operator=(Held&&) = delete;

    [[nodiscard]] const kube::Object& pod() const noexcept { return pod_; }
    /// It is not free any more: it is not handed out again before the watch knows more about it.
    void refuse();

   private:
    FreeMembers* from_;
    kube::Object pod_;
    std::uint64_t version_;
  };
  /// nullopt: the watch knows no other free member.
  [[nodiscard]] std::optional<Held> next(const std::string& pool);
  [[nodiscard]] bool is_held(std::string_view name) const { return held_.contains(name); }
  /// By this others see that this process has taken a Pod, and when (labels::kTakenBy).
  [[nodiscard]] std::string taker() const;

 private:
  /// The other servers that have taken Pods lately.
  [[nodiscard]] std::set<std::string> others() const;

  const kube::Mirror* pods_;
  const std::uint32_t number_;  ///< of this process
  std::set<std::string, std::less<>> held_;
  std::map<std::string, std::uint64_t, std::less<>> refused_;  ///< with the version that was refused
};

}  // namespace skiff::container
