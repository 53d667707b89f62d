#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/load/expected.hpp"
#include "bench/load/options.hpp"

namespace skiff::bench {

/// Throws Failure when there is none of that name.
Pattern pattern_named(const std::string& name);

/// One reader of a command's output, in whatever form it comes: the bytes, each compared, and the end.
struct Stream {
  explicit Stream(PatternBlock& block) : output(block) {}

  /// Output as it is.
  void take(std::string_view bytes);
  /// One NDJSON line or JSON frame. Throws Failure on an offset, stream or type that doesn't belong there.
  void take_event(std::string_view text);

  Expected output;
  std::uint64_t messages = 0;  ///< events with output; of other forms, what the caller counts
  double first = 0;            ///< when the first byte came, in us; 0 before
  bool exited = false;         ///< with code 0

 private:
  std::string scratch_;  // decoded text of one event
};

/// Events out of pieces: what is whole is taken where it is, only what is cut is put together.
class Events {
 public:
  /// NDJSON, cut anywhere.
  void feed_lines(std::string_view piece, Stream& stream);
  /// A piece of one JSON frame, `last` with its end.
  void feed_frame(std::string_view piece, bool last, Stream& stream);

 private:
  std::string kept_;
};

}  // namespace skiff::bench
