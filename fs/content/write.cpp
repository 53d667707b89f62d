#include "fs/content/write.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fs/content/in_place.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/name_lock.hpp"

namespace skiff::fs {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Result<Sha256::Digest> parse_sha256(std::string_view hex) {
  Sha256::Digest digest{};
  bool good = hex.size() == 2 * digest.size();
  for (std::size_t i = 0; good && i < digest.size(); ++i) {
    const int high = hex_digit(hex[2 * i]);
    const int low = hex_digit(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    digest[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (!good) return fail(Errc::invalid_field, "a SHA-256 is 64 hex digits", "sha256");
  return digest;
}

Writer::Writer(std::string path, WriteOptions options, Location location, StagedFile staged)
    : path_{std::move(path)},
      options_{std::move(options)},
      location_{std::move(location)},
      staged_{std::move(staged)} {}

Result<Writer> Writer::begin(const Tree& tree, std::string_view path, WriteOptions options,
                             const std::stop_token& stop) {
  SKIFF_TRY(auto location, tree.locate(path, Links::follow, options.parents));
  SKIFF_TRY(const auto target, check_file_target(location, options.conditions, path, stop));
  auto staged = stage_for(tree, location, target ? Becomes::replacement : Becomes::something_new, options.naming);
  if (!staged) {
    staged.error().message = "write " + in_quotes(path) + ": " + staged.error().message;
    return std::unexpected{std::move(staged.error())};
  }
  Writer writer{std::string{path}, std::move(options), std::move(location), std::move(staged->file)};
  writer.elsewhere_ = staged->elsewhere;
  return writer;
}

Result<> Writer::write(std::span<const char> bytes) {
  if (const int error = write_all(fd(), bytes); error != 0) {
    return std::unexpected{system_error(error, "write " + in_quotes(path_))};
  }
  if (options_.sha256) sha_.add({bytes.data(), bytes.size()});
  hashed_ += bytes.size();
  return {};
}

Result<Written> Writer::commit(const std::stop_token& stop) {
  // Both take long for a large file, so they come before the lock.
  SKIFF_TRY_VOID(check_sum(stop));
  SKIFF_TRY_VOID(sync_bytes());
  SKIFF_TRY(auto lock, NameLock::of(location_.parent.get(), location_.name));
  return put_in_place(stop);
}

Result<Written> Writer::commit_locked(const std::stop_token& stop) {
  SKIFF_TRY_VOID(check_sum(stop));
  SKIFF_TRY_VOID(sync_bytes());
  return put_in_place(stop);
}

Result<> Writer::check_sum(const std::stop_token& stop) const {
  if (!options_.sha256) return {};
  SKIFF_TRY(auto status, status_of(fd()));
  Result<std::optional<Sha256::Digest>> digest = sha_.digest();
  // Bytes that were spliced in are not hashed yet.
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size != hashed_) digest = hash_file(fd(), size, stop);
  if (!digest) return std::unexpected{std::move(digest.error())};
  if (*digest == *options_.sha256) return {};
  const std::string found =
      *digest ? "the bytes have the SHA-256 " + to_hex(**digest) : std::string{"another process writes to the file"};
  return fail(Errc::checksum_mismatch, "write " + in_quotes(path_) + ": " + found);
}

Result<> Writer::sync_bytes() const {
  if (options_.durability == Durability::cached || ::fdatasync(fd()) == 0) return {};
  return std::unexpected{system_error(errno, "sync " + in_quotes(path_))};
}

Result<Written> Writer::put_in_place(const std::stop_token& stop) {
  SKIFF_TRY(auto target, check_file_target(location_, options_.conditions, path_, stop));
  bool created = !target.has_value();
  if (elsewhere_) return put_into_mount(target);
  SKIFF_TRY_VOID(set_attributes(fd(), options_.attributes, location_, target));
  auto published = staged_.publish(location_.name, created ? Existing::refuse : Existing::replace);
  if (!published && published.error().code == Errc::already_exists) {
    // A command has created the file at this moment.
    if (options_.conditions.must_be_new) return fail(Errc::precondition_failed, in_quotes(path_) + " exists");
    created = false;
    published = staged_.publish(location_.name, Existing::replace);
  }
  if (!published && published.error().code == Errc::in_use) return put_into_mount(target);
  if (!published) return std::unexpected{std::move(published.error())};
  if (options_.durability == Durability::synced) {
    SKIFF_TRY_VOID(sync_directory(location_.parent.get()));
  }
  return written(fd(), created);
}

Result<Written> Writer::put_into_mount(const std::optional<Entry>& target) {
  if (!target) return fail(Errc::precondition_failed, in_quotes(path_) + " was removed just now");
  SKIFF_TRY(const auto file, write_in_place(location_, fd(), *target, path_));
  const Attributes& asked = options_.attributes;
  auto set = set_attributes(file.get(), asked, location_, std::nullopt);
  // The agent can write to another user's file but not stamp it; such a file has a tag by content while it is fresh.
  const bool matters = asked.mode || asked.uid || asked.gid || asked.modified;
  if (!set && (matters || set.error().code != Errc::permission_denied)) return std::unexpected{std::move(set.error())};
  if (options_.durability == Durability::synced && ::fsync(file.get()) != 0) {
    return std::unexpected{system_error(errno, "sync " + in_quotes(path_))};
  }
  return written(file.get(), false);
}

Result<Written> write_file(const Tree& tree, std::string_view path, std::string_view bytes, WriteOptions options,
                           const std::stop_token& stop) {
  constexpr std::size_t kFew = 1 << 20;
  options.naming = bytes.size() <= kFew ? Naming::temporary : Naming::nameless;
  SKIFF_TRY(auto writer, Writer::begin(tree, path, std::move(options), stop));
  SKIFF_TRY_VOID(writer.write(bytes));
  return writer.commit(stop);
}

int write_all(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return 0;
}

Result<> sync_directory(int directory) {
  const UniqueFd open = reopen(directory, O_RDONLY | O_DIRECTORY);
  if (open && ::fsync(open.get()) == 0) return {};
  return std::unexpected{system_error(errno, "sync a directory")};
}

}  // namespace skiff::fs
