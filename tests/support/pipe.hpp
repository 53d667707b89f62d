#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/unique_fd.hpp"

namespace skiff::test {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// A program that is started inherits neither end.
inline Pipe create_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  return {UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

}  // namespace skiff::test
