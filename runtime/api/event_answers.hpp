#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/api/answer.hpp"
#include "runtime/api/command_answer.hpp"
#include "sessions/command.hpp"
#include "sessions/output/log.hpp"

/// The events of streams and WebSockets, each described once: `EventWriter` writes them and the documents describe them
/// by these rows.
namespace skiff::runtime::api {

/// An event about an S. In front of its rows stand `type`, the word that tells events apart, and the channel, if there
/// are several.
template <class S>
struct EventAnswer {
  std::string_view name;  ///< of its schema
  std::string_view type;
  std::string_view help;
  Answer<S> members;
};

struct StartOf {
  const sessions::Command& command;
  std::string_view instance;
};

/// A piece of one stream's output: a character that an earlier item had begun, and what follows.
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

[[nodiscard]] std::string_view stream_name(sessions::Stream stream) noexcept;

}  // namespace skiff::runtime::api
