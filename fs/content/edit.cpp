#include "fs/content/edit.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "fs/content/diff.hpp"
#include "fs/content/read.hpp"
#include "fs/content/replacement.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/name_lock.hpp"

namespace skiff::fs {

Result<std::string> read_text(const Location& location, std::string_view path) {
  const UniqueFd object{::openat(location.parent.get(), location.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  if (!object) return std::unexpected{system_error(errno, "open " + in_quotes(path))};
  SKIFF_TRY(auto status, status_of(object.get()));
  SKIFF_TRY_VOID(check_regular(status.st_mode, path));
  const UniqueFd file = reopen(object.get(), O_RDONLY);
  if (!file) return std::unexpected{system_error(errno, "open " + in_quotes(path))};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const auto too_large = [&] {
    return fail(Errc::payload_too_large, in_quotes(path) + " is larger than 64 MiB: it can't be edited");
  };
  if (size > kMostEditedBytes) return too_large();
  // One more byte shows whether the file has grown meanwhile.
  std::string text(size + 1, '\0');
  SKIFF_TRY(auto got, read_at(file.get(), 0, text));
  if (got > size) return fail(Errc::precondition_failed, in_quotes(path) + " is being written just now");
  text.resize(got);
  return text;
}

Result<Edited> edit(const Tree& tree, std::string_view path, std::span<const Edit> edits, const EditOptions& options,
                    const std::stop_token& stop) {
  SKIFF_TRY(
      auto writer,
      Writer::begin(tree, path,
                    {.conditions = options.conditions, .parents = Parents::require, .durability = options.durability},
                    stop));
  const Location& location = writer.location();
  SKIFF_TRY(auto lock, NameLock::of(location.parent.get(), location.name));
  SKIFF_TRY_VOID(check_file_target(location, options.conditions, path, stop));
  SKIFF_TRY(auto text, read_text(location, path));
  SKIFF_TRY(auto replaced, replace(text, edits));
  Diff diff = unified_diff(options.name.empty() ? path : options.name, text, replaced.text, replaced.changed);
  SKIFF_TRY_VOID(writer.write(replaced.text));
  SKIFF_TRY(auto written, writer.commit_locked(stop));
  return Edited{.written = std::move(written), .diff = std::move(diff.text), .diff_cut = diff.cut};
}

}  // namespace skiff::fs
