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

/// The lines by their time.
std::multimap<std::string, nlohmann::json> lines_of(std::string_view text, bool only_denied) {
  std::multimap<std::string, nlohmann::json> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto line = nlohmann::json::parse(text.substr(0, end), nullptr, false);
    if (line.is_object() && !(only_denied && text_of(line, "verdict") == "allowed")) {
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
    return {{.flag = "denied", .target = setting::Switch{&denied_}, .help = "Only what was refused or cut."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(const auto text, co_await driver->egress_log(arguments.words.at(0)));
    auto lines = lines_of(text, denied_);
    nlohmann::json items = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows{{"TIME", "VERDICT", "HOST", "WHY"}};
    std::string names;
    for (auto& [time, line] : lines) {
      std::string host = text_of(line, "host");
      if (const auto port = line.find("port"); port != line.end()) host += ":" + port->dump();
      std::string why = text_of(line, "code");
      if (const std::string detail = text_of(line, "detail"); !detail.empty())
        why += (why.empty() ? "" : ": ") + detail;
      if (why.empty()) why = text_of(line, "address");
      names += host + "\n";
      rows.push_back({time, text_of(line, "verdict"), std::move(host), std::move(why)});
      items.push_back(std::move(line));
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", items}}, format_table(rows), names));
    co_return 0;
  }

 private:
  bool denied_ = false;
};

}  // namespace

Command egress_log_command() {
  return {
      .name = "egress log",
      .group = "Sandboxes",
      .summary = "show what a sandbox with --egress has reached, and what was refused",
      .text =
          "Each connection of the sandbox's egress proxy is a line, with the rule's host or the reason. The newest\n"
          "lines are kept: up to 8 MiB of each kind. In a cluster they are those that the proxy's Pods still have.\n"
          "\n"
          "  skiff egress log demo --denied",
      .words = {{.name = "NAME", .kind = WordKind::sandbox}},
      .make = &create_invocation<EgressLog>};
}

}  // namespace skiff::container
