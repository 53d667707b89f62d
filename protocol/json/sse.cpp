#include "protocol/json/sse.hpp"

namespace skiff::protocol {
namespace {

/// Appends a field on one line: text after a line break would be another field, and a NUL makes a client ignore an id.
void append_field(std::string& out, std::string_view name, std::string_view value) {
  value = value.substr(0, value.find_first_of(std::string_view{"\r\n\0", 3}));
  if (value.empty()) return;
  out += name;
  out += value;
  out += '\n';
}

}  // namespace

void append_sse_head(std::string& out, std::string_view id, std::string_view event) {
  append_field(out, "id: ", id);
  append_field(out, "event: ", event);
  out += "data: ";
}

void append_sse(std::string& out, std::string_view id, std::string_view event, std::string_view data) {
  append_sse_head(out, id, event);
  while (true) {
    const std::size_t end = data.find_first_of("\r\n");
    out += data.substr(0, end);
    if (end == std::string_view::npos) break;
    const bool pair = data.substr(end).starts_with("\r\n");
    data.remove_prefix(end + (pair ? 2 : 1));
    out += "\ndata: ";
  }
  out += kSseTail;
}

}  // namespace skiff::protocol
