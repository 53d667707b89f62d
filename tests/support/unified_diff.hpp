#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::test {

/// Applies a unified diff strictly: each line where its hunk says, with the content that it shows. "bad: ..."
/// otherwise.
inline std::string applied(std::string_view text, std::string_view patch) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.emplace_back(text.substr(at, end - at));
    at = end;
  }
  std::string out;
  std::size_t at = 0;
  std::size_t out_lines = 0;
  std::size_t old_left = 0;
  std::size_t new_left = 0;
  while (!patch.empty()) {
    std::string line{patch.substr(0, patch.find('\n') + 1)};
    patch.remove_prefix(line.size());
    const bool is_head = old_left + new_left == 0 && (line.starts_with("--- a/") || line.starts_with("+++ b/"));
    if (is_head) continue;
    if (line.starts_with("@@ ")) {
      if (old_left + new_left != 0) return "bad: a hunk is too short";
      std::size_t old_from = 0;
      std::size_t new_from = 0;
      if (std::sscanf(line.c_str(), "@@ -%zu,%zu +%zu,%zu @@", &old_from, &old_left, &new_from, &new_left) != 4) {
        return "bad: " + line;
      }
      const std::size_t until = old_left == 0 ? old_from : old_from - 1;
      if (until < at || until > lines.size()) return "bad: place";
      for (; at < until; ++at, ++out_lines) out += lines[at];
      if (out_lines != (new_left == 0 ? new_from : new_from - 1)) return "bad: new place";
      continue;
    }
    if (patch.starts_with("\\ No newline")) {
      line.pop_back();
      patch.remove_prefix(patch.find('\n') + 1);
    }
    const char sign = line.front();
    line.erase(0, 1);
    if (sign != '+') {
      if (old_left-- == 0 || at == lines.size() || lines[at++] != line) return "bad: old line " + line;
    }
    if (sign != '-') {
      if (new_left-- == 0) return "bad: too many lines";
      out += line;
      ++out_lines;
    }
  }
  if (old_left + new_left != 0) return "bad: the last hunk is too short";
  for (; at < lines.size(); ++at) out += lines[at];
  return out;
}

}  // namespace skiff::test
