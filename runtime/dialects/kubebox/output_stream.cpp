#include "runtime/dialects/kubebox/output_stream.hpp"

#include <utility>

#include "protocol/json/text.hpp"
#include "protocol/socket_io/packets.hpp"
#include "runtime/dialects/kubebox/names.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::dialects::kubebox {

using sessions::LogItem;
using sessions::Stream;

OutputStream::OutputStream(EventData names_in, std::shared_ptr<sessions::Command> command_in, sessions::Turns& turns)
    : names{std::move(names_in)}, command{std::move(command_in)}, reader_{turns, command->log(), {.lossless = true}} {}

OutputStream::Event& OutputStream::add(std::uint64_t offset, std::optional<Stream> stream) {
  return events_.emplace_back(offset, out_, err_, stream);
}

bool OutputStream::read() {
  bool begun = false;
  while (const auto item = reader_.next()) {
    if (item->kind == LogItem::Kind::exit) {
      read_exit(*item);
      return true;
    }
    const Stream stream = item->kind == LogItem::Kind::gap ? Stream::err : item->stream;
    const bool goes_on = std::exchange(begun, true) && events_.back().stream == stream;
    Event& event = goes_on ? events_.back() : add(item->offset, stream);
    if (item->kind == LogItem::Kind::gap) {
      protocol::append_json_bytes(event.text, missing_output(item->next - item->offset));
    } else {
      chunks(stream).append(event.text, item->bytes.view());
    }
  }
  return begun;
}

void OutputStream::read_exit(const LogItem& item) {
  for (const Stream stream : {Stream::out, Stream::err}) {
    if (chunks(stream).held() > 0) chunks(stream).finish(add(item.offset, stream).text);
  }
  const std::string why = why_not_started(*command->exit_status());
  if (!why.empty()) protocol::append_json_bytes(add(item.offset, Stream::err).text, why);
  add(item.offset, std::nullopt);
}

std::optional<std::string> OutputStream::next(std::uint64_t& last) {
  if (sent_ == events_.size()) return std::nullopt;
  Event& event = events_[sent_++];
  event.id = ++last;
  std::string frame;
  if (event.stream) {
    frame = protocol::socket_io::begin_event("command_output", event.id);
    frame += R"("output":")";
    frame += std::exchange(event.text, {});
    frame += '"';
    protocol::append_json_text(frame, "type", event.stream == Stream::out ? "stdout" : "stderr");
    end_event(frame, names);
  } else {
    frame = exit_event(names, python_exit_code(*command->exit_status()), event.id);
  }
  if (sent_ > kMostUnacknowledged) acknowledge(events_.front().id);
  return frame;
}

void OutputStream::acknowledge(std::uint64_t id) {
  while (sent_ > 0 && events_.front().id <= id) {
    events_.pop_front();
    --sent_;
  }
}

void OutputStream::rewind() {
  if (events_.empty()) return;
  const Event& first = events_.front();
  out_ = first.out;
  err_ = first.err;
  reader_.rewind(first.offset);
  events_.clear();
  sent_ = 0;
}

}  // namespace skiff::runtime::dialects::kubebox
