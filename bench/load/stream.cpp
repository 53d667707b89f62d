#include "bench/load/stream.hpp"

#include <charconv>

#include "bench/load/events.hpp"
#include "bench/load/socket.hpp"

namespace skiff::bench {

Pattern pattern_named(const std::string& name) {
  if (name == "bytes" || name == "text") {
    return name == "bytes" ? kPatternBytes : kPatternText;
  }
  if (name == "lines" || name == "zero") {
    return name == "lines" ? kPatternShort : kPatternZero;
  }
  throw Failure("no such pattern: " + name);
}

void Stream::take(std::string_view bytes) {
  first = first == 0 ? now_us() : first;
  output.check(bytes);
}

void Stream::take_event(std::string_view text) {
  const Event event = parse_event(text);
  if (event.type == "output") {
    std::uint64_t offset = 0;
    std::from_chars(event.offset.data(), event.offset.data() + event.offset.size(), offset);
    if (event.stream != "stdout" || event.has_data == event.has_base64 || offset != output.offset()) {
      throw Failure("an output event with a wrong stream, offset or data: " + std::string(text.substr(0, 300)));
    }
    take(event.has_base64 ? decode_base64(event.data_base64, scratch_) : unescape(event.data, scratch_));
    ++messages;
  } else if (event.type == "exit") {
    exited = event.exit_code == "0" && event.cause == "exited";
  } else if (event.type != "started" && event.type != "keepalive" && event.type != "end") {
    throw Failure("an event that doesn't belong here: " + std::string(text.substr(0, 300)));
  }
}

void Events::feed_lines(std::string_view piece, Stream& stream) {
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    feed_frame(piece.substr(0, end), true, stream);
    piece.remove_prefix(end + 1);
  }
  kept_.append(piece);
}

void Events::feed_frame(std::string_view piece, bool last, Stream& stream) {
  if (last && kept_.empty()) {
    stream.take_event(piece);
    return;
  }
  kept_.append(piece);
  if (last) {
    stream.take_event(kept_);
    kept_.clear();
  }
}

}  // namespace skiff::bench
