#include "runtime/process/exposure.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace skiff::runtime {
namespace {

bool everybody_reads(const std::string& file) {
  struct stat info{};
  return ::stat(file.c_str(), &info) == 0 && (info.st_mode & S_IROTH) != 0;
}

/// The root of the files that clients of the dialect e2b use with --e2b-home.
const std::string kWholeSystem = "/";

bool lies_below(const std::string& file, const std::string& directory) {
  std::error_code error;
  const auto inner = std::filesystem::canonical(file, error);
  if (error) return false;
  const auto outer = std::filesystem::canonical(directory, error);
  return !error && std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace

std::vector<std::string> exposures(const Settings& settings, const std::vector<protocol::Address>& addresses) {
  std::vector<std::string> found;
  for (const auto& [flag, file] : {std::pair{std::string_view{"--token-file"}, settings.token_file},
                                   std::pair{std::string_view{"--tls-key"}, settings.tls_key}}) {
    if (file.empty()) continue;
    const std::string named = std::string{flag} + " \"" + file + '"';
    if (everybody_reads(file)) found.push_back(named + " can be read by every user, so by commands of every user");
    const std::string& root = settings.e2b_home.empty() ? settings.root : kWholeSystem;
    if (lies_below(file, root)) {
      std::string line = named;
      line.append(" lies below the root \"").append(root).append("\", where clients and commands read files");
      found.push_back(std::move(line));
    }
  }
  for (const protocol::Address& address : addresses) {
    if (address.is_loopback() || !settings.tls_cert.empty()) continue;
    found.push_back("tokens and data for " + address.text() +
                    " cross the network in plain text: --tls-cert and --tls-key encrypt them");
  }
  return found;
}

}  // namespace skiff::runtime
