#pragma once

#include <string>
#include <string_view>

namespace skiff::protocol {

/// The value of a `traceparent` field (W3C Trace Context, section 3.2), checked and as this version of the format
/// writes it: "00-", trace id, parent id, flags, 55 characters. Of a newer version what version 00 knows of it is kept,
/// as the specification wants. Empty for anything else: a trace that can't be read is none.
[[nodiscard]] std::string valid_traceparent(std::string_view given);

}  // namespace skiff::protocol
