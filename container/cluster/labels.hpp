#pragma once

#include <map>
#include <string>
#include <string_view>

#include "container/kube/object.hpp"
#include "container/sandbox/driver.hpp"

/// What skiff writes on its objects, and finds them by.
namespace skiff::container::labels {

inline constexpr std::string_view kSandbox = "skiff.dev/sandbox";  ///< its id, for ever unique
inline constexpr std::string_view kName = "skiff.dev/name";
inline constexpr std::string_view kOwner = "skiff.dev/owner";
inline constexpr std::string_view kUsername = "skiff.dev/username";
inline constexpr std::string_view kPool = "skiff.dev/pool";
inline constexpr std::string_view kPoolState = "skiff.dev/pool-state";  ///< free, or taken
inline constexpr std::string_view kPoolSlot = "skiff.dev/pool-slot";    ///< a part of a large pool
inline constexpr std::string_view kNetwork = "skiff.dev/network";       ///< the policy that selects it
inline constexpr std::string_view kUserPrefix = "label.skiff.dev/";     ///< before a user's own
inline constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kComponent = "app.kubernetes.io/component";  ///< sandbox, record, network, key

/// Annotations.
inline constexpr std::string_view kExpiresAt = "skiff.dev/expires-at";

/// Selects all that skiff made.
inline constexpr std::string_view kOurs = "app.kubernetes.io/managed-by=skiff";
[[nodiscard]] bool is_ours(const kube::Object& object);

/// A value as a label can hold it: itself, or `h-` and a part of its SHA-256 when Kubernetes would refuse it (at most
/// 63 letters, digits, - _ and ., a letter or digit at either end). Equal values have equal ones.
[[nodiscard]] std::string label_value(std::string_view value);

/// Puts a label on an object; when its value had to be hashed the whole one becomes an annotation of the same name.
void put(kube::Object& object, std::string_view key, std::string_view value);
/// The whole value again.
[[nodiscard]] std::string get(const kube::Object& object, std::string_view key);

/// managed-by, name, instance and component, as Kubernetes recommends them, and whose it is.
void put_common(kube::Object& object, std::string_view component, std::string_view name, std::string_view owner);
/// A user's labels: a name without a prefix gets ours, and takes any value; one with a prefix of its own
/// ("example.org/team") stays as it is, for what others look for. `invalid_field` for a name that Kubernetes refuses or
/// keeps for itself or for us, and for a value that it refuses of a name that stays.
[[nodiscard]] Result<> check_user_labels(const std::map<std::string, std::string>& wanted);
void put_user_labels(kube::Object& object, const std::map<std::string, std::string>& wanted);
/// Those with our prefix.
[[nodiscard]] std::map<std::string, std::string> user_labels(const kube::Object& object);
/// A user's label that stays as it is.
[[nodiscard]] bool is_raw(std::string_view name);

/// Selects what `filter` asks for among the objects of one component.
[[nodiscard]] std::string selector(std::string_view component, const SandboxFilter& filter);

}  // namespace skiff::container::labels
