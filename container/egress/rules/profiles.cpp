#include "container/egress/rules/profiles.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "protocol/json/utf8.hpp"

namespace skiff::container::egress {
namespace {

using std::string_view_literals::operator""sv;

constexpr char kProfileMark = '@';
constexpr std::size_t kShownOfName = 100;

constexpr std::array kAnthropic{"api.anthropic.com"sv};
constexpr std::array kCargo{"index.crates.io"sv, "static.crates.io"sv};
// The images of Debian name its archive without TLS; its packages are signed.
constexpr std::array kDebian{"deb.debian.org"sv, "security.debian.org"sv, "http://deb.debian.org"sv,
                             "http://security.debian.org"sv};
// Clones and pushes, the API, archives, single files, and what releases have.
constexpr std::array kGithub{"github.com"sv,
                             "api.github.com"sv,
                             "codeload.github.com"sv,
                             "raw.githubusercontent.com"sv,
                             "objects.githubusercontent.com"sv,
                             "release-assets.githubusercontent.com"sv};
constexpr std::array kGitlab{"gitlab.com"sv};
constexpr std::array kGo{"proxy.golang.org"sv, "sum.golang.org"sv};
constexpr std::array kHuggingface{"huggingface.co"sv,       "cdn-lfs.hf.co"sv,           "cdn-lfs-us-1.hf.co"sv,
                                  "cdn-lfs-eu-1.hf.co"sv,   "cas-server.xethub.hf.co"sv, "cas-bridge.xethub.hf.co"sv,
                                  "transfer.xethub.hf.co"sv};
constexpr std::array kNpm{"registry.npmjs.org"sv};
constexpr std::array kOpenai{"api.openai.com"sv};
constexpr std::array kPypi{"pypi.org"sv, "files.pythonhosted.org"sv};

/// Sorted by their names.
constexpr std::array kProfiles{
    Profile{"anthropic", kAnthropic},     Profile{"cargo", kCargo},
    Profile{"debian", kDebian},           Profile{"github", kGithub},
    Profile{"gitlab", kGitlab},           Profile{"go", kGo},
    Profile{"huggingface", kHuggingface}, Profile{"npm", kNpm},
    Profile{"openai", kOpenai},           Profile{"pypi", kPypi},
};

}  // namespace

std::span<const Profile> profiles() {
  return kProfiles;
}

Result<std::vector<std::string>> with_profiles(std::span<const std::string> rules) {
  std::vector<std::string> all;
  for (const std::string& rule : rules) {
    if (!rule.starts_with(kProfileMark)) {
      all.push_back(rule);
      continue;
    }
    const auto found = std::ranges::find(kProfiles, std::string_view{rule}.substr(1), &Profile::name);
    if (found == kProfiles.end()) {
      std::string known;
      for (const Profile& one : kProfiles) known.append(known.empty() ? "@" : ", @").append(one.name);
      return fail(Errc::invalid_field,
                  "--egress \"" + protocol::to_valid_utf8(rule.substr(0, kShownOfName)) +
                      "\": unknown profile; use one of " + known,
                  "--egress");
    }
    all.insert(all.end(), found->rules.begin(), found->rules.end());
  }
  return all;
}

}  // namespace skiff::container::egress
