#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/answers/command_answer.hpp"
#include "sessions/command.hpp"
#include "sessions/output/log.hpp"

/// The events of streams and WebSockets. The same rows write an event and describe it in the documents.
namespace skiff::runtime::api {

/// Whether an event names its channel of the connection.
enum class OnChannel : std::uint8_t { where_there_are_several, always, never };

/// An event with the source type S. Before its rows it has the member `type`, which names the kind of event, and the
/// channel.
template <class S>
struct EventAnswer {
  std::string_view name;  ///< name of its schema
  std::string_view type;
  std::string_view help;
  Answer<S> members;
  OnChannel channel = OnChannel::where_there_are_several;
};

/// The source of an event without members.
struct Nothing {};

struct StartOf {
  const sessions::Command& command;
  std::string_view instance;
};

/// A piece of one stream's output: the character that an earlier item began, and the bytes after it.
struct OutputOf {
  const sessions::LogItem& item;
  std::uint64_t offset;
  std::string_view begun;
  std::string_view bytes;
  bool is_text;
};

[[nodiscard]] const EventAnswer<StartOf>& started_event();
[[nodiscard]] const EventAnswer<OutputOf>& output_event();
[[nodiscard]] const EventAnswer<sessions::LogItem>& gap_event();
[[nodiscard]] const EventAnswer<sessions::ExitStatus>& exit_event();
[[nodiscard]] const EventAnswer<sessions::OutputTotals>& end_event();
[[nodiscard]] const EventAnswer<Error>& error_event();
/// The answer to a ping, whose `data` it repeats.
[[nodiscard]] const EventAnswer<std::string_view>& pong_event();

/// The channel is closed and its command continues.
[[nodiscard]] const EventAnswer<Nothing>& detached_event();
[[nodiscard]] const EventAnswer<Nothing>& keepalive_event();

/// Appends the beginning of an event: the brace and the members before its rows.
void append_event_head(std::string& out, std::string_view type, std::optional<std::uint32_t> channel);

/// The whole event on one line.
template <class S>
[[nodiscard]] std::string event_text(const EventAnswer<S>& event, const S& of,
                                     std::optional<std::uint32_t> channel = {}) {
  std::string text;
  append_event_head(text, event.type, channel);
  event.members.append_members(text, of);
  text += '}';
  return text;
}

[[nodiscard]] std::string_view stream_name(sessions::Stream stream) noexcept;

}  // namespace skiff::runtime::api
