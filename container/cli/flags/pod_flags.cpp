#include "container/cli/flags/pod_flags.hpp"

#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/kube/objects/yaml.hpp"

namespace skiff::container {
namespace {

constexpr std::string_view kGroup = "Flags for clusters";
constexpr std::size_t kLongestSpec = std::size_t{1} << 20U;

/// Reads a file with fields of a Pod's spec and returns them as JSON.
Result<std::string> read_spec(const std::string& path, const std::string& flag) {
  SKIFF_TRY(auto text, read_small_file(path, kLongestSpec));
  auto value = kube::parse_yaml(text);
  if (!value) return fail(Errc::invalid_field, flag + " " + path + ": " + value.error().message, flag);
  if (!value->is_object()) {
    return fail(Errc::invalid_field,
                flag + " " + path + ": expected the fields of a Pod's spec, as `tolerations: [...]`", flag);
  }
  return value->dump();
}

}  // namespace

template <class T>
setting::Target PodFlags::target(const PodOption<T>& option) {
  if constexpr (std::is_same_v<T, bool>) {
    return setting::Switch{&(pod_.*option.member)};
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    return setting::Count{&(numbers_[option.flag] = pod_.*option.member), 1, 65535};
  } else if constexpr (std::is_same_v<T, Texts>) {
    return setting::List{&(pod_.*option.member), {option.words.begin(), option.words.end()}};
  } else if constexpr (std::is_same_v<T, Pairs>) {
    return setting::List{&lists_[option.flag]};
  } else if constexpr (std::is_same_v<T, TimeLimit>) {
    return setting::Duration{&times_[option.flag], std::chrono::milliseconds{0}, std::chrono::days{365}};
  } else if constexpr (std::is_enum_v<T>) {
    const auto& words = protocol::Codec<T>::kWords;
    for (const auto& known : protocol::EnumNames<T>::values) {
      if (known.value == pod_.*option.member) texts_[option.flag] = known.name;
    }
    return setting::Choice{&texts_[option.flag], {words.begin(), words.end()}};
  } else if (option.is_file) {
    return setting::Text{&texts_[option.flag]};
  } else if (!option.words.empty()) {
    return setting::Choice{&(pod_.*option.member), {option.words.begin(), option.words.end()}};
  } else {
    return setting::Text{&(pod_.*option.member)};
  }
}

std::vector<Setting> PodFlags::rows() {
  std::vector<Setting> rows;
  for_each_pod_option([&](const auto& option) {
    rows.push_back({.flag = option.flag,
                    .environment = option.environment,
                    .target = target(option),
                    .value = option.value,
                    .group = option.is_of_any_driver || option.is_of_machines ? std::string_view{} : kGroup,
                    .help = option.help,
                    .shown_default = option.shown_default,
                    .letter = option.letter});
  });
  return rows;
}

Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& entries, std::string_view flag) {
  std::map<std::string, std::string> pairs;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(Errc::invalid_field, std::string{flag} + " \"" + entry + "\": expected NAME=VALUE",
                  std::string{flag});
    }
    pairs[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return pairs;
}

template <class T>
Result<> PodFlags::take(const PodOption<T>& option, T& into) const {
  if constexpr (std::is_same_v<T, Pairs>) {
    const auto given = lists_.find(option.flag);
    if (given != lists_.end()) {
      SKIFF_TRY(into, parse_pairs(given->second, option.flag_text()));
    }
  } else if constexpr (std::is_same_v<T, TimeLimit>) {
    const auto given = times_.find(option.flag);
    if (given != times_.end() && given->second.count() > 0) into = given->second;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    const auto given = numbers_.find(option.flag);
    if (given != numbers_.end()) into = static_cast<std::uint16_t>(given->second);
  } else if constexpr (std::is_enum_v<T>) {
    const auto given = texts_.find(option.flag);
    for (const auto& known : protocol::EnumNames<T>::values) {
      if (given != texts_.end() && known.name == given->second) into = known.value;
    }
  } else if (option.is_file) {
    if constexpr (std::is_same_v<T, std::string>) {
      const auto given = texts_.find(option.flag);
      if (given != texts_.end() && !given->second.empty()) {
        SKIFF_TRY(into, read_spec(given->second, option.flag_text()));
      }
    }
  }
  return {};
}

Result<PodOptions> PodFlags::options() const {
  PodOptions pod = pod_;
  SKIFF_TRY_VOID(check_each_pod_option([&](const auto& option) { return take(option, pod.*option.member); }));
  SKIFF_TRY_VOID(check_pod_options(pod));
  return pod;
}

}  // namespace skiff::container
