#include "runtime/process/self_defence.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"

namespace skiff::runtime {
namespace {

using test::status_in_child;

TEST(SelfDefence, HidesTheProcessFromOthersOfItsUser) {
  EXPECT_EQ(status_in_child([] {
              if (::prctl(PR_GET_DUMPABLE) != 1) return 1;
              if (!defend_process()) return 2;
              return ::prctl(PR_GET_DUMPABLE) == 0 ? 0 : 3;
            }),
            0);
}

TEST(SelfDefence, MarksInheritedDescriptorsCloseOnExecAndLeavesTheStandardOnes) {
  EXPECT_EQ(status_in_child([] {
              const int near = ::open("/dev/null", O_RDONLY);
              const int far = ::fcntl(near, F_DUPFD, 200);
              if (near < 3 || far < 200 || ::fcntl(far, F_GETFD) != 0) return 1;
              if (!defend_process()) return 2;
              for (const int fd : {near, far}) {
                if (::fcntl(fd, F_GETFD) != FD_CLOEXEC) return 3;
              }
              for (int fd = 0; fd <= 2; ++fd) {
                if (::fcntl(fd, F_GETFD) != 0) return 4;
              }
              return 0;
            }),
            0);
}

TEST(SelfDefence, OpensStandardDescriptorsThatWereClosed) {
  EXPECT_EQ(status_in_child([] {
              ::close(0);
              ::close(2);
              if (!defend_process()) return 1;
              for (int fd = 0; fd <= 2; ++fd) {
                if (::fcntl(fd, F_GETFD) != 0) return 2;
              }
              char byte = 0;
              if (::read(0, &byte, 1) != 0) return 3;
              return ::write(2, "x", 1) == 1 ? 0 : 4;
            }),
            0);
}

TEST(SelfDefence, IgnoresABrokenPipe) {
  EXPECT_EQ(status_in_child([] {
              std::signal(SIGPIPE, SIG_DFL);
              if (!defend_process()) return 1;
              int pipe[2];
              if (::pipe2(pipe, O_CLOEXEC) != 0) return 2;
              ::close(pipe[0]);
              return ::write(pipe[1], "x", 1) == -1 && errno == EPIPE ? 0 : 3;
            }),
            0);
}

TEST(SelfDefence, SurvivesReachedLimitsOfTimeAndFileSize) {
  EXPECT_EQ(status_in_child([] {
              for (const int signal : {SIGXFSZ, SIGXCPU}) std::signal(signal, SIG_DFL);
              const int file = ::memfd_create("full", MFD_CLOEXEC);
              if (file < 0 || !defend_process()) return 1;
              const rlimit none{0, 0};
              if (::setrlimit(RLIMIT_FSIZE, &none) != 0) return 2;
              if (::write(file, "x", 1) != -1 || errno != EFBIG) return 3;
              return ::raise(SIGXCPU);
            }),
            0);
}

TEST(SelfDefence, RaisesTheLimitOfOpenFilesAndReturnsTheOldOne) {
  EXPECT_EQ(status_in_child([] {
              rlimit limit{};
              ::getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 123;
              if (limit.rlim_max <= 123 || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              const auto inherited = defend_process();
              if (!inherited || inherited->open_files.rlim_cur != 123) return 2;
              ::getrlimit(RLIMIT_NOFILE, &limit);
              return limit.rlim_cur == limit.rlim_max && inherited->open_files.rlim_max == limit.rlim_max ? 0 : 3;
            }),
            0);
}

TEST(WipeEnvironment, OverwritesTheValueItRemoves) {
  // Do not use setenv(3), which copies: environ(7) points to this memory, as at the start of a process.
  static char entry[] = "SKIFF_WIPE_TEST=a secret";
  ASSERT_EQ(::putenv(entry), 0);
  wipe_environment("SKIFF_WIPE_TEST");
  EXPECT_EQ(std::getenv("SKIFF_WIPE_TEST"), nullptr);
  EXPECT_STREQ(entry, "SKIFF_WIPE_TEST=");
  EXPECT_EQ(std::string_view(entry + std::strlen(entry), 9), std::string_view("\0\0\0\0\0\0\0\0\0", 9));
  wipe_environment("SKIFF_WIPE_TEST");
}

}  // namespace
}  // namespace skiff::runtime
