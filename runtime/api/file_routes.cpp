#include "runtime/api/file_routes.hpp"

#include <array>

#include "runtime/api/files/archive.hpp"
#include "runtime/api/files/bytes.hpp"
#include "runtime/api/files/edits.hpp"
#include "runtime/api/files/entries.hpp"
#include "runtime/api/files/search/search.hpp"
#include "runtime/api/files/watch_route.hpp"
#include "runtime/api/openapi/file_operations.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::string_view kFew = R"({"type":"integer","minimum":0,"maximum":100})";

constexpr std::array kReadQuery{
    QueryParameter{"lines", "Return only these lines, counted from 1: 10-40, 10- or 10",
                   R"({"type":"string","pattern":"^[1-9][0-9]{0,17}(-([1-9][0-9]{0,17})?)?$"})"}};
constexpr std::array kWriteQuery{
    QueryParameter{
        "mode",
        "Octal mode, such as 0644; default: that of the replaced file without set-id bits, or 0666 without the "
        "umask. Set-id bits need the scope admin",
        R"({"type":"string","pattern":"^[0-7]{1,4}$"})"},
    QueryParameter{"uid", "Uid of the owner; a link is followed only to where this user may write",
                   R"({"type":"integer","minimum":0,"maximum":4294967294})"},
    QueryParameter{"gid", "Gid of the group", R"({"type":"integer","minimum":0,"maximum":4294967294})"},
    QueryParameter{"mtime", "Modification time in seconds since 1970, such as 1700000000.25",
                   R"({"type":"string","pattern":"^-?[0-8]?[0-9]{1,9}([.][0-9]{1,9})?$"})"},
    QueryParameter{"sha256", "Expected SHA-256 of the bytes, in hex",
                   R"({"type":"string","pattern":"^[0-9a-fA-F]{64}$"})"},
    QueryParameter{"fsync", "Answer when the file is on disk", kFlagParameter},
};
constexpr std::array kChangeQuery{
    QueryParameter{"append", "Append the bytes of the body", kFlagParameter},
    QueryParameter{"offset", "With append: size that the file must have; otherwise 409 with its size",
                   kNumberParameter},
};
constexpr std::array kDeleteQuery{QueryParameter{"recursive", "Delete a directory with its contents", kFlagParameter}};
constexpr std::array kListQuery{
    QueryParameter{"path", "Directory to list, to which the paths of the answer are relative; default: the root"},
    QueryParameter{"recursive", "List all levels below, too", kFlagParameter},
    QueryParameter{"pattern", "List only paths that match: a glob, or re: and a regular expression (RE2)"},
    QueryParameter{"limit", "Most entries in one answer; default 1000",
                   R"({"type":"integer","minimum":1,"maximum":10000})"},
    QueryParameter{"cursor", "next_cursor of the previous answer"},
};
constexpr std::array kStatQuery{QueryParameter{
    .name = "path", .help = "Path to look at; a link at its end is not followed", .required = true, .repeated = true}};
constexpr std::array kGlobQuery{
    QueryParameter{
        .name = "pattern", .help = "Glob with * ? [...] ** {a,b}, for whole paths as in the results", .required = true},
    QueryParameter{"path", "Directory to search; default: the root"},
    QueryParameter{"hidden", "Include names that begin with a dot", kFlagParameter},
    QueryParameter{"ignored", "Include what .gitignore files exclude", kFlagParameter},
    QueryParameter{"limit", "Most matches", R"({"type":"integer","minimum":0,"maximum":1000000})"},
};
constexpr std::array kGrepQuery{
    QueryParameter{.name = "pattern", .help = "Regular expression (RE2), or text with literal", .required = true},
    QueryParameter{"literal", "Search for the pattern as text", kFlagParameter},
    QueryParameter{"ignore_case", "Ignore case", kFlagParameter},
    QueryParameter{"path", "Directory or file to search; default: the root"},
    QueryParameter{"glob", "Search only files whose path matches this glob"},
    QueryParameter{"context", "Lines to show before and after a match", kFew},
    QueryParameter{"before", "Lines to show before a match", kFew},
    QueryParameter{"after", "Lines to show after a match", kFew},
    QueryParameter{"hidden", "Include names that begin with a dot", kFlagParameter},
    QueryParameter{"ignored", "Include what .gitignore files exclude", kFlagParameter},
    QueryParameter{"limit", "Most matches; default 10000", R"({"type":"integer","minimum":0,"maximum":1000000})"},
};
constexpr std::string_view kFormats = R"({"title":"ArchiveFormat","type":"string","enum":["tar","tar.gz","tar.zst"]})";
constexpr std::array kReadArchiveQuery{
    QueryParameter{
        .name = "path", .help = "Directory, or several files and directories; default: the root", .repeated = true},
    QueryParameter{"format", "Format of the archive; default tar", kFormats},
    QueryParameter{"whole",
                   "Abort the archive if a file or directory is missing in it, for clients that see no trailers",
                   kFlagParameter},
    QueryParameter{"with_itself", "Begin with the directory itself, as ./, for its mode and time", kFlagParameter},
};
constexpr std::array kWriteArchiveQuery{
    QueryParameter{"path", "Directory to unpack into, created if missing; default: the root"},
    QueryParameter{"most_bytes", "Refuse an archive that unpacks to more bytes",
                   R"({"type":"integer","minimum":0,"maximum":9223372036854775807})"},
};

constexpr std::array kWatchQuery{
    QueryParameter{"path", "Directory to watch; default: the root"},
    QueryParameter{"recursive", "Watch the directories below, too", kFlagParameter},
    QueryParameter{"cursor", "Cursor of the last event received, like Last-Event-ID", kNumberParameter},
};

constexpr std::array kFileRoutes{
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files/{path}",
          .operation_id = "readFile",
          .summary = "Read a file, or a part of it",
          .tag = "files",
          .scope = Scope::read,
          .long_with = "lines",
          .handler = read_file,
          .query = kReadQuery,
          .describe = describe_read_file},
    Route{.method = "PUT",
          .path = "/v1/sessions/{sid}/files/{path}",
          .operation_id = "writeFile",
          .summary = "Write a whole file, atomically; creates parent directories",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::stream,
          .while_draining = false,
          .long_with = "fsync",
          .handler = write_file,
          .query = kWriteQuery,
          .describe = describe_write_file},
    Route{.method = "PATCH",
          .path = "/v1/sessions/{sid}/files/{path}",
          .operation_id = "changeFile",
          .summary = "Replace text in a file, or append bytes to it",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::stream,
          .while_draining = false,
          .handler = change_file,
          .query = kChangeQuery,
          .describe = describe_change_file},
    Route{.method = "DELETE",
          .path = "/v1/sessions/{sid}/files/{path}",
          .operation_id = "deleteFile",
          .summary = "Delete a file, a link or a directory",
          .tag = "files",
          .scope = Scope::exec,
          .long_with = "recursive",
          .handler = delete_file,
          .query = kDeleteQuery,
          .describe = describe_delete_file},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:list",
          .operation_id = "listFiles",
          .summary = "List a directory",
          .tag = "files",
          .scope = Scope::read,
          .long_with = "recursive",
          .handler = list_files,
          .query = kListQuery,
          .describe = describe_list_files},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:stat",
          .operation_id = "statFiles",
          .summary = "Show the entries at some paths",
          .tag = "files",
          .scope = Scope::read,
          .handler = stat_files,
          .query = kStatQuery,
          .describe = describe_stat_files},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:move",
          .operation_id = "moveFile",
          .summary = "Move a file, link or directory",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .long_with = kAlwaysLong,
          .handler = move_file,
          .describe = describe_move_file},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:copy",
          .operation_id = "copyFile",
          .summary = "Copy a file, link or directory",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .long_with = kAlwaysLong,
          .handler = copy_file,
          .describe = describe_move_file},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:mkdir",
          .operation_id = "makeDirectory",
          .summary = "Create a directory",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = create_directory,
          .describe = describe_make_directory},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:symlink",
          .operation_id = "makeLink",
          .summary = "Create a symbolic link",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = create_link,
          .describe = describe_make_link},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:chmod",
          .operation_id = "setFileMode",
          .summary = "Change the mode of a file or directory",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = set_file_mode,
          .describe = describe_set_file_mode},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:batch",
          .operation_id = "changeFiles",
          .summary = "Make several writes, edits, deletions and moves: all or none",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .long_with = kAlwaysLong,
          .handler = change_files,
          .describe = describe_batch},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:glob",
          .operation_id = "globFiles",
          .summary = "Find paths that match a pattern",
          .tag = "files",
          .scope = Scope::read,
          .handler = glob_files,
          .query = kGlobQuery,
          .describe = describe_glob},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:grep",
          .operation_id = "grepFiles",
          .summary = "Find lines that match a pattern",
          .tag = "files",
          .scope = Scope::read,
          .handler = grep_files,
          .query = kGrepQuery,
          .describe = describe_grep},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:archive",
          .operation_id = "readArchive",
          .summary = "Read a tree as a tar archive",
          .tag = "files",
          .scope = Scope::read,
          .handler = read_archive,
          .query = kReadArchiveQuery,
          .describe = describe_read_archive},
    Route{.method = "PUT",
          .path = "/v1/sessions/{sid}/files:archive",
          .operation_id = "writeArchive",
          .summary = "Unpack a tar archive, plain or compressed",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::packed,
          .while_draining = false,
          .handler = write_archive,
          .query = kWriteArchiveQuery,
          .describe = describe_write_archive},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:watch",
          .operation_id = "watchFiles",
          .summary = "Watch a directory for changes, as an event stream or a WebSocket",
          .tag = "files",
          .scope = Scope::read,
          .while_draining = false,
          .handler = watch_files,
          .query = kWatchQuery,
          .describe = describe_watch},
};

}  // namespace

std::span<const Route> file_routes() {
  return kFileRoutes;
}

}  // namespace skiff::runtime::api
