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
    QueryParameter{"lines", "Only these lines, counted from 1: 10-40, 10- or 10",
                   R"({"type":"string","pattern":"^[1-9][0-9]{0,17}(-([1-9][0-9]{0,17})?)?$"})"}};
constexpr std::array kWriteQuery{
    QueryParameter{
        "mode",
        "Octal, as 0644; default: that of the file that is replaced without set-id bits, or 0666 without the "
        "umask. Set-id bits need the scope admin",
        R"({"type":"string","pattern":"^[0-7]{1,4}$"})"},
    QueryParameter{"uid", "Owner; a link is followed only to where this user may write",
                   R"({"type":"integer","minimum":0,"maximum":4294967294})"},
    QueryParameter{"gid", "Group", R"({"type":"integer","minimum":0,"maximum":4294967294})"},
    QueryParameter{"mtime", "Modification time in seconds since 1970, as 1700000000.25",
                   R"({"type":"string","pattern":"^-?[0-8]?[0-9]{1,9}([.][0-9]{1,9})?$"})"},
    QueryParameter{"sha256", "What the bytes must hash to, in hex",
                   R"({"type":"string","pattern":"^[0-9a-fA-F]{64}$"})"},
    QueryParameter{"fsync", "Answer when it is on the disk", kFlagParameter},
};
constexpr std::array kChangeQuery{
    QueryParameter{"append", "The body is bytes to be added at the end", kFlagParameter},
    QueryParameter{"offset", "append: where the file must end now; 409 with its size otherwise", kNumberParameter},
};
constexpr std::array kDeleteQuery{QueryParameter{"recursive", "A directory with all that is in it", kFlagParameter}};
constexpr std::array kListQuery{
    QueryParameter{"path", "The directory; default: the root"},
    QueryParameter{"recursive", "Also what is below", kFlagParameter},
    QueryParameter{"pattern", "Only paths that match: a glob, or re: and a regular expression (RE2)"},
    QueryParameter{"limit", "Entries in one answer; default 1000", R"({"type":"integer","minimum":1,"maximum":10000})"},
    QueryParameter{"cursor", "next_cursor of the previous answer"},
};
constexpr std::array kStatQuery{
    QueryParameter{.name = "path", .help = "A link at its end is not followed", .required = true, .repeated = true}};
constexpr std::array kGlobQuery{
    QueryParameter{
        .name = "pattern", .help = "* ? [...] ** {a,b}, for whole paths, as the results have them", .required = true},
    QueryParameter{"path", "The directory to look in; default: the root"},
    QueryParameter{"hidden", "Also names that begin with a dot", kFlagParameter},
    QueryParameter{"ignored", "Also what .gitignore files ignore", kFlagParameter},
    QueryParameter{"limit", "Matches", R"({"type":"integer","minimum":0,"maximum":1000000})"},
};
constexpr std::array kGrepQuery{
    QueryParameter{.name = "pattern", .help = "A regular expression (RE2), or a text", .required = true},
    QueryParameter{"literal", "The pattern is a text", kFlagParameter},
    QueryParameter{"ignore_case", "Without regard to case", kFlagParameter},
    QueryParameter{"path", "The directory or file to look in; default: the root"},
    QueryParameter{"glob", "Only files whose path matches"},
    QueryParameter{"context", "Lines before and after", kFew},
    QueryParameter{"before", "Lines before", kFew},
    QueryParameter{"after", "Lines after", kFew},
    QueryParameter{"hidden", "Also names that begin with a dot", kFlagParameter},
    QueryParameter{"ignored", "Also what .gitignore files ignore", kFlagParameter},
    QueryParameter{"limit", "Matches; default 10000", R"({"type":"integer","minimum":0,"maximum":1000000})"},
};
constexpr std::string_view kFormats = R"({"title":"ArchiveFormat","type":"string","enum":["tar","tar.gz","tar.zst"]})";
constexpr std::array kReadArchiveQuery{
    QueryParameter{
        .name = "path", .help = "A directory, or several files and directories; default: the root", .repeated = true},
    QueryParameter{"format", "Default tar", kFormats},
    QueryParameter{"whole",
                   "Break the archive off if a file or directory is missing in it: for clients that see no trailers",
                   kFlagParameter},
    QueryParameter{"with_itself", "Begin with the directory itself, as ./, for its mode and time", kFlagParameter},
};
constexpr std::array kWriteArchiveQuery{
    QueryParameter{"path", "The directory to unpack into, made when it is missing; default: the root"},
    QueryParameter{"most_bytes", "Refuse what unpacks to more",
                   R"({"type":"integer","minimum":0,"maximum":9223372036854775807})"},
};

constexpr std::array kWatchQuery{
    QueryParameter{"path", "The directory; default: the root"},
    QueryParameter{"recursive", "Also what is below", kFlagParameter},
    QueryParameter{"cursor", "Of the last event that came, as Last-Event-ID", kNumberParameter},
};

constexpr std::array kFileRoutes{
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files/{path}",
          .operation_id = "readFile",
          .summary = "The bytes of a file, or a part of them",
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
          .summary = "Replace text in a file, or add bytes at its end",
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
          .summary = "The entries of a directory",
          .tag = "files",
          .scope = Scope::read,
          .long_with = "recursive",
          .handler = list_files,
          .query = kListQuery,
          .describe = describe_list_files},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:stat",
          .operation_id = "statFiles",
          .summary = "What is at some paths",
          .tag = "files",
          .scope = Scope::read,
          .handler = stat_files,
          .query = kStatQuery,
          .describe = describe_stat_files},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:move",
          .operation_id = "moveFile",
          .summary = "Give a file, link or directory another path",
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
          .summary = "Make a directory",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = create_directory,
          .describe = describe_make_directory},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:symlink",
          .operation_id = "makeLink",
          .summary = "Make a symbolic link",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = create_link,
          .describe = describe_make_link},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:chmod",
          .operation_id = "setFileMode",
          .summary = "Change a mode",
          .tag = "files",
          .scope = Scope::exec,
          .body = Body::json,
          .while_draining = false,
          .handler = set_file_mode,
          .describe = describe_set_file_mode},
    Route{.method = "POST",
          .path = "/v1/sessions/{sid}/files:batch",
          .operation_id = "changeFiles",
          .summary = "Several writes, edits, deletions and moves: all or none",
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
          .summary = "Paths that match a pattern",
          .tag = "files",
          .scope = Scope::read,
          .handler = glob_files,
          .query = kGlobQuery,
          .describe = describe_glob},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:grep",
          .operation_id = "grepFiles",
          .summary = "Lines that match a pattern",
          .tag = "files",
          .scope = Scope::read,
          .handler = grep_files,
          .query = kGrepQuery,
          .describe = describe_grep},
    Route{.method = "GET",
          .path = "/v1/sessions/{sid}/files:archive",
          .operation_id = "readArchive",
          .summary = "A tree as a tar archive",
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
          .summary = "Changes below a directory, as they happen: an event stream or a WebSocket",
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
