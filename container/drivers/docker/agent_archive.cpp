#include "container/drivers/docker/agent_archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <algorithm>
#include <memory>
#include <string_view>

#include "base/small_file.hpp"
#include "container/drivers/docker/arguments.hpp"
#include "container/drivers/docker/engine.hpp"
#include "container/sandbox/dialects.hpp"
#include "container/sandbox/pod_options.hpp"

namespace skiff::container::docker {
namespace {

constexpr std::size_t kLongestProgram = std::size_t{256} << 20U;
constexpr unsigned kOpenToAll = 0777;
constexpr unsigned kUsual = 0755;

class Writer {
 public:
  Writer() {
    ::archive_write_set_format_pax_restricted(to_.get());
    ::archive_write_set_bytes_per_block(to_.get(), 0);
    ::archive_write_open(to_.get(), &bytes_, nullptr, &Writer::take, nullptr);
  }

  void add_directory(const std::string& name, unsigned mode, UserIds owner) { add(name, AE_IFDIR, mode, owner, {}); }
  void add_file(const std::string& name, unsigned mode, std::string_view content) {
    add(name, AE_IFREG, mode, {}, content);
  }
  /// The whole archive.
  [[nodiscard]] Result<std::string> finish() {
    if (::archive_write_close(to_.get()) != ARCHIVE_OK || failed_) {
      return fail(Errc::io_error, "the archive with skiffd could not be made");
    }
    return std::move(bytes_);
  }

 private:
  static la_ssize_t take(archive* /*of*/, void* into, const void* data, std::size_t size) {
    static_cast<std::string*>(into)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  }

  void add(const std::string& name, unsigned type, unsigned mode, UserIds owner, std::string_view content) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry{::archive_entry_new(), &::archive_entry_free};
    ::archive_entry_set_pathname(entry.get(), name.c_str());
    ::archive_entry_set_filetype(entry.get(), type);
    ::archive_entry_set_perm(entry.get(), static_cast<mode_t>(mode));
    ::archive_entry_set_uid(entry.get(), owner.user);
    ::archive_entry_set_gid(entry.get(), owner.group);
    ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    const bool is_written = ::archive_write_header(to_.get(), entry.get()) == ARCHIVE_OK &&
                            (content.empty() || ::archive_write_data(to_.get(), content.data(), content.size()) ==
                                                    static_cast<la_ssize_t>(content.size()));
    failed_ = failed_ || !is_written;
  }

  std::string bytes_;
  bool failed_ = false;
  std::unique_ptr<archive, int (*)(archive*)> to_{::archive_write_new(), &::archive_write_free};
};

/// A path as a name in the archive; empty for the root.
std::string inside(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string{path};
}

}  // namespace

Result<UniqueFd> pack_agent(const AgentFiles& files, const HostRecord& record) {
  SKIFF_TRY(auto program, read_small_file(files.skiffd, kLongestProgram));
  SKIFF_TRY(auto ids, parse_run_as(record.container->run_as));
  Writer writer;
  writer.add_directory(std::string{kAgentDirectory}, kUsual, {});
  writer.add_file(inside(kAgentProgram), kUsual, program);
  writer.add_file(inside(kLaunchFile), 0444, files.launch_plan);
  if (files.is_new) {
    std::vector<std::string> directories{inside(record.container->workdir)};
    if (std::ranges::count(record.dialects, kE2bName) > 0) directories.emplace_back("home/user");
    for (const std::string& directory : directories) {
      if (!directory.empty()) writer.add_directory(directory, ids ? kUsual : kOpenToAll, ids.value_or(UserIds{}));
    }
  }
  SKIFF_TRY(auto bytes, writer.finish());
  return file_of(bytes);
}

}  // namespace skiff::container::docker
