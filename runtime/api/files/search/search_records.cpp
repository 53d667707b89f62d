#include "runtime/api/files/search/search_records.hpp"

namespace skiff::runtime::api {
namespace {

using fs::GlobMatch;
using fs::GlobSummary;
using fs::GrepMatch;
using fs::GrepSummary;
using fs::WalkEntry;

constexpr std::string_view kPathHelp = "Path below the session's root, in the form of the requested path";
constexpr std::string_view kPathBytesHelp = "Replaces path if that is not UTF-8";
constexpr std::string_view kTruncatedHelp =
    "true: there may be more matches: the limit was reached, or the search was stopped";

std::string_view word(WalkEntry::Kind kind) {
  switch (kind) {
    case WalkEntry::Kind::file:
      return "file";
    case WalkEntry::Kind::directory:
      return "directory";
    case WalkEntry::Kind::link:
      return "symlink";
    case WalkEntry::Kind::other:
      break;
  }
  return "other";
}

/// The lines; null if there are none.
const std::vector<std::string>* lines(const std::vector<std::string>& some) {
  return some.empty() ? nullptr : &some;
}

}  // namespace

const Answer<GlobMatch>& glob_match_answer() {
  static const Answer<GlobMatch> answer{
      "GlobMatch",
      {{"path", [](const GlobMatch& match) { return text_of(match.path); }, kPathHelp},
       {"path_base64", [](const GlobMatch& match) { return bytes_of(match.path); }, kPathBytesHelp},
       {"type",
        [](const GlobMatch& match) { return word(match.kind); },
        {},
        [] { return one_of({"file", "directory", "symlink", "other"}); }}}};
  return answer;
}

const EventAnswer<GlobSummary>& glob_summary() {
  static const EventAnswer<GlobSummary> event{
      .name = "GlobSummary",
      .type = "summary",
      .help = "The last line, a summary.",
      .members = {{},
                  {{"matches", [](const GlobSummary& of) { return of.matches; }},
                   {"unreadable", [](const GlobSummary& of) { return of.unreadable; },
                    "Directories that could not be read"},
                   {"truncated", [](const GlobSummary& of) { return of.truncated; }, kTruncatedHelp}}},
      .channel = OnChannel::never};
  return event;
}

const Answer<GrepMatch>& grep_match_answer() {
  static const Answer<GrepMatch> answer{
      "GrepMatch",
      {{"path", [](const GrepMatch& match) { return text_of(match.path); }, kPathHelp},
       {"path_base64", [](const GrepMatch& match) { return bytes_of(match.path); }, kPathBytesHelp},
       {"line_number", [](const GrepMatch& match) { return match.line.line_number; }, "Number of the line, from 1"},
       {"column", [](const GrepMatch& match) { return match.line.column; },
        "Position of the match's first byte in the line, from 1"},
       {"text", [](const GrepMatch& match) { return text_of(match.line.text); }, "Line without its end"},
       {"text_base64", [](const GrepMatch& match) { return bytes_of(match.line.text); },
        "Replaces text if that is not UTF-8"},
       {"text_column",
        [](const GrepMatch& match) { return match.line.cut ? std::optional{match.line.text_column} : std::nullopt; },
        "With cut: column where text begins"},
       {"cut", [](const GrepMatch& match) { return match.line.cut ? std::optional{true} : std::nullopt; },
        "true: the line is too long, and text is the part around the match"},
       {"before", [](const GrepMatch& match) { return lines(match.line.before); },
        "Lines before the match, as many as requested"},
       {"after", [](const GrepMatch& match) { return lines(match.line.after); },
        "Lines after the match, as many as requested"}}};
  return answer;
}

const EventAnswer<GrepSummary>& grep_summary() {
  static const EventAnswer<GrepSummary> event{
      .name = "GrepSummary",
      .type = "summary",
      .help = "The last line, a summary.",
      .members = {{},
                  {{"files", [](const GrepSummary& of) { return of.files; }, "Files with a match"},
                   {"matches", [](const GrepSummary& of) { return of.matches; }},
                   {"searched", [](const GrepSummary& of) { return of.searched; },
                    "Files that were searched, to their end or until the search stopped"},
                   {"unreadable", [](const GrepSummary& of) { return of.unreadable; },
                    "Files and directories that could not be read"},
                   {"too_large", [](const GrepSummary& of) { return of.too_large; },
                    "Files that were skipped because of their size"},
                   {"binary", [](const GrepSummary& of) { return of.binary; },
                    "Files that were skipped because of a zero byte: binary ones, and texts in UTF-16"},
                   {"truncated", [](const GrepSummary& of) { return of.truncated; }, kTruncatedHelp}}},
      .channel = OnChannel::never};
  return event;
}

}  // namespace skiff::runtime::api
