#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>

#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"

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
      {"--command", text(options.command)},
      {"--form", text(options.form)},
      {"--pattern", text(options.pattern)},
      {"--bytes", [&](const char* value) { options.bytes = number<std::uint64_t>(value, 0, 1ull << 40); }},
      {"--expect", text(options.expect)},
      {"--clients", [&](const char* value) { options.clients = number<unsigned>(value, 1, 1000); }},
      {"--count", [&](const char* value) { options.count = number<unsigned>(value, 1, 1'000'000); }},
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
  alarm(120);  // whatever a server does, this program ends
  try {
    const Options options = read_options(argc, argv);
    if (options.mode == "requests") {
      run_requests(options);
    } else if (options.mode == "first-byte") {
      run_first_byte(options);
    } else if (options.mode == "bulk") {
      run_bulk(options);
    } else if (options.mode == "flood") {
      run_flood(options);
    } else if (options.mode == "selftest") {
      run_selftest();
    } else {
      throw Failure(
          "usage: load requests|first-byte|bulk|flood|selftest --port P [--token T] ... (see load/options.hpp)");
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "load: %s\n", error.what());
    return 1;
  }
}
