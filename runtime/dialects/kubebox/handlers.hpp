#pragma once

#include "runtime/dialects/http_dialect.hpp"
#include "runtime/dialects/kubebox/waiting_streams.hpp"

/// The handlers of the REST routes (docs/dialects/kubebox.md).
namespace skiff::runtime::dialects::kubebox {

// commands.cpp
[[nodiscard]] Task<Result<>> initialize(Request* request);
[[nodiscard]] Task<Result<>> run_command(Request* request, WaitingStreams* waiting);
[[nodiscard]] Task<Result<>> kill_command(Request* request);
[[nodiscard]] Task<Result<>> kill_all_processes(Request* request);
// console_logs.cpp
[[nodiscard]] Task<Result<>> get_website_console_logs(Request* request);
// files.cpp
[[nodiscard]] Task<Result<>> read_file(Request* request);
[[nodiscard]] Task<Result<>> get_file(Request* request);
[[nodiscard]] Task<Result<>> write_file(Request* request);
[[nodiscard]] Task<Result<>> create_dirs(Request* request);
[[nodiscard]] Task<Result<>> delete_file(Request* request);
[[nodiscard]] Task<Result<>> file_exists(Request* request);
[[nodiscard]] Task<Result<>> get_all_file_paths(Request* request);

}  // namespace skiff::runtime::dialects::kubebox
