#pragma once

#include <string>
#include <string_view>

/// Server-sent events (WHATWG HTML, section 9.2): appended to a buffer that becomes a piece of the response.
namespace skiff::protocol {

inline constexpr std::string_view kEventStreamType = "text/event-stream";

/// Appends one record. Empty `id` and `event` are left out; a line break inside them, which would forge a field, is
/// dropped with all that follows it. `data` goes on one `data:` line; if it has line breaks, on several, as the
/// standard says.
void append_sse(std::string& out, std::string_view id, std::string_view event, std::string_view data);

/// What goes before and behind `data` when that is one line and is sent from where it lies, without a copy.
void append_sse_head(std::string& out, std::string_view id, std::string_view event);
inline constexpr std::string_view kSseTail = "\n\n";

/// A comment line: a client ignores it, a proxy sees traffic.
inline constexpr std::string_view kSseKeepalive = ": keepalive\n\n";

}  // namespace skiff::protocol
