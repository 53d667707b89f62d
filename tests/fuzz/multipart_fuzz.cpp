#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/http/multipart/parser.hpp"

namespace {

using skiff::protocol::MultipartParser;

struct Read {
  std::string events;  // one letter each
  std::string bytes;
  bool operator==(const Read&) const = default;
};

/// What a body says when no more than `piece` bytes come at once.
Read read(std::string_view body, std::size_t piece) {
  MultipartParser parser{"b"};
  Read read;
  std::string held;
  for (;;) {
    const auto step = parser.next(held);
    if (!step) {
      read.events += 'x';
      return read;
    }
    if (step->used > held.size() || step->bytes.size() > step->used) std::abort();
    // So much is enough to go on with.
    if (step->used == 0 && step->event == MultipartParser::Event::more && held.size() >= MultipartParser::kWindow) {
      std::abort();
    }
    switch (step->event) {
      case MultipartParser::Event::part:
        read.events += 'p' + parser.head().name + parser.head().filename.value_or("");
        break;
      case MultipartParser::Event::part_end:
        read.events += 'e';
        break;
      case MultipartParser::Event::data:
        read.bytes += step->bytes;
        break;
      case MultipartParser::Event::end:
        read.events += '.';
        return read;
      case MultipartParser::Event::more:
        break;
    }
    held.erase(0, step->used);
    if (step->used > 0) continue;
    if (body.empty()) return read;
    held += body.substr(0, piece);
    body.remove_prefix(std::min(piece, body.size()));
  }
}

}  // namespace

/// A body says the same however it is cut into pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  (void)skiff::protocol::multipart_boundary(text);
  const Read whole = read(text, size + 1);
  if (read(text, 1) != whole || read(text, 7) != whole) std::abort();
  return 0;
}
