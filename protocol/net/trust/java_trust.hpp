#pragma once

#include <string>

#include "base/error.hpp"

namespace skiff::protocol {

/// The certificates of a PEM text as a trust store of Java: PKCS#12 without a password, each with the attribute by
/// which Java takes it for trusted. Anything else in it is left out.
[[nodiscard]] Result<std::string> java_trust_store(const std::string& pem);

}  // namespace skiff::protocol
