#include "container/cli/parse/config_file.hpp"

#include <cstdlib>

#include <yaml-cpp/yaml.h>

#include "base/small_file.hpp"
#include "container/host/state_directory.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kLongestConfig = std::size_t{1} << 20U;

std::string usual_path() {
  if (const char* directory = std::getenv("XDG_CONFIG_HOME"); directory != nullptr && directory[0] == '/') {
    return std::string{directory} + "/skiff/config.yaml";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string{home} + "/.config/skiff/config.yaml";
  }
  return {};
}

}  // namespace

Result<ConfigFile> parse_config(const std::string& text, std::string path) {
  ConfigFile config{.path = std::move(path), .values = {}};
  const auto refuse = [&config](const YAML::Mark& mark, const std::string& why) {
    return fail(Errc::invalid_field, config.path + ":" + std::to_string(mark.line + 1) + ": " + why, config.path);
  };
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return config;
    if (!root.IsMap()) return refuse(root.Mark(), "expected `flag: value` lines");
    for (const auto& entry : root) {
      const std::string key = entry.first.Scalar();
      const YAML::Node& value = entry.second;
      std::vector<std::string>& into = config.values[key];
      if (value.IsScalar()) {
        into.push_back(value.Scalar());
        continue;
      }
      if (!value.IsSequence()) return refuse(value.Mark(), key + ": expected a value or a list of values");
      for (const YAML::Node& item : value) {
        if (!item.IsScalar()) return refuse(item.Mark(), key + ": expected a list of plain values");
        into.push_back(item.Scalar());
      }
    }
  } catch (const YAML::Exception& error) {
    return refuse(error.mark, error.msg);
  }
  return config;
}

Result<ConfigFile> read_config(std::string path) {
  const bool is_asked_for = !path.empty();
  if (!is_asked_for) path = usual_path();
  if (path.empty()) return ConfigFile{};
  auto text = read_small_file(path, kLongestConfig);
  if (!text) {
    if (!is_asked_for && text.error().code == Errc::path_not_found) return ConfigFile{};
    return std::unexpected{std::move(text.error())};
  }
  return parse_config(*text, std::move(path));
}

}  // namespace skiff::container
