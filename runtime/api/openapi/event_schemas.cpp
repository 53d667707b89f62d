#include "runtime/api/openapi/event_schemas.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/api/event_answers.hpp"
#include "runtime/api/files/watch_route.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::SchemaRef;

const Member kChannel{"channel", kCount, false, "On /v1/connect: the number that the client gave the command"};

/// `type` first, which tells events apart.
SchemaRef event(std::string_view name, std::string_view type, std::string_view help, std::vector<Member> members) {
  members.insert(members.begin(), {"type", one_of({type})});
  return {.name = std::string{name}, .json = object(members, help)};
}

template <class S>
SchemaRef event(const EventAnswer<S>& answer) {
  std::vector<Member> members = answer.members.members();
  members.insert(members.begin(), kChannel);
  return event(answer.name, answer.type, answer.help, std::move(members));
}

SchemaRef keepalive() {
  return event("KeepaliveEvent", "keepalive",
               "Nothing happened for as long as --keepalive says. NDJSON only: in SSE it is a comment line, and "
               "WebSockets are pinged.",
               {});
}

/// What a log gives, in every form.
Schemas log_events() {
  return {event(started_event()), event(output_event()), event(gap_event()),
          event(exit_event()),    event(end_event()),    event(error_event())};
}

const Member kRecordPath{"path", kText, false, "From the session's root, as it was asked for"};
const Member kRecordBytes{"path_base64", kText, false, "Instead of path, where that is not UTF-8"};

}  // namespace

Schemas stream_events() {
  Schemas all = log_events();
  all.push_back(keepalive());
  return all;
}

Schemas server_messages() {
  Schemas all = log_events();
  all.push_back(event(pong_event()));
  all.push_back(event("DetachedEvent", "detached", "On /v1/connect: the channel is closed, its command goes on.",
                      {{"channel", kCount}}));
  return all;
}

Schemas glob_records() {
  return {{.name = "GlobMatch",
           .json = object({kRecordPath, kRecordBytes, {"type", one_of({"file", "directory", "symlink", "other"})}},
                          "A path that matches.")},
          event("GlobSummary", "summary", "The last line.",
                {{"matches", kCount},
                 {"unreadable", kCount, true, "Directories that could not be looked into"},
                 {"truncated", kFlag, true, "There are more matches than the limit"}})};
}

Schemas grep_records() {
  return {{.name = "GrepMatch",
           .json = object({kRecordPath,
                           kRecordBytes,
                           {"line_number", kCount, true, "From 1"},
                           {"column", kCount, true, "Of the match's first byte in the line, from 1"},
                           {"text", kText, false, "The line without its end"},
                           {"text_base64", kText, false, "Instead of text, where that is not UTF-8"},
                           {"text_column", kCount, false, "Of a line that was cut: the column where text begins"},
                           {"cut", kFlag, false, "true: the line is too long, text is the part around the match"},
                           {"before", kTexts, false, "Lines before it, as many as were asked for"},
                           {"after", kTexts, false, "Lines behind it"}},
                          "A line that matches.")},
          event("GrepSummary", "summary", "The last line.",
                {{"files", kCount, true, "With a match"},
                 {"matches", kCount},
                 {"searched", kCount, true, "Files that were searched"},
                 {"unreadable", kCount, true, "Files and directories that could not be opened"},
                 {"too_large", kCount, true, "Files that were left out for their size"},
                 {"truncated", kFlag, true, "There are more matches than the limit"}})};
}

Schemas watch_events() {
  return {{.name = "WatchingEvent",
           .json = object(watching_answer().members(), "The first: what happens from here on is told.")},
          {.name = "ChangeEvent", .json = object(change_answer().members(), "A change below the directory.")}};
}

SchemaRef event_schema() {
  return {
      .name = "Event",
      .json = merged_components(stream_events(), "EventType", "A line of NDJSON, or the data of a server-sent event.")};
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
