#include "runtime/dialects/kubebox/streams.hpp"

#include <algorithm>
#include <utility>

namespace skiff::runtime::dialects::kubebox {

OutputStream::OutputStream(std::string session_in, std::uint64_t process_in,
                           std::shared_ptr<sessions::Command> command_in)
    : session{std::move(session_in)},
      process{process_in},
      command{std::move(command_in)},
      cursor{command->log(), {.from = 0, .only = {}, .lossless = true}} {}

void OutputStream::sent(std::uint64_t id, std::uint64_t offset) {
  if (unacknowledged_.size() >= kMostUnacknowledged) unacknowledged_.pop_front();
  unacknowledged_.push_back({id, offset, out, err});
}

void OutputStream::acknowledge(std::uint64_t id) {
  while (!unacknowledged_.empty() && unacknowledged_.front().id <= id) unacknowledged_.pop_front();
}

void OutputStream::rewind() {
  if (unacknowledged_.empty()) return;
  const Sent& first = unacknowledged_.front();
  out = first.out;
  err = first.err;
  cursor = sessions::Cursor{command->log(), {.from = first.offset, .only = {}, .lossless = true}};
  told_exit = false;
  unacknowledged_.clear();
}

WaitingStreams::WaitingStreams(Executor executor) : found_dead_{executor}, expiry_{executor, [this] { drop_old(); }} {}

void WaitingStreams::found_dead(std::uint64_t number) {
  dead_ = number;
  found_dead_.notify_all();
}

Task<> WaitingStreams::older_found_dead(std::uint64_t number) {
  do {
    co_await found_dead_.wait();
  } while (dead_ >= number);
}

void WaitingStreams::add(std::shared_ptr<OutputStream> stream, std::string host) {
  if (entries_.size() >= kMost) entries_.pop_front();
  entries_.push_back({std::move(stream), std::move(host), std::chrono::steady_clock::now() + kPatience});
  if (entries_.size() == 1) expiry_.expires_after(kPatience);
}

std::shared_ptr<OutputStream> WaitingStreams::take(const sessions::Command& command) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& one) { return one.stream->command.get() == &command; });
  if (found == entries_.end()) return nullptr;
  auto stream = std::move(found->stream);
  entries_.erase(found);
  return stream;
}

std::vector<std::shared_ptr<OutputStream>> WaitingStreams::take_of(std::string_view host) {
  std::vector<std::shared_ptr<OutputStream>> streams;
  if (host.empty()) return streams;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->host != host) {
      ++entry;
      continue;
    }
    streams.push_back(std::move(entry->stream));
    entry = entries_.erase(entry);
  }
  return streams;
}

void WaitingStreams::drop_old() {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::erase_if(entries_, [now](const Entry& one) { return one.until <= now; });
  if (entries_.empty()) return;
  expiry_.expires_after(std::chrono::ceil<std::chrono::milliseconds>(entries_.front().until - now));
}

}  // namespace skiff::runtime::dialects::kubebox
