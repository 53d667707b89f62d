#include <algorithm>
#include <array>
#include <utility>

#include "fs/archive/tar.hpp"
#include "fs/archive/tar_header.hpp"

namespace skiff::fs {
namespace {

constexpr std::array<char, kTarBlock> kZeros{};

/// Appends "LENGTH KEY=VALUE\n"; the length counts its own digits.
void add_record(std::string& records, std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t size = rest + 1;
  while (std::to_string(size).size() + rest != size) ++size;
  records += std::to_string(size) + ' ';
  records += key;
  records += '=';
  records += value;
  records += '\n';
}

std::string time_text(std::int64_t seconds, std::uint32_t nanoseconds) {
  constexpr std::int64_t second = 1'000'000'000;
  const bool negative = seconds < 0;
  // -1 s + 0.75 s is -0.25 s.
  if (negative && nanoseconds > 0) {
    ++seconds;
    nanoseconds = static_cast<std::uint32_t>(second - nanoseconds);
  }
  std::string text = (negative ? "-" : "") + std::to_string(negative ? -seconds : seconds);
  if (nanoseconds > 0) {
    std::string fraction = std::to_string(second + nanoseconds).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += '.' + fraction;
  }
  return text;
}

char type_of(TarEntry::Kind kind) {
  switch (kind) {
    case TarEntry::Kind::directory:
      return '5';
    case TarEntry::Kind::link:
      return '2';
    case TarEntry::Kind::hard_link:
      return '1';
    default:
      return '0';
  }
}

using Block = std::array<char, kTarBlock>;

void put(Block& block, TarField field, std::string_view text) {
  std::ranges::copy(text.substr(0, field.size), block.begin() + static_cast<std::ptrdiff_t>(field.at));
}

Block header(char type, std::string_view name, std::uint64_t size) {
  Block block{};
  put(block, tar_field::kName, name);
  (void)put_tar_number(block, tar_field::kMode, 0644);
  (void)put_tar_number(block, tar_field::kUid, 0);
  (void)put_tar_number(block, tar_field::kGid, 0);
  (void)put_tar_number(block, tar_field::kSize, size);
  (void)put_tar_number(block, tar_field::kTime, 0);
  block[tar_field::kType.at] = type;
  put(block, tar_field::kMagic, std::string_view{"ustar\00000", 8});
  return block;
}

void seal(Block& block) {
  constexpr TarField digits{tar_field::kSum.at, 7};
  (void)put_tar_number(block, digits, tar_sum(block));
  block[tar_field::kSum.at + 7] = ' ';
}

}  // namespace

TarWriter::TarWriter(Out out) : out_{std::move(out)} {}

Result<> TarWriter::begin(const TarEntry& entry) {
  if (left_ > 0) return fail(Errc::internal, "a tar member is shorter than declared");
  std::string path = entry.path;
  if (entry.kind == TarEntry::Kind::directory && !path.ends_with('/')) path += '/';
  const std::uint64_t size = entry.kind == TarEntry::Kind::file ? entry.size : 0;

  Block block = header(type_of(entry.kind), path, 0);
  std::string records;
  const auto number = [&](TarField field, std::string_view key, std::uint64_t value) {
    if (!put_tar_number(block, field, value)) {
      (void)put_tar_number(block, field, 0);
      add_record(records, key, std::to_string(value));
    }
  };
  if (path.size() > tar_field::kName.size) add_record(records, "path", path);
  if (entry.target.size() > tar_field::kLink.size) add_record(records, "linkpath", entry.target);
  put(block, tar_field::kLink, entry.target);
  (void)put_tar_number(block, tar_field::kMode, entry.mode & 07777U);
  number(tar_field::kUid, "uid", entry.uid);
  number(tar_field::kGid, "gid", entry.gid);
  number(tar_field::kSize, "size", size);
  if (entry.seconds < 0 || entry.nanoseconds > 0 ||
      !put_tar_number(block, tar_field::kTime, static_cast<std::uint64_t>(entry.seconds))) {
    (void)put_tar_number(block, tar_field::kTime, 0);
    if (entry.seconds > 0) (void)put_tar_number(block, tar_field::kTime, static_cast<std::uint64_t>(entry.seconds));
    add_record(records, "mtime", time_text(entry.seconds, entry.nanoseconds));
  }
  seal(block);

  if (!records.empty()) {
    Block extended = header('x', "PaxHeaders/" + path, records.size());
    seal(extended);
    records.append(tar_padding(records.size()), '\0');
    records.insert(0, extended.data(), extended.size());
  }
  records.append(block.data(), block.size());
  left_ = size;
  padding_ = tar_padding(size);
  return out_(records);
}

Result<> TarWriter::write(std::string_view content) {
  if (content.size() > left_) return fail(Errc::internal, "a tar member is longer than declared");
  if (content.empty()) return {};
  left_ -= content.size();
  if (auto written = out_(content); !written || left_ > 0) return written;
  return out_({kZeros.data(), padding_});
}

Result<> TarWriter::finish() {
  if (left_ > 0) return fail(Errc::internal, "a tar member is shorter than declared");
  SKIFF_TRY_VOID(out_({kZeros.data(), kZeros.size()}));
  return out_({kZeros.data(), kZeros.size()});
}

}  // namespace skiff::fs
