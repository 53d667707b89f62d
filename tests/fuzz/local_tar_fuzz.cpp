#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "container/agent/copy/pack.hpp"
#include "container/agent/copy/tar.hpp"
#include "tests/support/tar_bytes.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace skiff;
using namespace skiff::container;
namespace files = std::filesystem;

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20U;

void require(bool condition) {
  if (!condition) std::abort();
}

std::string_view take_field(std::string_view& rest) {
  const std::string_view field = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  return field;
}

/// TYPE NAME NUL TARGET NUL CONTENT NUL, once for each member; '@' in a name stands for `top`. So the checksums are
/// right.
std::string archive_of(std::string_view rest, const std::string& top) {
  std::string archive;
  while (!rest.empty()) {
    const auto named = [&](std::string_view field) {
      std::string name;
      for (const char c : field) c == '@' ? name += top : name += c;
      return name;
    };
    const std::string_view member = take_field(rest);
    const std::string target = named(take_field(rest));
    const std::string_view content = take_field(rest);
    if (!member.empty()) archive += test::tar_member(named(member.substr(1)), member.front(), content, target);
  }
  return archive + test::tar_end();
}

Result<TarSummary> unpack(std::string_view archive, const TarTarget& target) {
  return unpack_tar(
      [&archive](std::span<char> into) -> std::optional<std::size_t> {
        const std::size_t size = archive.copy(into.data(), into.size());
        archive.remove_prefix(size);
        return size;
      },
      target);
}

struct Look {
  unsigned mode = 0;
  std::string content = {};  ///< of a link: where it leads
  std::int64_t changed = 0;  ///< only of what must stay as it is

  bool operator==(const Look&) const = default;
};
using Looks = std::map<std::string, Look>;

/// Everything below a directory, and itself; nothing when it holds more than can be compared.
std::optional<Looks> looks_of(const files::path& top, bool with_times) {
  Looks looks;
  std::uint64_t bytes = 0;
  const auto look = [&](const files::path& path) {
    struct stat status{};
    require(::lstat(path.c_str(), &status) == 0);
    Look one{.mode = status.st_mode};
    if (with_times) one.changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (S_ISLNK(status.st_mode)) one.content = files::read_symlink(path);
    if (S_ISREG(status.st_mode)) {
      bytes += static_cast<std::uint64_t>(status.st_size);
      std::ifstream file{path};
      if (bytes <= kMostBytes) one.content.assign(std::istreambuf_iterator<char>{file}, {});
    }
    looks.emplace(path.lexically_relative(top), std::move(one));
  };
  look(top);
  const bool is_directory = files::is_directory(files::symlink_status(top));
  if (is_directory) {
    for (const auto& entry : files::recursive_directory_iterator{top}) look(entry.path());
  }
  return bytes <= kMostBytes ? std::optional{looks} : std::nullopt;
}

void remove_tree(const files::path& path) {
  if (files::is_directory(files::symlink_status(path))) {
    files::permissions(path, files::perms::owner_all, files::perm_options::add);
    for (const auto& entry : files::recursive_directory_iterator{path}) {
      if (entry.is_directory() && !entry.is_symlink()) files::permissions(entry, files::perms::owner_all);
    }
  }
  files::remove_all(path);
}

}  // namespace

/// What a hostile sandbox sends to `skiff cp`. The first byte says where to: 1 a file; 2 into a directory that has a
/// link to the outside; 4 the archive as it stands. Nothing outside of the target changes, nobody gets rights by it,
/// and what came out is the same when it is packed and unpacked once more.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryDirectory directory;
  static const files::path top = files::canonical(directory.path());
  static const bool is_ready = [] {
    files::create_directories(top / "outside/directory");
    std::ofstream{top / "outside/secret"} << "kept";
    files::permissions(top / "outside/secret", files::perms{0600});
    files::create_directory_symlink("outside", top / "link");
    files::create_directory(top / "target");
    return true;
  }();
  require(is_ready);
  if (size == 0) return 0;
  static const Looks outside = looks_of(top / "outside", true).value();
  const bool is_file = (data[0] & 1U) != 0;
  const files::path target = top / "target" / "to";
  if ((data[0] & 2U) != 0) {
    files::create_directory(target);
    files::create_directory_symlink("../../outside", target / "away");
  }
  const std::string_view input{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::string archive = (data[0] & 4U) != 0 ? std::string{input} : archive_of(input, top);

  // A relative name would be seen, too.
  const files::path here = files::current_path();
  files::current_path(top / "outside/directory");
  const auto unpacked = unpack(archive, {.path = target, .is_file = is_file});
  files::current_path(here);
  require(looks_of(top / "outside", true) == outside);
  require(files::read_symlink(top / "link") == "outside");
  require(std::distance(files::directory_iterator{top}, {}) == 3);
  require(std::distance(files::directory_iterator{top / "target"}, {}) <= 1);
  // The one that was there before is never made.
  if (files::is_symlink(files::symlink_status(target / "away"))) files::remove(target / "away");
  if (files::exists(files::symlink_status(target))) {
    const auto looks = looks_of(target, false);
    if (looks) {
      for (const auto& [path, look] : *looks) {
        require(S_ISREG(look.mode) || S_ISDIR(look.mode) || S_ISLNK(look.mode));
        if (S_ISLNK(look.mode)) {
          std::error_code is_loop;
          const files::path end = files::weakly_canonical((target / path).parent_path() / look.content, is_loop);
          require(is_loop || std::ranges::mismatch(target, end).in1 == target.end());
        }
        require(S_ISLNK(look.mode) || (look.mode & 07000U) == 0);
      }
    }
    if (looks && unpacked && files::is_directory(files::symlink_status(target))) {
      std::string packed;
      const auto summary = pack_tar(target, ".", [&packed](const std::string& block) {
        packed += block;
        return true;
      });
      require(summary.has_value() && summary->skipped == 0);
      remove_tree(target);
      files::create_directory(target);
      files::permissions(target, files::perms{looks->at(".").mode & 0777U});
      require(unpack(packed, {.path = target}).has_value());
      require(looks_of(target, false) == looks);
    }
  }
  remove_tree(target);
  return 0;
}
