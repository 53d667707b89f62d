#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "fs/archive/other_forms.hpp"
#include "fs/archive/tar.hpp"
#include "fs/archive/tar_header.hpp"
#include "fs/path/path.hpp"

namespace skiff::fs {
namespace {

std::unexpected<Error> malformed(std::string what) {
  return fail(Errc::malformed_archive, std::move(what));
}

template <class Number>
std::optional<Number> decimal(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The limit of a billion years prevents overflows in later arithmetic.
constexpr bool is_time(std::int64_t seconds) {
  constexpr std::int64_t most = std::int64_t{1} << 55U;
  return seconds > -most && seconds < most;
}

struct Time {
  std::int64_t seconds;
  std::uint32_t nanoseconds;
};

/// Parses a time: "-1.25" is 1.25 seconds before 1970.
std::optional<Time> time_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::size_t point = text.find('.');
  const auto seconds = decimal<std::int64_t>(text.substr(0, point));
  if (!seconds || !is_time(*seconds)) return std::nullopt;
  std::uint32_t nanoseconds = 0;
  if (point != std::string_view::npos) {
    std::string digits{text.substr(point + 1)};
    if (!digits.empty() && digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    digits.resize(9, '0');
    nanoseconds = decimal<std::uint32_t>(digits).value_or(0);
  }
  if (!negative || nanoseconds == 0) return Time{*seconds, nanoseconds};
  return Time{*seconds - 1, 1'000'000'000 - nanoseconds};
}

}  // namespace

/// The data of the extended headers before a member.
struct TarReader::Extended {
  std::optional<std::string> path, target;
  std::optional<std::uint64_t> size;
  std::optional<std::uint32_t> uid, gid;
  std::optional<Time> time;
  TarSparse sparse;

  /// Takes one record of a pax header.
  Result<> take(std::string_view key, std::string_view value) {
    if (value.contains('\0')) return malformed("an extended header holds a zero byte");
    if (key.starts_with("GNU.sparse.")) return sparse.take(key, value);
    bool fine = true;
    if (key == "path") {
      path = value;
    } else if (key == "linkpath") {
      target = value;
    } else if (key == "size") {
      fine = (size = decimal<std::uint64_t>(value)).has_value();
    } else if (key == "uid") {
      fine = (uid = decimal<std::uint32_t>(value)).has_value();
    } else if (key == "gid") {
      fine = (gid = decimal<std::uint32_t>(value)).has_value();
    } else if (key == "mtime") {
      fine = (time = time_of(value)).has_value();
    }
    if (!fine) return malformed("an extended header has no valid " + std::string{key});
    return {};
  }

  Result<> take_all(std::string_view records) {
    while (!records.empty()) {
      const std::size_t space = records.find(' ');
      const auto length = decimal<std::size_t>(records.substr(0, space));
      if (space == std::string_view::npos || !length || *length <= space + 1 || *length > records.size() ||
          records[*length - 1] != '\n') {
        return malformed("an extended header is damaged");
      }
      const std::string_view record = records.substr(space + 1, *length - space - 2);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos || equals == 0) return malformed("an extended header is damaged");
      SKIFF_TRY_VOID(take(record.substr(0, equals), record.substr(equals + 1)));
      records.remove_prefix(*length);
    }
    return {};
  }
};

TarReader::TarReader(ByteSource source, Skip skip) : source_{std::move(source)}, skip_source_{std::move(skip)} {}

/// Fills `block`; returns false when the archive ends right before it.
Result<bool> TarReader::read_block(std::span<char> block) {
  std::size_t size = 0;
  while (size < block.size()) {
    SKIFF_TRY(const auto got, source_(block.subspan(size)));
    if (got == 0 && size == 0) return false;
    if (got == 0) return malformed("the archive is truncated");
    size += got;
  }
  return true;
}

Result<std::string> TarReader::read_extra(std::uint64_t size) {
  if (size > kLongestHeader) return malformed("an extended header is larger than 1 MiB");
  std::string text(static_cast<std::size_t>(size) + tar_padding(size), '\0');
  SKIFF_TRY(const auto read, read_block(text));
  if (!read && !text.empty()) return malformed("the archive is truncated");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<> TarReader::skip() {
  std::array<char, 32768> ignored;
  std::uint64_t rest = std::exchange(left_, 0) + std::exchange(padding_, 0);
  if (skip_source_) {
    skip_source_(rest);
    return {};
  }
  while (rest > 0) {
    SKIFF_TRY(
        const auto got,
        source_(std::span{ignored}.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest, ignored.size())))));
    if (got == 0) return malformed("the archive is truncated");
    rest -= got;
  }
  return {};
}

Result<std::size_t> TarReader::read(std::span<char> into) {
  if (left_ == 0 || into.empty()) return 0;
  std::uint64_t most = std::min<std::uint64_t>(into.size(), left_);
  if (piece_ < pieces_.size()) most = std::min(most, pieces_[piece_].size - offset_);
  const auto got = source_(into.first(static_cast<std::size_t>(most)));
  if (!got) return got;
  if (*got == 0) return malformed("the archive is truncated");
  left_ -= *got;
  offset_ += *got;
  if (piece_ < pieces_.size() && offset_ == pieces_[piece_].size) {
    ++piece_;
    offset_ = 0;
  }
  return got;
}

Result<std::optional<TarEntry>> TarReader::next() {
  SKIFF_TRY_VOID(skip());
  pieces_.clear();
  piece_ = 0;
  offset_ = 0;
  Extended extended;
  bool has_extended = false;
  for (;;) {
    std::array<char, kTarBlock> block{};
    const auto read = read_block(block);
    // A tar checksum proves tar; only without it does the beginning decide about another format.
    const bool is_first = std::exchange(is_first_, false);
    if (is_first && (!read || tar_number(block, tar_field::kSum) != std::int64_t{tar_sum(block)})) {
      if (const auto form = other_form({block.data(), block.size()}); !form.empty()) {
        return fail(Errc::unsupported_media_type,
                    "this is " + std::string{form} + ": send tar, plain or compressed with gzip or zstd");
      }
    }
    if (!read) return std::unexpected{read.error()};
    if (!*read) return malformed("the archive ends without its end mark: it is truncated, or not a tar archive");
    if (std::ranges::all_of(block, [](char c) { return c == '\0'; })) {
      if (has_extended) return malformed("no member follows an extended header");
      return std::nullopt;
    }
    if (tar_number(block, tar_field::kSum) != std::int64_t{tar_sum(block)}) {
      return malformed("a header has a wrong checksum: the bytes are damaged, or not a tar archive");
    }
    const char type = block[tar_field::kType.at];
    if (type == 'V' && !has_extended) {
      // A label names the whole archive and has no content.
      const auto size = tar_number(block, tar_field::kSize);
      if (size != 0) return malformed("a label has content");
      continue;
    }
    if (type != 'x' && type != 'g' && type != 'L' && type != 'K') return entry_of(block, extended);

    const auto size = tar_number(block, tar_field::kSize);
    if (!size || *size < 0) return malformed("an extended header has no valid size");
    SKIFF_TRY(auto text, read_extra(static_cast<std::uint64_t>(*size)));
    if (type == 'g') {
      // Global headers describe the creator of the archive; one that names all members makes no sense.
      Extended global;
      SKIFF_TRY_VOID(global.take_all(text));
      if (global.path || global.target || global.size || global.sparse.any()) {
        return malformed("a global header names a path or a size");
      }
      continue;
    }
    has_extended = true;
    if (type == 'x') {
      SKIFF_TRY_VOID(extended.take_all(text));
    } else {
      text.resize(std::min(text.find('\0'), text.size()));
      (type == 'L' ? extended.path : extended.target) = std::move(text);
    }
  }
}

/// Reads the map of a sparse file from the header and its extensions, or from the beginning of the content.
Result<> TarReader::read_map(std::span<const char> block, TarSparse& sparse) {
  constexpr TarField real_size{483, 12};
  if (block[tar_field::kType.at] == 'S') {
    const auto size = tar_number(block, real_size);
    if (!size || *size < 0) return malformed("the size of a sparse file is damaged");
    sparse.set_size(static_cast<std::uint64_t>(*size));
    SKIFF_TRY_VOID(sparse.take_header(block, 386, 4));
    std::array<char, kTarBlock> more;
    for (bool goes_on = block[482] != '\0'; goes_on; goes_on = more[504] != '\0') {
      SKIFF_TRY(const auto read, read_block(more));
      if (!read) return malformed("the archive is truncated");
      SKIFF_TRY_VOID(sparse.take_header(more, 0, 21));
    }
  }
  std::string text;
  for (bool known = !sparse.map_is_content(); !known;) {
    if (left_ < kTarBlock) return malformed("the map of a sparse file is damaged");
    std::array<char, kTarBlock> more;
    SKIFF_TRY(const auto read, read_block(more));
    if (!read) return malformed("the archive is truncated");
    left_ -= more.size();
    text.append(more.data(), more.size());
    SKIFF_TRY(known, sparse.take_map(text));
  }
  SKIFF_TRY(pieces_, sparse.pieces(left_));
  return {};
}

Result<std::optional<TarEntry>> TarReader::entry_of(std::span<const char> block, Extended& extended) {
  TarEntry entry;
  entry.path = tar_text(block, tar_field::kName);
  // GNU's own format uses the bytes of ustar's name prefix for other data.
  const bool is_ustar = tar_text(block, {tar_field::kMagic.at, 6}) == "ustar";
  if (const auto prefix = tar_text(block, tar_field::kPrefix); is_ustar && !prefix.empty()) {
    entry.path = std::string{prefix} + '/' + entry.path;
  }
  entry.target = tar_text(block, tar_field::kLink);
  if (extended.path) entry.path = *extended.path;
  if (extended.sparse.name()) entry.path = *extended.sparse.name();
  if (extended.target) entry.target = *extended.target;
  if (entry.path.empty()) return malformed("a member has no name");
  if (entry.path.size() > kLongestPath || entry.target.size() > kLongestPath) {
    return fail(Errc::name_too_long, "a path in the archive is longer than 4095 bytes");
  }

  const auto mode = tar_number(block, tar_field::kMode), uid = tar_number(block, tar_field::kUid),
             gid = tar_number(block, tar_field::kGid), time = tar_number(block, tar_field::kTime);
  const auto stated = tar_number(block, tar_field::kSize);
  const auto is_id = [](const std::optional<std::int64_t>& id) { return id && *id >= 0 && *id <= 0xFFFFFFFFLL; };
  if (!mode || !is_id(uid) || !is_id(gid) || !time || !is_time(*time) || !stated || *stated < 0) {
    return malformed("the header of \"" + entry.path + "\" is damaged");
  }
  entry.mode = static_cast<unsigned>(*mode) & 07777U;
  entry.uid = extended.uid.value_or(static_cast<std::uint32_t>(*uid));
  entry.gid = extended.gid.value_or(static_cast<std::uint32_t>(*gid));
  const Time changed = extended.time.value_or(Time{*time, 0});
  entry.seconds = changed.seconds;
  entry.nanoseconds = changed.nanoseconds;
  std::uint64_t size = extended.size.value_or(static_cast<std::uint64_t>(*stated));
  constexpr std::uint64_t most = std::uint64_t{1} << 62U;
  if (size > most) return malformed("the size of \"" + entry.path + "\" is out of range");

  switch (const char type = block[tar_field::kType.at]; type) {
    case '0':
    case '\0':
    case '7':
    case 'S':
      entry.kind = entry.path.ends_with('/') ? TarEntry::Kind::directory : TarEntry::Kind::file;
      break;
    case '1':
      entry.kind = TarEntry::Kind::hard_link;
      break;
    case '2':
      entry.kind = TarEntry::Kind::link;
      break;
    case 'D':
      // A directory of an incremental archive: the list of its names follows as content.
      entry.kind = TarEntry::Kind::directory;
      left_ = size;
      padding_ = tar_padding(size);
      return entry;
    case 'M':
      return fail(Errc::not_supported,
                  in_quotes(entry.path) + " begins in another volume of the archive: put the volumes together first");
    case '5':
      entry.kind = TarEntry::Kind::directory;
      // Some programs write the size of a directory on disk.
      size = 0;
      break;
    case '3':
    case '4':
    case '6':
      entry.kind = TarEntry::Kind::other;
      size = 0;
      break;
    default:
      return fail(Errc::not_supported, std::string{"the archive holds a member of the unknown type '"} + type + "'");
  }
  const bool is_link = entry.kind == TarEntry::Kind::link || entry.kind == TarEntry::Kind::hard_link;
  if (is_link && entry.target.empty()) return malformed("the link \"" + entry.path + "\" has no target");
  if (!is_link) entry.target.clear();
  // Programs disagree about whether content follows, so refuse it.
  if (entry.kind != TarEntry::Kind::file && size > 0) {
    return malformed("\"" + entry.path + "\" has content, but is not a file");
  }
  entry.size = entry.stored = left_ = size;
  padding_ = tar_padding(size);
  TarSparse& sparse = extended.sparse;
  if (block[tar_field::kType.at] != 'S' && !sparse.any()) return entry;
  if (entry.kind != TarEntry::Kind::file) return malformed(in_quotes(entry.path) + " is sparse, but is not a file");
  SKIFF_TRY_VOID(read_map(block, sparse));
  SKIFF_TRY(entry.size, sparse.size());
  if (entry.size > most) return malformed("the size of " + in_quotes(entry.path) + " is out of range");
  entry.stored = left_;
  return entry;
}

}  // namespace skiff::fs
