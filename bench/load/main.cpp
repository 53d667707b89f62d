#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>

#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"
#include "bench/pattern.h"

namespace skiff::bench {

namespace {

template <class Number>
Number number(std::string_view text, Number low, Number high) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw Failure("not a number from " + std::to_string(low) + " to " + std::to_string(high) + ": " +
                  std::string(text));
  }
  return value;
}

struct Mode {
  std::string_view name;
  void (*run)(const Options&);
};

constexpr auto kModes = std::to_array<Mode>({
    {"requests", run_requests},
    {"calls", run_calls},
    {"first-byte", run_first_byte},
    {"bulk", run_bulk},
    {"flood", run_flood},
    {"download", run_download},
    {"upload", run_upload},
    {"fetch", run_fetch},
    {"readers", run_readers},
    {"selftest", run_selftest},
});

}  // namespace

Options read_options(int argc, char** argv) {
  Options options;
  options.mode = argc > 1 ? argv[1] : "";
  const auto text = [](std::string& to) { return [&to](const char* value) { to = value; }; };
  const std::map<std::string_view, std::function<void(const char*)>> table{
      {"--port", [&](const char* value) { options.port = number<std::uint16_t>(value, 1, 65535); }},
      {"--token", text(options.token)},
      {"--path", text(options.path)},
      {"--body", text(options.body)},
      {"--method", text(options.method)},
      {"--headers", text(options.headers)},
      {"--command", text(options.command)},
      {"--form", text(options.form)},
      {"--pattern", text(options.pattern)},
      {"--bytes", [&](const char* value) { options.bytes = number<std::uint64_t>(value, 0, 1ull << 40); }},
      {"--file", text(options.file)},
      {"--expect", text(options.expect)},
      {"--put-bytes", [&](const char* value) { options.put_bytes = number<unsigned>(value, 1, kPatternBlock); }},
      {"--clients", [&](const char* value) { options.clients = number<unsigned>(value, 1, 100'000); }},
      {"--pid", [&](const char* value) { options.pid = number<unsigned>(value, 1, 1u << 30); }},
      {"--count", [&](const char* value) { options.count = number<unsigned>(value, 1, 1'000'000); }},
      {"--pause-us", [&](const char* value) { options.pause_us = number<unsigned>(value, 0, 1'000'000); }},
      {"--seconds", [&](const char* value) { options.seconds = number<double>(value, 0.05, 60); }},
      {"--background", [&](const char* value) { options.background = number<int>(value, 0, 1) == 1; }},
  };
  for (int i = 2; i < argc; i += 2) {
    const auto found = table.find(argv[i]);
    if (found == table.end() || i + 1 == argc) {
      throw Failure(std::string("unknown option, or one without its value: ") + argv[i]);
    }
    found->second(argv[i + 1]);
  }
  return options;
}

}  // namespace skiff::bench

int main(int argc, char** argv) {
  using namespace skiff::bench;
  alarm(120);  // this program ends, whatever a server does
  try {
    const Options options = read_options(argc, argv);
    const auto mode = std::ranges::find(kModes, options.mode, &Mode::name);
    if (mode == kModes.end()) {
      throw Failure("usage: load MODE --port P [--token T] ...: the modes are at the end of bench/load/options.hpp");
    }
    mode->run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "load: %s\n", error.what());
    return 1;
  }
}
