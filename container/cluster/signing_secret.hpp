#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "container/agent/signing_key.hpp"
#include "container/kube/objects/object.hpp"

/// The Secret with the keys of a namespace, and the keys in Pods. This file sends no requests.
namespace skiff::container {

/// "skiff-signing-key".
[[nodiscard]] std::string signing_secret_name(std::string_view prefix);

/// `invalid_field` if the Secret contains something else.
[[nodiscard]] Result<SigningKeys> read_signing_secret(const kube::Object& secret);
/// The keys as `data` of the Secret, for a merge patch: entries that are to be removed are null.
[[nodiscard]] Result<nlohmann::json> signing_secret_data(const SigningKeys& keys);

/// The public key in the configuration of a Pod's agent (SKIFF_PUBLIC_KEY); empty if there is none.
[[nodiscard]] std::string configured_key(const kube::Object& pod);

}  // namespace skiff::container
