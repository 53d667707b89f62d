#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/load/expected.hpp"
#include "bench/load/options.hpp"

namespace skiff::bench {

/// Throws Failure when no pattern has that name.
Pattern pattern_named(const std::string& name);

/// One reader of a command's output, in any form: it compares the bytes and checks the end.
struct Stream {
  explicit Stream(PatternBlock& block) : output(block) {}

  /// Takes raw output.
  void take(std::string_view bytes);
  /// Takes one NDJSON line or JSON frame. Throws Failure on a wrong offset, stream or type.
  void take_event(std::string_view text);

  Expected output;
  std::uint64_t messages = 0;  ///< events with output; for other forms, the caller's count
  double first = 0;            ///< time of the first byte, in us; 0 before it
  bool exited = false;         ///< the command has exited with code 0

 private:
  std::string scratch_;  // decoded text of one event
};

/// Splits events that arrive in pieces: whole events are parsed in place, only cut ones are copied.
class Events {
 public:
  /// Takes NDJSON, cut anywhere.
  void feed_lines(std::string_view piece, Stream& stream);
  /// Takes a piece of one JSON frame; `last` marks its end.
  void feed_frame(std::string_view piece, bool last, Stream& stream);

 private:
  std::string kept_;
};

}  // namespace skiff::bench
