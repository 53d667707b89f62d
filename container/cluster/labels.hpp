#pragma once

#include <map>
#include <string>
#include <string_view>

#include "container/kube/objects/object.hpp"
#include "container/sandbox/driver.hpp"

/// Labels that skiff writes on its objects, and finds them by.
namespace skiff::container::labels {

inline constexpr std::string_view kSandbox = "skiff.dev/sandbox";  ///< unique id of the sandbox
inline constexpr std::string_view kName = "skiff.dev/name";
inline constexpr std::string_view kOwner = "skiff.dev/owner";
inline constexpr std::string_view kUsername = "skiff.dev/username";
inline constexpr std::string_view kPool = "skiff.dev/pool";
inline constexpr std::string_view kPoolState = "skiff.dev/pool-state";  ///< free, or taken
inline constexpr std::string_view kPoolSlot = "skiff.dev/pool-slot";    ///< a part of a large pool
inline constexpr std::string_view kNetwork = "skiff.dev/network";       ///< the policy that selects the Pod
inline constexpr std::string_view kUserPrefix = "label.skiff.dev/";     ///< prefix of a user's labels
inline constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kComponent = "app.kubernetes.io/component";  ///< sandbox, record, network, key

/// Annotations.
inline constexpr std::string_view kExpiresAt = "skiff.dev/expires-at";
inline constexpr std::string_view kTakenBy =
    "skiff.dev/taken-by";  ///< MINUTE/SERVER, when and by which it was taken from its pool

/// Selects all objects that skiff created.
inline constexpr std::string_view kOurs = "app.kubernetes.io/managed-by=skiff";
[[nodiscard]] bool is_ours(const kube::Object& object);

/// Converts a value for a label: unchanged, or `h-` and a part of its SHA-256 if Kubernetes would refuse it (at most 63
/// letters, digits, - _ and ., a letter or digit at either end). Equal values give equal results.
[[nodiscard]] std::string label_value(std::string_view value);

/// Puts a label on an object. If its value had to be hashed, an annotation of the same name gets the whole value.
void put(kube::Object& object, std::string_view key, std::string_view value);
/// Reads the whole value of a label.
[[nodiscard]] std::string get(const kube::Object& object, std::string_view key);

/// Puts the recommended labels of Kubernetes (managed-by, name, instance and component) and the owner on an object.
void put_common(kube::Object& object, std::string_view component, std::string_view name, std::string_view owner);
/// Checks a user's labels. A name without a prefix gets ours, and may have any value. A name with its own prefix
/// ("example.org/team") is kept, because other tools look for it. `invalid_field` for a name that Kubernetes refuses or
/// that is reserved for Kubernetes or skiff, and for a value that Kubernetes refuses for a kept name.
[[nodiscard]] Result<> check_user_labels(const std::map<std::string, std::string>& wanted);
void put_user_labels(kube::Object& object, const std::map<std::string, std::string>& wanted);
/// The labels with our prefix.
[[nodiscard]] std::map<std::string, std::string> user_labels(const kube::Object& object);
/// True for a user's label whose name is kept.
[[nodiscard]] bool is_raw(std::string_view name);

/// The selector for the objects of one component that match `filter`.
[[nodiscard]] std::string selector(std::string_view component, const SandboxFilter& filter);
/// True if that selector selects the object.
[[nodiscard]] bool is_selected(const kube::Object& object, std::string_view component, const SandboxFilter& filter);

}  // namespace skiff::container::labels
