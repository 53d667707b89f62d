#pragma once

#include <string>
#include <string_view>

namespace skiff::protocol {

/// Checks the value of a `traceparent` field (W3C Trace Context, section 3.2) and returns it in the form of this
/// version: "00-", trace id, parent id, flags, 55 characters. From a newer version, the parts that version 00 knows are
/// kept, as the specification requires. Empty for an invalid value.
[[nodiscard]] std::string valid_traceparent(std::string_view given);

}  // namespace skiff::protocol
