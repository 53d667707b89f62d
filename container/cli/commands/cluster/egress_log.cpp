#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"

namespace skiff::container {
namespace {

std::string text_of(const nlohmann::json& line, const char* member) {
  const auto found = line.find(member);
  return found != line.end() && found->is_string() ? printable(found->get<std::string>()) : std::string{};
}

std::string number_of(const nlohmann::json& line, const char* member) {
  const auto found = line.find(member);
  return found != line.end() && found->is_number() ? found->dump() : std::string{};
}

std::string host_of(const nlohmann::json& line) {
  std::string host = text_of(line, "host");
  if (const std::string port = number_of(line, "port"); !port.empty()) host += ":" + port;
  return host;
}

/// A request to a host with a secret; empty for any other line.
std::string request_of(const nlohmann::json& line) {
  std::string request = text_of(line, "method");
  if (request.empty()) return request;
  request += " " + text_of(line, "path");
  if (const std::string status = number_of(line, "status"); !status.empty()) request += " " + status;
  return request + ", secret " + text_of(line, "secret");
}

/// The reason of a refusal; the bytes of a connection that has ended; else the address.
std::string why_of(const nlohmann::json& line) {
  std::string why = text_of(line, "code");
  if (const std::string detail = text_of(line, "detail"); !detail.empty()) {
    why += (why.empty() ? "" : ": ") + detail;
  }
  if (why.empty()) why = text_of(line, "address");
  if (const std::string sent = number_of(line, "sent"); !sent.empty()) {
    why += (why.empty() ? "" : ", ") + sent + " bytes sent, " + number_of(line, "received") + " received in " +
           number_of(line, "ms") + " ms";
  }
  if (const std::string request = request_of(line); !request.empty()) why = request + (why.empty() ? "" : ", ") + why;
  return why;
}

/// The lines by their time.
std::multimap<std::string, nlohmann::json> lines_of(std::string_view text, bool only_denied) {
  constexpr std::string_view kOfRefusals[] = {"denied", "cut", "missing"};
  std::multimap<std::string, nlohmann::json> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto line = nlohmann::json::parse(text.substr(0, end), nullptr, false);
    if (line.is_object() && (!only_denied || std::ranges::count(kOfRefusals, text_of(line, "verdict")) > 0)) {
      std::string time = text_of(line, "time");
      all.emplace(std::move(time), std::move(line));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

class EgressLog final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "denied", .target = setting::Switch{&denied_}, .help = "Only what was refused or cut."},
            {.flag = "follow",
             .target = setting::Switch{&follow_},
             .help = "Continue with new lines until the sandbox is removed. With -o json each line is an object.",
             .letter = 'f'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    const std::string& form = context.options().output;
    if (follow_) {
      if (form != "json" && form != "table" && form != "wide" && form != "name") {
        co_return fail(Errc::invalid_field, "-f prints lines: use -o json, or no -o", "--output");
      }
      SKIFF_CO_TRY_VOID(co_await driver->follow_egress_log(
          arguments.words.at(0), [&](std::string_view lines) { return print_lines(lines, form); }));
      co_return 0;
    }
    SKIFF_CO_TRY(const auto text, co_await driver->egress_log(arguments.words.at(0)));
    auto lines = lines_of(text, denied_);
    nlohmann::json items = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows{{"TIME", "VERDICT", "HOST", "WHY"}};
    std::string names;
    for (auto& [time, line] : lines) {
      names += host_of(line) + "\n";
      rows.push_back({time, text_of(line, "verdict"), host_of(line), why_of(line)});
      items.push_back(std::move(line));
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", items}}, format_table(rows), names));
    co_return 0;
  }

 private:
  [[nodiscard]] Result<> print_lines(std::string_view lines, std::string_view form) const {
    std::string shown;
    for (const auto& [time, line] : lines_of(lines, denied_)) {
      if (form == "json") {
        shown += line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
      } else if (form == "name") {
        shown += host_of(line);
      } else {
        shown += time + "  " + text_of(line, "verdict") + "  " + host_of(line) + "  " + why_of(line);
      }
      shown += '\n';
    }
    return print(shown);
  }

  bool denied_ = false;
  bool follow_ = false;
};

}  // namespace

Command egress_log_command() {
  return {
      .name = "egress log",
      .group = "Sandboxes",
      .summary = "show what a sandbox with --egress has reached, and what was refused",
      .text =
          "Each connection of the sandbox's egress proxy has a line when it begins, and one with its bytes when it\n"
          "ends; a refusal has one. The newest lines are kept: up to 8 MiB of each kind. In a cluster they are those\n"
          "that the proxy's Pods still have.\n"
          "\n"
          "  skiff egress log demo --denied\n"
          "  skiff egress log demo -f",
      .words = {{.name = "NAME", .kind = WordKind::sandbox}},
      .make = &create_invocation<EgressLog>};
}

}  // namespace skiff::container
