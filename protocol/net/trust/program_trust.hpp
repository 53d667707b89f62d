#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

/// Certificates as programs look for them: in a directory that has some of ours, and in files of the system.
namespace skiff::protocol {

/// The files of such a directory: our certificates, those behind the system's own, the same for Java, and ours as a
/// policy of Chromium.
inline constexpr std::string_view kOwnCertificates = "ca.pem";
inline constexpr std::string_view kCertificateBundle = "ca-bundle.pem";
inline constexpr std::string_view kJavaTrustStore = "trust.p12";
inline constexpr std::string_view kChromiumPolicy = "chromium.json";
inline constexpr std::array kTrustFiles{kOwnCertificates, kCertificateBundle, kJavaTrustStore, kChromiumPolicy};

/// Where Chromium, Chrome and Chrome for Testing look for policies: a link there leads them to ours.
inline constexpr std::array kChromiumPolicyLinks = std::to_array<std::string_view>(
    {"/etc/chromium/policies/managed/skiff.json", "/etc/opt/chrome/policies/managed/skiff.json",
     "/etc/opt/chrome_for_testing/policies/managed/skiff.json"});

/// The certificates that programs of this system trust, PEM; empty if they are in no place that is known.
[[nodiscard]] std::string system_certificates();

/// The content of each of these files, by its name, if `ca_pem` are our certificates.
[[nodiscard]] Result<std::map<std::string_view, std::string>> trust_files(const std::string& ca_pem);

/// Adds the variables by which programs find the files of PEM. One that is set stays.
void add_trust_variables(const std::string& directory, std::map<std::string, std::string>& environment);

/// A file of settings in that directory, for a program that no variable tells of certificates.
struct TrustSettings {
  std::string path;
  std::string variable;  ///< names the file to the program
  std::string text;
};
[[nodiscard]] std::vector<TrustSettings> trust_settings(const std::string& directory);

/// Adds the variables by which programs find these files of settings, and those of Maven and Gradle for the trust
/// store. One that is set stays, also if the image has set it: it has more to say than whom to trust.
void add_settings_variables(const std::string& directory, std::map<std::string, std::string>& environment);

}  // namespace skiff::protocol
