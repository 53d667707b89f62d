#include "runtime/api/openapi/event_schemas.hpp"

#include "runtime/api/answers/event_answers.hpp"
#include "runtime/api/files/search/search_records.hpp"
#include "runtime/api/files/watch_route.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::SchemaRef;

/// The schema of an event. Its first member `type` names the kind of event.
template <class S>
SchemaRef event(const EventAnswer<S>& answer) {
  std::vector<Member> head{{"type", one_of({answer.type})}};
  if (answer.channel == OnChannel::always) head.push_back({"channel", kCount});
  if (answer.channel == OnChannel::where_there_are_several) {
    head.push_back({"channel", kCount, false, "On /v1/connect: the number that the client gave the command"});
  }
  std::vector<Member> members = answer.members.members();
  members.insert(members.begin(), head.begin(), head.end());
  return {.name = std::string{answer.name}, .json = object(members, answer.help)};
}

template <class S>
SchemaRef record(const Answer<S>& answer, std::string_view help) {
  return {.name = answer.schema().name, .json = object(answer.members(), help)};
}

/// The events of a command's log in all formats.
Schemas log_events() {
  return {event(started_event()), event(output_event()), event(gap_event()),
          event(exit_event()),    event(end_event()),    event(error_event())};
}

}  // namespace

Schemas stream_events() {
  Schemas all = log_events();
  all.push_back(event(keepalive_event()));
  return all;
}

Schemas server_messages() {
  Schemas all = log_events();
  all.push_back(event(pong_event()));
  all.push_back(event(detached_event()));
  return all;
}

Schemas glob_records() {
  return {record(glob_match_answer(), "A path that matches."), event(glob_summary())};
}

Schemas grep_records() {
  return {record(grep_match_answer(), "A line that matches."), event(grep_summary())};
}

Schemas watch_events() {
  return {record(watching_answer(), "The first event: later changes are reported."),
          record(change_answer(), "A change below the directory.")};
}

SchemaRef event_schema() {
  return {
      .name = "Event",
      .json = merged_components(stream_events(), "EventType", "A line of NDJSON, or the data of a server-sent event.")};
}

SchemaRef code_event_schema() {
  return {.name = "CodeEvent",
          .json = object({{"type", named("CodeEventType", one_of({"started", "stdout", "stderr", "result", "error",
                                                                  "end", "keepalive"}))},
                          {"context", kId, false, "started: id of the context"},
                          {"fresh", kFlag, false, "started: the context was started for this call"},
                          {"text", kText, false, "stdout, stderr: what was printed; result: the repr of the value"},
                          {"timestamp", kTime, false, "stdout, stderr: when it was read"},
                          {"html", kText, false, "result: further forms of the value; see CodeResult"},
                          {"png", kText, false, "result: in base64"},
                          {"is_main_result", kFlag, false, "result: it is the value of the last expression"},
                          {"name", kText, false, "error: its class"},
                          {"value", kText, false, "error: its message"},
                          {"traceback", kText, false, "error: where it came from"},
                          {"execution_count", kCount, false, "end: calls in this context since it was started"},
                          {"cause", kText, false, "end: as in CodeAnswer"}},
                         "A line of NDJSON of code that runs.")};
}

SchemaRef glob_record_schema() {
  return {.name = "GlobRecord", .json = merged_components(glob_records(), "GlobRecordType", "A line of files:glob.")};
}

SchemaRef grep_record_schema() {
  return {.name = "GrepRecord", .json = merged_components(grep_records(), "GrepRecordType", "A line of files:grep.")};
}

SchemaRef watch_event_schema() {
  return {.name = "WatchEvent",
          .json = merged_components(watch_events(), "WatchEventType", "The data of an event of files:watch.")};
}

}  // namespace skiff::runtime::api
