#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "container/agent/signing_key.hpp"
#include "container/kube/object.hpp"

/// The Secret that holds the keys of a namespace, and what Pods say of them. Nothing here talks to the API server.
namespace skiff::container {

/// "skiff-signing-key".
[[nodiscard]] std::string signing_secret_name(std::string_view prefix);

/// `invalid_field` when it holds something else.
[[nodiscard]] Result<SigningKeys> read_signing_secret(const kube::Object& secret);
/// The same as the `data` of the Secret; what it has no more is null, for a merge patch.
[[nodiscard]] Result<nlohmann::json> signing_secret_data(const SigningKeys& keys);

/// What the agent of a Pod was told to verify tokens with (SKIFF_PUBLIC_KEY); empty when the Pod does not say.
[[nodiscard]] std::string configured_key(const kube::Object& pod);

}  // namespace skiff::container
