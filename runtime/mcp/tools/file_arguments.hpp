#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "protocol/json/schema.hpp"
#include "runtime/api/files/requests.hpp"
#include "runtime/mcp/tools/command_arguments.hpp"

/// The arguments of the tools for files, as field lists.
namespace skiff::runtime::mcp {

struct ReadFileArguments {
  std::string path;
  std::optional<std::string> session;
  std::optional<std::uint64_t> first_line;
  std::optional<std::uint64_t> last_line;
  std::uint64_t max_bytes = 64 * 1024;
  static constexpr auto fields = std::tuple{
      field("path", &ReadFileArguments::path, "The file", {.min_length = 1, .text = Text::no_nul}),
      field("session", &ReadFileArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("first_line", &ReadFileArguments::first_line, "From this line on, counted from 1",
            {.minimum = 1, .maximum = INT64_MAX}),
      field("last_line", &ReadFileArguments::last_line, "Up to and with this line",
            {.minimum = 1, .maximum = INT64_MAX}),
      field("max_bytes", &ReadFileArguments::max_bytes, "At most this much, default 65536",
            {.minimum = 1, .maximum = kMostOutput, .optional = true}),
  };
};

struct WriteFileArguments {
  std::string path;
  std::optional<std::string> session;
  std::optional<std::string> text;
  std::optional<std::string> base64;
  static constexpr auto fields = std::tuple{
      field("path", &WriteFileArguments::path, "The file; its directories are made",
            {.min_length = 1, .text = Text::no_nul}),
      field("session", &WriteFileArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("text", &WriteFileArguments::text, "Its whole new content; this or base64"),
      field("base64", &WriteFileArguments::base64, "The same for bytes that are not text"),
  };
  [[nodiscard]] Result<> validate() const {
    if (text.has_value() != base64.has_value()) return {};
    return fail(Errc::invalid_field, "give exactly one of text and base64", "/text");
  }
};

struct EditFileArguments {
  std::string path;
  std::optional<std::string> session;
  std::vector<api::EditRequest> edits;
  static constexpr auto fields = std::tuple{
      field("path", &EditFileArguments::path, "The file", {.min_length = 1, .text = Text::no_nul}),
      field("session", &EditFileArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("edits", &EditFileArguments::edits, "The edits, made in this order; all or none", {.max_items = 1000}),
  };
};

struct ListDirectoryArguments {
  std::string path;
  std::optional<std::string> session;
  bool recursive = false;
  std::uint64_t limit = 200;
  std::optional<std::string> cursor;
  static constexpr auto fields = std::tuple{
      field("path", &ListDirectoryArguments::path, "The directory; the session's root when left out",
            {.text = Text::no_nul, .optional = true}),
      field("session", &ListDirectoryArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("recursive", &ListDirectoryArguments::recursive, "List all that is below it, too", {.optional = true}),
      field("limit", &ListDirectoryArguments::limit, "The most entries of a page, default 200",
            {.minimum = 1, .maximum = 5000, .optional = true}),
      field("cursor", &ListDirectoryArguments::cursor, "next_cursor of the page before"),
  };
};

struct FindFilesArguments {
  std::string pattern;
  std::string path;
  std::optional<std::string> session;
  bool hidden = false;
  bool ignored = false;
  std::uint64_t limit = 500;
  static constexpr auto fields = std::tuple{
      field("pattern", &FindFilesArguments::pattern, "A glob from the session's root on: `src/**/*.py`, `**/*.{c,h}`",
            {.min_length = 1, .text = Text::no_nul}),
      field("path", &FindFilesArguments::path, "Look below this directory only",
            {.text = Text::no_nul, .optional = true}),
      field("session", &FindFilesArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("hidden", &FindFilesArguments::hidden, "Also names that begin with a dot", {.optional = true}),
      field("ignored", &FindFilesArguments::ignored, "Also what .gitignore leaves out", {.optional = true}),
      field("limit", &FindFilesArguments::limit, "The most matches, default 500",
            {.minimum = 1, .maximum = 5000, .optional = true}),
  };
};

struct SearchFilesArguments {
  std::string pattern;
  std::string path;
  std::optional<std::string> glob;
  std::optional<std::string> session;
  bool literal = false;
  bool ignore_case = false;
  std::uint32_t context = 0;
  bool hidden = false;
  bool ignored = false;
  std::uint64_t limit = 100;
  static constexpr auto fields = std::tuple{
      field("pattern", &SearchFilesArguments::pattern, "A regular expression (RE2), matched line by line",
            {.min_length = 1, .text = Text::no_nul}),
      field("path", &SearchFilesArguments::path, "A file, or look below this directory only",
            {.text = Text::no_nul, .optional = true}),
      field("glob", &SearchFilesArguments::glob, "Only files whose path matches this glob", {.text = Text::no_nul}),
      field("session", &SearchFilesArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("literal", &SearchFilesArguments::literal, "The pattern is plain text", {.optional = true}),
      field("ignore_case", &SearchFilesArguments::ignore_case, "Letters match in either case", {.optional = true}),
      field("context", &SearchFilesArguments::context, "Lines before and after each match",
            {.minimum = 0, .maximum = 20, .optional = true}),
      field("hidden", &SearchFilesArguments::hidden, "Also files whose names begin with a dot", {.optional = true}),
      field("ignored", &SearchFilesArguments::ignored, "Also what .gitignore leaves out", {.optional = true}),
      field("limit", &SearchFilesArguments::limit, "The most matches, default 100",
            {.minimum = 1, .maximum = 1000, .optional = true}),
  };
};

struct ApplyChangesArguments {
  std::vector<api::BatchItemRequest> operations;
  bool atomic = true;
  std::optional<std::string> session;
  static constexpr auto fields = std::tuple{
      field("operations", &ApplyChangesArguments::operations, "The changes, made in this order", {.max_items = 500}),
      field("atomic", &ApplyChangesArguments::atomic, "All operations or none; false: each by itself",
            {.optional = true}),
      field("session", &ApplyChangesArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
  };
};

struct WatchChangesArguments {
  std::string path;
  std::optional<std::string> session;
  bool recursive = true;
  std::optional<std::uint64_t> cursor;
  Milliseconds wait{0};
  static constexpr auto fields = std::tuple{
      field("path", &WatchChangesArguments::path, "The directory; the session's root when left out",
            {.text = Text::no_nul, .optional = true}),
      field("session", &WatchChangesArguments::session, "The session of the files; leave out for the usual one",
            {.text = Text::id}),
      field("recursive", &WatchChangesArguments::recursive, "Include subdirectories; default true", {.optional = true}),
      field("cursor", &WatchChangesArguments::cursor, "From the previous answer; without it the watch begins now",
            {.minimum = 0, .maximum = INT64_MAX}),
      field("wait_ms", &WatchChangesArguments::wait, "How long to wait for a change; default 0",
            {.minimum = 0, .maximum = kLongestWait, .optional = true}),
  };
};

}  // namespace skiff::runtime::mcp
