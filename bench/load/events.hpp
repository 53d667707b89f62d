#pragma once

#include <string>
#include <string_view>

namespace skiff::bench {

/// The members of an event object that the measurements read, as raw text of their JSON values, strings without their
/// quotation marks. All views point into the parsed text.
struct Event {
  std::string_view type, data, data_base64, stream, offset, exit_code, cause;
  bool has_data = false, has_base64 = false;
};

/// Parses the object in one pass, without a tree. Throws Failure if it is not a JSON object.
Event parse_event(std::string_view text);

/// Both write to `to`, which they enlarge as needed, and return the written text.
std::string_view decode_base64(std::string_view text, std::string& to);
std::string_view unescape(std::string_view text, std::string& to);

}  // namespace skiff::bench
