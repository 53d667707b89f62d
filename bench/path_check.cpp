// The cost of keeping a path inside its root: the agent's own way from a path to a descriptor, compared with openat(2)
// of the same path, and with openat2(2) alone.
//   path_check [--seconds S] FOLDER PATH      PATH is below FOLDER
// Each opens and closes in turn, in short stretches. Prints one JSON object: the median stretch of each, in us a call.

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fs/path/tree.hpp"

namespace {

constexpr int kStretch = 500;  // calls

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

double median(std::vector<double>& values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Measures one stretch of `open`; each descriptor is closed at once.
template <class Open>
double stretch(const Open& open) {
  const double before = now_us();
  for (int i = 0; i < kStretch; ++i) {
    if (!open()) {
      std::fputs("path_check: the path can't be opened\n", stderr);
      std::exit(1);
    }
  }
  return (now_us() - before) / kStretch;
}

}  // namespace

int main(int argc, char** argv) {
  const bool timed = argc == 5 && std::strcmp(argv[1], "--seconds") == 0;
  if (!timed && argc != 3) {
    std::fputs("usage: path_check [--seconds S] FOLDER PATH\n", stderr);
    return 2;
  }
  const double seconds = timed ? std::min(std::atof(argv[2]), 60.0) : 1.0;
  const std::string directory = argv[argc - 2], path = argv[argc - 1];
  const skiff::UniqueFd root{::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  const auto tree = skiff::fs::Tree::open({.path = directory});
  if (!root || !tree) {
    std::perror(directory.c_str());
    return 1;
  }
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  std::vector<double> plain, beneath, agent;
  for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
    plain.push_back(stretch([&] { return skiff::UniqueFd{::openat(root.get(), path.c_str(), O_PATH | O_CLOEXEC)}; }));
    beneath.push_back(stretch([&] {
      return skiff::UniqueFd{static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how))};
    }));
    agent.push_back(stretch([&] { return tree->open_object(path, skiff::fs::Links::follow).has_value(); }));
  }
  std::printf("{\"openat_us\":%.4f,\"openat2_us\":%.4f,\"agent_us\":%.4f}\n", median(plain), median(beneath),
              median(agent));
  return 0;
}
