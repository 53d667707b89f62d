#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "container/egress/terminate/scrubber.hpp"

/// The bytes are two texts and a stream in which they are looked for. No piece by piece way gives another result than
/// the whole, lengths stay, and neither text is left.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::container::egress;
  if (size < 4) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const std::size_t first = 1 + static_cast<std::size_t>(data[0] % 8U);
  const std::size_t second = 1 + static_cast<std::size_t>(data[1] % 8U);
  const std::size_t piece = 1 + static_cast<std::size_t>(data[2] % 16U);
  const std::vector<std::string> texts{std::string{bytes.substr(3, first)},
                                       std::string{bytes.substr(size - std::min(size, second))}};
  const std::string_view whole = bytes.substr(3);
  const std::string once = scrubbed(whole, texts);
  if (once.size() != whole.size()) std::abort();
  for (const std::string& text : texts) {
    // A text of stars is its own mask.
    if (text.find_first_not_of('*') != std::string::npos && !text.contains('*') && once.contains(text)) std::abort();
  }
  Scrubber scrubber{texts};
  std::string all;
  for (std::size_t at = 0; at < whole.size(); at += piece) all += scrubber.pass(whole.substr(at, piece));
  all += scrubber.rest();
  if (all != once) std::abort();
  return 0;
}
