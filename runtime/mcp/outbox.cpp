#include "runtime/mcp/outbox.hpp"

#include <algorithm>
#include <utility>

namespace skiff::runtime::mcp {

void Outbox::add(std::string text) {
  if (entries_.size() == kMost) entries_.pop_front();
  entries_.push_back({next_++, std::move(text)});
  changed.notify_all();
}

void Outbox::push(std::string text) {
  if (closed_) return;
  const bool waits =
      std::ranges::any_of(entries_, [&](const Entry& one) { return one.number > sent_ && one.text == text; });
  if (!waits) add(std::move(text));
}

void Outbox::finish(std::string text) {
  if (closed_) return;
  answered_ = true;
  add(std::move(text));
  close();
}

void Outbox::close() {
  closed_ = true;
  changed.notify_all();
}

std::size_t Outbox::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Entry& one : entries_) bytes += one.text.size();
  return bytes;
}

const Outbox::Entry* Outbox::after(std::uint64_t number) const noexcept {
  const auto found = std::ranges::find_if(entries_, [number](const Entry& one) { return one.number > number; });
  return found == entries_.end() ? nullptr : &*found;
}

}  // namespace skiff::runtime::mcp
