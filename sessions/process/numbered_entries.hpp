#pragma once

#include <dirent.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace skiff::sessions {

/// Parses all of `text` as a decimal number.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

/// Calls `visit` with every name in the directory that is a number; a `visit` that returns bool stops the loop with
/// false. Returns false, with errno, when the directory cannot be opened.
template <class Visit>
bool each_numbered_entry(const char* path, Visit visit) {
  const std::unique_ptr<DIR, CloseDirectory> directory{::opendir(path)};
  if (!directory) return false;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto number = number_of<int>(entry->d_name);
    if (!number) continue;
    if constexpr (std::is_void_v<std::invoke_result_t<Visit&, int>>) {
      visit(*number);
    } else {
      if (!visit(*number)) break;
    }
  }
  return true;
}

}  // namespace skiff::sessions
