#include "runtime/api/answers/event_answers.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::LogItem;
using sessions::OutputTotals;

struct Checksums {
  const std::string& out;
  const std::string& err;
};

const Answer<Checksums>& checksums_answer() {
  static const Answer<Checksums> answer{"Checksums",
                                        {{"stdout", [](const Checksums& sums) { return std::string_view{sums.out}; }},
                                         {"stderr", [](const Checksums& sums) { return std::string_view{sums.err}; }}}};
  return answer;
}

}  // namespace

std::string_view stream_name(sessions::Stream stream) noexcept {
  return stream == sessions::Stream::out ? "stdout" : "stderr";
}

const EventAnswer<StartOf>& started_event() {
  static const EventAnswer<StartOf> event{
      .name = "StartedEvent",
      .type = "started",
      .help = "The command was started. It is the first event on a stream that starts a command.",
      .members = {
          {},
          {{"id", [](const StartOf& of) { return Id{of.command.id()}; }, "Id of the command"},
           {"session", [](const StartOf& of) { return Id{of.command.session()}; }},
           {"pid",
            [](const StartOf& of) {
              const pid_t pid = of.command.pid();
              return pid > 0 ? std::optional{static_cast<std::uint64_t>(pid)} : std::nullopt;
            },
            "Pid of the main process; absent if it could not start"},
           {"instance", [](const StartOf& of) { return Id{of.instance}; }, "Instance of the agent; new at each start"},
           {"started_at", [](const StartOf& of) { return of.command.started_at(); }}}}};
  return event;
}

const EventAnswer<OutputOf>& output_event() {
  static const EventAnswer<OutputOf> event{
      .name = "OutputEvent",
      .type = "output",
      .help =
          "Output of the command, as exactly one of data and data_base64. With skiff.v1.binary it is a binary frame.",
      .members = {
          {},
          {{"offset", [](const OutputOf& of) { return of.offset; },
            "Offset of the first byte; both streams are counted together, from 0"},
           {"next", [](const OutputOf& of) -> std::uint64_t { return of.offset + of.begun.size() + of.bytes.size(); },
            "Offset after the last byte: continue with from="},
           {"stream",
            [](const OutputOf& of) { return stream_name(of.item.stream); },
            {},
            [] { return named("OutputStream", one_of({"stdout", "stderr"})); }},
           {"time", [](const OutputOf& of) { return of.item.time; }, "Time when the agent read it"},
           {"late", [](const OutputOf& of) { return of.item.late ? std::optional{true} : std::nullopt; },
            "true: written after the exit, by a background process"},
           {"data",
            [](const OutputOf& of) {
              return of.is_text ? std::optional{PiecesOfText{of.begun, of.bytes}} : std::nullopt;
            },
            "Text, never cut inside a character"},
           {"data_base64",
            [](const OutputOf& of) { return of.is_text ? std::nullopt : std::optional{Bytes{of.bytes, of.begun}}; },
            "Bytes that are not UTF-8"}}}};
  return event;
}

const EventAnswer<LogItem>& gap_event() {
  static const EventAnswer<LogItem> event{
      .name = "GapEvent",
      .type = "gap",
      .help = "Output that was dropped or is no longer kept.",
      .members = {{},
                  {{"from", [](const LogItem& gap) { return gap.offset; }, "First missing offset"},
                   {"to", [](const LogItem& gap) { return gap.next; }, "Offset after the last missing one"}}}};
  return event;
}

const EventAnswer<sessions::ExitStatus>& exit_event() {
  static const EventAnswer<sessions::ExitStatus> event{
      .name = "ExitEvent",
      .type = "exit",
      .help =
          "The command's main process has ended and its output was read; the last event, unless the client asked for "
          "until=end.",
      .members = exit_answer()};
  return event;
}

const EventAnswer<OutputTotals>& end_event() {
  static const EventAnswer<OutputTotals> event{
      .name = "EndEvent",
      .type = "end",
      .help = "All pipes of the command are closed: nothing can follow.",
      .members = {
          {},
          {{"bytes", [](const OutputTotals& totals) { return MadePart<&per_stream_answer>{{totals.out, totals.err}}; },
            "Bytes that the command wrote, by stream"},
           {"sha256",
            [](const OutputTotals& totals) {
              using Sums = MadePart<&checksums_answer>;
              return totals.out_sha256.empty() ? std::nullopt
                                               : std::optional<Sums>{Sums{{totals.out_sha256, totals.err_sha256}}};
            },
            "With output.checksum: SHA-256 of each stream, in lower-case hex"}}}};
  return event;
}

const EventAnswer<Error>& error_event() {
  static const EventAnswer<Error> event{
      .name = "ErrorEvent",
      .type = "error",
      .help = "A request could not be carried out; the stream continues if possible.",
      .members = {
          {},
          {{"code", [](const Error& error) { return name(error.code); }, "Error code, as in a problem document"},
           {"detail", [](const Error& error) { return std::string_view{error.message}; },
            "What failed: the operation and its object"},
           {"field",
            [](const Error& error) {
              return error.field.empty() ? std::nullopt : std::optional<std::string_view>{error.field};
            },
            "JSON pointer to the invalid input"}}}};
  return event;
}

const EventAnswer<std::string_view>& pong_event() {
  static const EventAnswer<std::string_view> event{
      .name = "PongEvent",
      .type = "pong",
      .help = "The answer to a ping.",
      .members = {{}, {{"data", [](const std::string_view& data) { return data; }, "Data of the ping"}}}};
  return event;
}

const EventAnswer<Nothing>& detached_event() {
  static const EventAnswer<Nothing> event{.name = "DetachedEvent",
                                          .type = "detached",
                                          .help = "On /v1/connect: the channel is closed, its command continues.",
                                          .members = {{}, {}},
                                          .channel = OnChannel::always};
  return event;
}

const EventAnswer<Nothing>& keepalive_event() {
  static const EventAnswer<Nothing> event{.name = "KeepaliveEvent",
                                          .type = "keepalive",
                                          .help =
                                              "Nothing happened for the time of --keepalive. NDJSON only: SSE has a "
                                              "comment line instead, and WebSockets are pinged.",
                                          .members = {{}, {}},
                                          .channel = OnChannel::never};
  return event;
}

void append_event_head(std::string& out, std::string_view type, std::optional<std::uint32_t> channel) {
  out += R"({"type":")";
  out += type;
  out += '"';
  if (channel) protocol::append_json_number(out, "channel", *channel);
}

}  // namespace skiff::runtime::api
