#include "fs/search/glob.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>

namespace skiff::fs {
namespace {

constexpr std::size_t kMatchesAtOnce = 512;
constexpr std::chrono::milliseconds kPathPatience{50};

/// Expands braces: `a{b,c{d,e}}` is ab, acd, ace.
class Braces {
 public:
  explicit Braces(std::string_view pattern) : pattern_{pattern} {}

  Result<std::vector<std::string>> expand() {
    auto all = sequence(0);
    if (all && at_ < pattern_.size()) return fail(Errc::invalid_field, "a \"}\" in the pattern has no \"{\"");
    return all;
  }

 private:
  Result<std::vector<std::string>> sequence(unsigned depth) {
    std::vector<std::string> all{""};
    const auto add = [&all](std::string_view text) {
      for (std::string& one : all) one += text;
    };
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '}' || (c == ',' && depth > 0)) {
        if (depth > 0 || c == '}') return all;
      }
      std::size_t size = 1;
      if (c == '\\') {
        size = 2;
      } else if (c == '[') {
        const auto end = bracket_end(pattern_, at_);
        if (!end) return fail(Errc::invalid_field, "a \"[\" in the pattern is not closed, or its class is not known");
        size = *end - at_ + 1;
      } else if (c == '{') {
        auto choices = group(depth + 1);
        if (!choices) return choices;
        if (all.size() * choices->size() > Glob::kMostAlternatives) return too_many();
        std::vector<std::string> product;
        for (const std::string& left : all) {
          for (const std::string& right : *choices) product.push_back(left + right);
        }
        all = std::move(product);
        continue;
      }
      add(pattern_.substr(at_, size));
      at_ = std::min(at_ + size, pattern_.size());
    }
    return all;
  }

  Result<std::vector<std::string>> group(unsigned depth) {
    if (depth > 32) return fail(Errc::invalid_field, "the braces of the pattern are nested too deeply");
    std::vector<std::string> choices;
    do {
      ++at_;  // skips the brace or the comma
      auto choice = sequence(depth);
      if (!choice) return choice;
      std::ranges::move(*choice, std::back_inserter(choices));
      if (choices.size() > Glob::kMostAlternatives) return too_many();
      if (at_ == pattern_.size()) return fail(Errc::invalid_field, "a \"{\" in the pattern is not closed");
    } while (pattern_[at_] == ',');
    ++at_;
    return choices;
  }

  static std::unexpected<Error> too_many() {
    return fail(Errc::invalid_field, "the braces of the pattern stand for more than 256 patterns");
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Glob> Glob::compile(std::string_view pattern) {
  if (pattern.empty()) return fail(Errc::invalid_field, "the pattern is empty");
  if (pattern.size() > kLongest) return fail(Errc::invalid_field, "the pattern is longer than 4096 bytes");
  SKIFF_TRY(auto spelled, Braces{pattern}.expand());
  Glob glob;
  for (const std::string& one : spelled) {
    std::string_view text = one;
    while (text.starts_with("./")) text.remove_prefix(2);
    auto compiled = PathWildcard::compile(text);
    if (!compiled) return fail(Errc::invalid_field, "the pattern ends with a backslash, or a \"[\" is not closed");
    glob.alternatives_.push_back(std::move(*compiled));
  }
  return glob;
}

bool Glob::matches(std::string_view path) const noexcept {
  return std::ranges::any_of(alternatives_, [path](const PathWildcard& one) { return one.matches(path); });
}

bool Glob::may_match_beneath(std::string_view directory) const noexcept {
  return std::ranges::any_of(alternatives_,
                             [directory](const PathWildcard& one) { return one.may_match_beneath(directory); });
}

GlobSummary find_matches(const UniqueFd& directory, const Glob& glob, const GlobOptions& options,
                         const std::stop_token& stop, const GlobSink& sink) {
  using Clock = std::chrono::steady_clock;
  struct Found {
    std::vector<GlobMatch> matches;
    Clock::time_point since;
  };
  std::array<Found, 4> found;  // one entry per thread
  std::mutex mutex;
  GlobSummary summary;
  const auto hand_over = [&](std::vector<GlobMatch>& matches) {
    const std::lock_guard lock{mutex};
    if (summary.truncated) return false;
    const std::uint64_t room = options.most - summary.matches;
    if (matches.size() > room) {
      matches.resize(room);
      summary.truncated = true;
    }
    summary.matches += matches.size();
    const bool wanted = (matches.empty() || sink(matches)) && !summary.truncated;
    summary.truncated = !wanted;
    matches.clear();
    return wanted;
  };
  const WalkSummary walked = walk(directory, options.walk, stop, [&](const WalkEntry& entry) {
    Found& mine = found[entry.thread];
    if (glob.matches(entry.path)) {
      if (mine.matches.empty()) mine.since = Clock::now();
      mine.matches.push_back({std::string{entry.path}, entry.kind});
    }
    // Report the few matches in a large tree soon. Reading the clock for every name would dominate the cost.
    if (!mine.matches.empty() && (mine.matches.size() >= kMatchesAtOnce || Clock::now() - mine.since > kPathPatience) &&
        !hand_over(mine.matches)) {
      return WalkStep::stop;
    }
    if (entry.kind != WalkEntry::Kind::directory) return WalkStep::go_on;
    return glob.may_match_beneath(entry.path) ? WalkStep::go_on : WalkStep::leave_out;
  });
  for (Found& mine : found) {
    if (!mine.matches.empty() && !summary.truncated) (void)hand_over(mine.matches);
  }
  summary.unreadable = walked.unreadable;
  summary.truncated = summary.truncated || walked.stopped;
  return summary;
}

}  // namespace skiff::fs
