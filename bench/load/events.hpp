#pragma once

#include <string>
#include <string_view>

namespace skiff::bench {

/// The members of one event object that the measurements look at; raw text of their JSON values, strings without their
/// quotation marks. Everything points into the parsed text.
struct Event {
  std::string_view type, data, data_base64, stream, offset, exit_code, cause;
  bool has_data = false, has_base64 = false;
};

/// Walks over the object once, without a tree. Throws Failure on what isn't a JSON object.
Event parse_event(std::string_view text);

/// Both write to `to`, which is made as large as needed, and return what they wrote.
std::string_view decode_base64(std::string_view text, std::string& to);
std::string_view unescape(std::string_view text, std::string& to);

}  // namespace skiff::bench
