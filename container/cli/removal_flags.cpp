#include "container/cli/removal_flags.hpp"

#include <array>
#include <utility>

namespace skiff::container {
namespace {

constexpr std::uint64_t kLongestGraceSeconds = 86'400;

}  // namespace

std::vector<Setting> RemovalFlags::rows(char grace_letter) {
  return {{.flag = "force",
           .environment = "",
           .target = setting::Switch{&force_},
           .value = "",
           .group = "",
           .help = "End them at once, and don't wait for a node that does not answer.",
           .letter = 'f'},
          {.flag = "grace-period",
           .environment = "",
           .target = setting::Count{&grace_seconds_, 0, kLongestGraceSeconds},
           .value = "SECONDS",
           .group = "",
           .help = "Longest time for what runs in them to end by itself.",
           .shown_default = "as they were made",
           .letter = grace_letter},
          {.flag = "wait",
           .environment = "",
           .target = setting::Text{&wait_},
           .value = "TIME|false",
           .group = "",
           .help = "Longest time until nothing is left of them. false: don't wait.",
           .shown_default = "2m"}};
}

Result<Removal> RemovalFlags::removal() const {
  Removal how;
  how.force = force_;
  if (grace_seconds_ != kUnset) how.grace = std::chrono::seconds{grace_seconds_};
  if (wait_.empty() || wait_ == "true") return how;
  if (wait_ == "false") {
    how.wait = false;
    return how;
  }
  SettingsTable time{{{.flag = "wait",
                       .environment = "",
                       .target = setting::Duration{&how.patience, std::chrono::milliseconds{100}, std::chrono::days{1}},
                       .value = "TIME",
                       .group = "",
                       .help = ""}}};
  auto read = time.set("wait", std::array{wait_}, "--wait");
  if (!read) return fail(Errc::invalid_field, read.error().message + ", or false", "--wait");
  return how;
}

}  // namespace skiff::container
