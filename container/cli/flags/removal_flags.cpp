#include "container/cli/flags/removal_flags.hpp"

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

namespace skiff::container {
namespace {

/// Reads a time as a flag of type time is read. `more` adds further permitted forms to the message.
Result<std::chrono::milliseconds> read_time(std::string_view flag, const std::string& text,
                                            std::chrono::milliseconds least, std::string_view more) {
  std::chrono::milliseconds time{0};
  SettingsTable table{
      {{.flag = flag, .target = setting::Duration{&time, least, std::chrono::days{1}}, .value = "TIME", .help = ""}}};
  const std::string where = "--" + std::string{flag};
  if (auto read = table.set(flag, std::array{text}, where); !read) {
    return fail(Errc::invalid_field, read.error().message + std::string{more}, where);
  }
  return time;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::vector<Setting> RemovalFlags::rows(char grace_letter) {
  return {{.flag = "force",
           .target = setting::Switch{&force_},
           .help = "Kill processes immediately. Do not wait for a node that does not answer, and pass over a container "
                   "engine that is not there: its container may still run.",
           .letter = 'f'},
          {.flag = "grace-period",
           .target = setting::Text{&grace_},
           .value = "TIME",
           .help = "How long processes may take to end by themselves, for example 5s; a plain number is seconds.",
           .shown_default = "the sandbox's own",
           .letter = grace_letter},
          {.flag = "wait",
           .target = setting::Text{&wait_},
           .value = "TIME|false",
           .help = "How long to wait until they are gone. false: do not wait.",
           .shown_default = "2m"}};
}

Result<Removal> RemovalFlags::removal() const {
  using namespace std::chrono_literals;
  Removal how;
  how.force = force_;
  if (!grace_.empty()) {
    // A plain number means seconds, as in kubectl and docker.
    SKIFF_TRY(auto grace,
              read_time("grace-period", is_number(grace_) ? grace_ + "s" : grace_, 0ms, ", or a number of seconds"));
    how.grace = std::chrono::ceil<std::chrono::seconds>(grace);
  }
  if (wait_.empty() || wait_ == "true") return how;
  if (wait_ == "false") {
    how.wait = false;
    return how;
  }
  SKIFF_TRY(how.patience, read_time("wait", wait_, 100ms, ", or false"));
  return how;
}

}  // namespace skiff::container
