#include "container/egress/terminate/scrubber.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skiff::container::egress {
namespace {

constexpr char kMask = '*';

std::vector<std::size_t> borders_of(std::string_view text) {
  std::vector<std::size_t> borders(text.size() + 1, 0);
  for (std::size_t i = 1, border = 0; i < text.size(); ++i) {
    while (border > 0 && text[i] != text[border]) border = borders[border];
    if (text[i] == text[border]) ++border;
    borders[i + 1] = border;
  }
  return borders;
}

}  // namespace

Scrubber::Scrubber(std::vector<std::string> texts) {
  for (std::string& text : texts) {
    auto borders = borders_of(text);
    searches_.push_back({.text = std::move(text), .borders = std::move(borders)});
  }
}

bool Scrubber::has_nothing(std::string_view bytes) {
  bool nothing = true;
  for (Search& one : searches_) {
    if (::memmem(bytes.data(), bytes.size(), one.text.data(), one.text.size()) != nullptr) return false;
    search(one, bytes.substr(bytes.size() - std::min(bytes.size(), one.text.size() - 1)), 0);
    nothing = nothing && std::exchange(one.found, 0) == 0;
  }
  return nothing;
}

std::string_view Scrubber::pass(std::string_view bytes) {
  bytes_.erase(0, std::exchange(passed_, 0));
  // Most bytes have nothing to mask, and are not copied.
  if (bytes_.empty() && has_nothing(bytes)) return bytes;
  const std::size_t kept = bytes_.size();
  bytes_ += bytes;
  std::size_t keep = 0;
  for (Search& one : searches_) {
    search(one, bytes, kept);
    keep = std::max(keep, one.found);
  }
  passed_ = bytes_.size() - keep;
  return std::string_view{bytes_}.substr(0, passed_);
}

void Scrubber::search(Search& one, std::string_view bytes, std::size_t kept) {
  const std::string& text = one.text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (one.found == 0) {
      i = bytes.find(text.front(), i);
      if (i == std::string_view::npos) return;
    }
    while (one.found > 0 && text[one.found] != bytes[i]) one.found = one.borders[one.found];
    if (text[one.found] == bytes[i]) ++one.found;
    if (one.found < text.size()) continue;
    std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(kept + i + 1 - text.size()), text.size(), kMask);
    one.found = one.borders[one.found];
    ++masked_;
  }
}

std::string_view Scrubber::rest() {
  bytes_.erase(0, std::exchange(passed_, 0));
  for (Search& one : searches_) one.found = 0;
  passed_ = bytes_.size();
  return bytes_;
}

std::string scrubbed(std::string_view whole, const std::vector<std::string>& texts) {
  Scrubber scrubber{texts};
  std::string text{scrubber.pass(whole)};
  text += scrubber.rest();
  return text;
}

}  // namespace skiff::container::egress
