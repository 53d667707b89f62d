#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::runtime::api {

/// A language whose code can be run, with the program of the sandbox that does it.
struct CodeLanguage {
  std::string_view name;
  std::vector<std::string> argv;  ///< runs the worker, which it reads from sessions::Channels::kTextFd
};

/// An empty name is Python. Errors: language_unavailable.
[[nodiscard]] Result<const CodeLanguage*> find_code_language(std::string_view name);

/// The source of the worker.
[[nodiscard]] std::string code_worker_source(const CodeLanguage& language);

/// A request as the worker reads it.
[[nodiscard]] std::string code_worker_request(const CodeLanguage& language, std::uint64_t id, const std::string& code,
                                              const std::map<std::string, std::string>& env);

}  // namespace skiff::runtime::api
