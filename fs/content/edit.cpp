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

Result<std::string> read_text(const Place& place, std::string_view path) {
  const UniqueFd object{::openat(place.parent.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  if (!object) return std::unexpected{system_error(errno, "open " + quoted(path))};
  auto status = status_of(object.get());
  if (!status) return std::unexpected{std::move(status.error())};
  if (auto regular = check_regular(status->st_mode, path); !regular) return std::unexpected{std::move(regular.error())};
  const UniqueFd file = reopen(object.get(), O_RDONLY);
  if (!file) return std::unexpected{system_error(errno, "open " + quoted(path))};
  const auto size = static_cast<std::uint64_t>(status->st_size);
  const auto too_large = [&] {
    return fail(Errc::payload_too_large, quoted(path) + " is larger than 64 MiB: it can't be edited");
  };
  if (size > kMostEditedBytes) return too_large();
  // One byte more tells whether it has grown meanwhile.
  std::string text(size + 1, '\0');
  auto got = read_at(file.get(), 0, text);
  if (!got) return std::unexpected{std::move(got.error())};
  if (*got > size) return fail(Errc::precondition_failed, quoted(path) + " is being written just now");
  text.resize(*got);
  return text;
}

Result<Edited> edit(const Tree& tree, std::string_view path, std::span<const Edit> edits, const EditOptions& options) {
  auto writer = Writer::begin(
      tree, path, {.conditions = options.conditions, .parents = Parents::require, .durability = options.durability});
  if (!writer) return std::unexpected{std::move(writer.error())};
  const Place& place = writer->place();
  auto lock = NameLock::of(place.parent.get(), place.name);
  if (!lock) return std::unexpected{std::move(lock.error())};
  if (auto holds = check_file_target(place, options.conditions, path); !holds) {
    return std::unexpected{std::move(holds.error())};
  }
  auto text = read_text(place, path);
  if (!text) return std::unexpected{std::move(text.error())};
  auto replaced = replace(*text, edits);
  if (!replaced) return std::unexpected{std::move(replaced.error())};
  Diff diff = unified_diff(options.name.empty() ? path : options.name, *text, replaced->text, replaced->changed);
  if (auto done = writer->write(replaced->text); !done) return std::unexpected{std::move(done.error())};
  auto written = writer->commit_locked();
  if (!written) return std::unexpected{std::move(written.error())};
  return Edited{.written = std::move(*written), .diff = std::move(diff.text), .diff_cut = diff.cut};
}

}  // namespace skiff::fs
