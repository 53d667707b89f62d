#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/entry.hpp"

namespace skiff::runtime::api {

/// `{"path", "name", "type", "size", "mode", "uid", "gid", "modified_at", "target"?, "etag"?}`, described by
/// `entry_members`. An empty `tag` is left out.
void append_entry(std::string& out, std::string_view path, const fs::Entry& entry, std::string_view tag);

/// `{"path", "error": {"code", "detail"}}`: the item in a list for a path that failed.
void append_failure(std::string& out, std::string_view path, const Error& error);

}  // namespace skiff::runtime::api
