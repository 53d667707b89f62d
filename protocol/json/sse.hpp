#pragma once

#include <string>
#include <string_view>

/// Server-sent events (WHATWG HTML, section 9.2), appended to a buffer that becomes a part of the response.
namespace skiff::protocol {

inline constexpr std::string_view kEventStreamType = "text/event-stream";

/// Appends one record. Empty `id` and `event` are left out; a line break in them, which would forge a field, is dropped
/// with the text after it. `data` goes on one `data:` line, or on several if it has line breaks, as the standard says.
void append_sse(std::string& out, std::string_view id, std::string_view event, std::string_view data);

/// Appends the text before `data`; kSseTail is the text after it. For `data` of one line that is sent without a copy.
void append_sse_head(std::string& out, std::string_view id, std::string_view event);
inline constexpr std::string_view kSseTail = "\n\n";

/// A comment line: a client ignores it, a proxy sees traffic.
inline constexpr std::string_view kSseKeepalive = ": keepalive\n\n";

}  // namespace skiff::protocol
