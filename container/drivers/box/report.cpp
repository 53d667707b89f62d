#include "container/drivers/box/report.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/small_file.hpp"

namespace skiff::container::box {
namespace {

constexpr std::size_t kLongestLabel = 4096;

std::string& noted_label() {
  static std::string label;
  return label;
}

}  // namespace

void note_label() {
  noted_label() = read_small_file("/proc/thread-self/attr/current", kLongestLabel).value_or("");
}

void report(const std::string& line) noexcept {
  // A short line fits into the socket. If nobody reads it, nobody waits for the box.
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, line.data(), line.size());
}

void refuse(Step step, std::string what) {
  report(refusal_line({.step = step, .error = errno, .what = std::move(what), .label = noted_label()}));
  ::_exit(1);
}

}  // namespace skiff::container::box
