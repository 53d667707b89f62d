#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "runtime/api/answers/event_answers.hpp"
#include "sessions/command.hpp"
#include "sessions/output/log.hpp"

namespace skiff::runtime::api {

/// The format of events.
enum class Form : std::uint8_t {
  ndjson,      ///< one JSON object a line
  sse,         ///< server-sent events; their id is `next`
  json_frame,  ///< one JSON object, for one WebSocket text frame
};

/// Writes the items of a command's log as events. Text is never cut inside a character: up to three bytes at the end of
/// an item wait for the next item, or for `release()`.
class EventWriter {
 public:
  /// `channel` is set on a WebSocket with several commands.
  EventWriter(Form form, std::optional<std::uint32_t> channel) : form_{form}, channel_{channel} {}

  /// Appends a `started` event to `out`.
  void started(std::string& out, const sessions::Command& command, std::string_view instance);
  /// Appends no event, one or two. Each `json_frame` event ends with a newline, which JSON on one line cannot contain.
  void item(std::string& out, const sessions::LogItem& item, const sessions::OutputLog& log);
  /// Appends the bytes that are held back, as base64, because they have waited long enough or the stream is over.
  void release(std::string& out);
  [[nodiscard]] bool holding() const noexcept { return held_size_ > 0; }
  void keepalive(std::string& out) const;
  void error(std::string& out, const Error& error) const;

 private:
  void begin(std::string& out, std::string_view type, std::optional<std::uint64_t> next) const;
  void finish(std::string& out) const;
  template <class S>
  void write(std::string& out, const EventAnswer<S>& event, const S& of, std::optional<std::uint64_t> next) const;
  void output(std::string& out, std::uint64_t offset, const sessions::LogItem& item, std::string_view head,
              std::string_view body) const;

  Form form_;
  std::optional<std::uint32_t> channel_;
  std::array<char, 4> held_{};
  std::size_t held_size_ = 0;
  sessions::LogItem held_item_;  ///< offset, stream and time of the held bytes
};

/// The 24-byte header of skiff.v1.binary, big-endian: u8 version, u8 kind, u8 stream, u8 flags, u32 channel, u64
/// offset, u64 time in us.
struct BinaryHeader {
  static constexpr std::size_t kSize = 24;
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::uint8_t kOutput = 1;
  static constexpr std::uint8_t kStdin = 2;
  static constexpr std::uint8_t kLate = 1;
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

  std::uint8_t kind = kOutput;
  std::uint8_t stream = 1;
  std::uint8_t flags = 0;
  std::uint32_t channel = 0;
  std::uint64_t offset = 0;
  std::uint64_t time_us = 0;

  [[nodiscard]] std::array<char, kSize> encode() const noexcept;
  /// Errors: invalid_request for a frame that is too short or has another version.
  [[nodiscard]] static Result<BinaryHeader> decode(std::string_view frame);
};

}  // namespace skiff::runtime::api
