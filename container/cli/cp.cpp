#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/cli/terminal.hpp"
#include "container/launcher/copy.hpp"

namespace skiff::container {
namespace {

/// NAME:PATH; a path with a slash before the colon is none, nor is one without a colon.
struct Remote {
  std::string name;
  std::string path;
};

std::optional<Remote> remote_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.find('/') < colon) return std::nullopt;
  const std::string path = text.substr(colon + 1);
  return Remote{text.substr(0, colon), path.empty() ? "." : path};
}

/// Redraws one line some times a second, and when all is there.
class Meter {
 public:
  Meter() = default;
  ~Meter() {
    if (drawn_) write("\r\033[K");
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  void show(std::uint64_t bytes, std::optional<std::uint64_t> total) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_all = total && bytes >= *total;
    if (!is_all && now - last_ < std::chrono::milliseconds{100}) return;
    last_ = now;
    drawn_ = true;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const auto rate = static_cast<unsigned long long>(seconds > 0 ? static_cast<double>(bytes) / seconds : 0);
    std::string line = "\r\033[K" + format_size(bytes);
    if (total) {
      // What grows meanwhile is more than was counted.
      const std::uint64_t percent = is_all ? 100 : bytes * 100 / *total;
      line += " of " + format_size(std::max(bytes, *total)) + "  " + std::to_string(percent) + "%";
    }
    write(line + "  " + format_size(rate) + "/s");
  }

 private:
  static void write(const std::string& text) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  bool drawn_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = began_;
};

class Copy final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const auto from = remote_of(arguments.words.at(0));
    const auto to = remote_of(arguments.words.at(1));
    if (from.has_value() == to.has_value()) {
      co_return fail(Errc::invalid_field,
                     "exactly one of the two is NAME:PATH; write ./a:b for a file of that name here");
    }
    auto agent = co_await context.agent(from ? from->name : to->name);
    if (!agent) co_return std::unexpected{std::move(agent.error())};
    Meter meter;
    CopyProgress progress;
    if (shows_progress() && !context.options().quiet) {
      progress = [&meter](std::uint64_t bytes, std::optional<std::uint64_t> total) { meter.show(bytes, total); };
    }
    Result<TarSummary> copied = std::unexpected{Error{}};
    if (from) {
      copied = co_await copy_out(agent->get(), from->path, arguments.words.at(1), std::move(progress));
    } else {
      copied = co_await copy_in(agent->get(), arguments.words.at(0), to->path, std::move(progress));
    }
    if (!copied) co_return std::unexpected{std::move(copied.error())};
    if (copied->skipped > 0) say(std::to_string(copied->skipped) + " sockets, pipes or devices were left out");
    const std::string& form = context.options().output;
    if (form == "json" || form == "yaml") {
      const nlohmann::json value{{"entries", copied->entries}, {"bytes", copied->bytes}, {"skipped", copied->skipped}};
      if (auto shown = context.show(value, "", ""); !shown) co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }
};

}  // namespace

Command cp_command() {
  return {.name = "cp",
          .group = "Files",
          .summary = "copy files and folders into a sandbox or out of it",
          .text =
              "As cp -r does: into the destination if that is a folder, else under that name; FOLDER/. means what\n"
              "is in it. Modes and links are kept.\n\n"
              "  skiff cp src demo:work\n"
              "  skiff cp demo:work/result.json .",
          .words = {{.name = "FROM", .kind = WordKind::any_path}, {.name = "TO", .kind = WordKind::any_path}},
          .make = &make_invocation<Copy>};
}

}  // namespace skiff::container
