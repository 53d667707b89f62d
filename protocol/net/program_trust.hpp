#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Certificates as programs look for them: in a directory that has some of ours, and in files of the system.
namespace skiff::protocol {

/// Our certificates in such a directory, and those behind the system's own.
inline constexpr std::string_view kOwnCertificates = "/ca.pem";
inline constexpr std::string_view kCertificateBundle = "/ca-bundle.pem";

/// The certificates that programs of this system trust, PEM; empty if they are in no place that is known.
[[nodiscard]] std::string system_certificates();

/// Adds the variables by which programs find the two files. One that is set stays.
void add_trust_variables(const std::string& directory, std::map<std::string, std::string>& environment);

/// A file of settings in that directory, for a program that no variable tells of certificates.
struct TrustSettings {
  std::string path;
  std::string variable;  ///< names the file to the program
  std::string text;
};
[[nodiscard]] std::vector<TrustSettings> trust_settings(const std::string& directory);

}  // namespace skiff::protocol
