#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>

#include "base/log/log.hpp"

/// For the static programs only: replaces libstdc++'s handler of uncaught exceptions, which includes the demangler
/// (47 KB).
namespace __gnu_cxx {  // NOLINT(bugprone-reserved-identifier): libstdc++'s name

void __verbose_terminate_handler();  // NOLINT(bugprone-reserved-identifier)

void __verbose_terminate_handler() {  // NOLINT(bugprone-reserved-identifier)
  skiff::log::flush();
  const char* what = "no exception";
  if (const std::exception_ptr current = std::current_exception()) {
    what = "not a std::exception";
    try {
      std::rethrow_exception(current);
    } catch (const std::exception& exception) {
      what = exception.what();
      std::fprintf(stderr, "%s: terminated: %s: ", ::program_invocation_short_name, typeid(exception).name());
    } catch (...) {
      std::fprintf(stderr, "%s: terminated: ", ::program_invocation_short_name);
    }
  }
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace __gnu_cxx
