#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
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
    Held(FreeMembers* from, kube::Object pod, std::uint64_t version, bool is_theirs);
    ~Held();
    Held(Held&& other) noexcept
        : from_{std::exchange(other.from_, nullptr)},
          pod_{std::move(other.pod_)},
          version_{other.version_},
          is_theirs_{other.is_theirs_} {}
    Held& operator=(Held&&) = delete;

    [[nodiscard]] const kube::Object& pod() const noexcept { return pod_; }
    /// It is not free any more: it is not handed out again before the watch knows more about it.
    void refuse();

   private:
    FreeMembers* from_;
    kube::Object pod_;
    std::uint64_t version_;
    bool is_theirs_;  ///< another server wants it more
  };
  /// Most members that are held although another server wants them more: it may be taking them right now.
  static constexpr std::size_t kTheirsAtOnce = 4;
  /// nullopt: the watch knows no other free member, or only such as are for others (`has_others`).
  [[nodiscard]] std::optional<Held> next(const std::string& pool);
  /// True if there are free members that nobody of this process holds.
  [[nodiscard]] bool has_others(const std::string& pool) const;
  /// By this others see that this process has taken a Pod, and when (labels::kTakenBy).
  [[nodiscard]] std::string taker() const;

 private:
  /// The other servers that have taken Pods lately.
  [[nodiscard]] std::set<std::string> others() const;

  const kube::Mirror* pods_;
  const std::uint32_t number_;  ///< of this process
  std::set<std::string, std::less<>> held_;
  std::size_t theirs_ = 0;                                     ///< number of those that another server wants more
  std::map<std::string, std::uint64_t, std::less<>> refused_;  ///< with the version that was refused
};

}  // namespace skiff::container
