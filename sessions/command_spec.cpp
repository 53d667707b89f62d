#include "sessions/command_spec.hpp"

#include <string_view>

#include "base/bytes/sha.hpp"

namespace skiff::sessions {
namespace {

/// Hashes fields, each with its length, so that no two lists of fields hash the same bytes.
class FieldHash {
 public:
  void number(std::uint64_t value) { hash_.add({reinterpret_cast<const char*>(&value), sizeof value}); }
  void text(std::string_view value) {
    number(value.size());
    hash_.add(value);
  }
  template <class Optional>
  void maybe_number(const Optional& value) {
    number(value ? 1 : 0);
    if (value) number(static_cast<std::uint64_t>(*value));
  }
  void maybe_text(const std::optional<std::string>& value) {
    number(value ? 1 : 0);
    if (value) text(*value);
  }
  [[nodiscard]] std::string take() const { return to_hex(hash_.digest()); }

 private:
  Sha256 hash_;
};

}  // namespace

std::string CommandSpec::fingerprint() const {
  FieldHash hash;
  hash.maybe_text(line);
  hash.number(argv.size());
  for (const auto& word : argv) hash.text(word);
  hash.maybe_text(cwd);
  hash.number(env.size());
  for (const auto& [name, value] : env) {
    hash.text(name);
    hash.maybe_text(value);
  }
  hash.maybe_text(user);
  hash.text(input);
  hash.number(input_open ? 1 : 0);
  hash.number(terminal ? 1 : 0);
  if (terminal) {
    hash.number(terminal->cols);
    hash.number(terminal->rows);
  }
  hash.maybe_number(limits.memory_bytes);
  hash.maybe_number(limits.pids);
  hash.maybe_number(limits.cpu_millis);
  hash.maybe_number(limits.cpu_time_ms);
  hash.maybe_number(limits.open_files);
  hash.maybe_number(limits.file_size_bytes);
  return hash.take();
}

}  // namespace skiff::sessions
