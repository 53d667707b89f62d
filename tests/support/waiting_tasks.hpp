#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <cxxabi.h>

#include "base/async/task.hpp"
#include "base/unique_fd.hpp"

/// Names the coroutines of a test that hangs.
namespace skiff::test {

/// The function that has the code at `address`. By the symbol table of the program's own file: dladdr(3) knows only
/// what is exported, and not every machine has a symbolizer.
inline std::string function_at(const void* address) {
  const auto readable = [](const char* symbol) {
    const std::unique_ptr<char, decltype(&std::free)> name{abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr),
                                                           &std::free};
    const std::string_view text = name ? name.get() : symbol;
    return std::string{text.substr(0, text.find(" [clone "))};  // of a coroutine: the part that is resumed
  };
  static const char* const program = [] {
    const UniqueFd file{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) std::abort();
    void* bytes = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (bytes == MAP_FAILED) std::abort();
    return static_cast<const char*>(bytes);
  }();
  std::uintptr_t base = 0;
  const auto first_is_the_program = [](dl_phdr_info* info, std::size_t, void* to) {
    *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
    return 1;
  };
  ::dl_iterate_phdr(first_is_the_program, &base);
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(program);
  const std::span sections{reinterpret_cast<const ElfW(Shdr)*>(program + header->e_shoff), header->e_shnum};
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* names = program + sections[section.sh_link].sh_offset;
    const auto* first = reinterpret_cast<const ElfW(Sym)*>(program + section.sh_offset);
    for (const auto& symbol : std::span{first, section.sh_size / sizeof *first}) {
      const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (is_function && place - base - symbol.st_value < symbol.st_size) return readable(names + symbol.st_name);
    }
  }
  Dl_info library{};
  if (::dladdr(address, &library) != 0 && library.dli_sname != nullptr) return readable(library.dli_sname);
  return "a function without a name";
}

using Frame = boost::asio::detail::awaitable_frame_base<Executor>;
/// Below all others; it knows the one on top.
using LowestFrame = boost::asio::detail::awaitable_frame<boost::asio::detail::awaitable_thread_entry_point, Executor>;

// The private members of Asio. An explicit instantiation may name them.
struct OpenFrame : Frame {
  static constexpr auto kCaller = &OpenFrame::caller_;
  static constexpr auto kHandle = &OpenFrame::coro_;
};
Frame* LowestFrame::* top_of_stack();
template <auto Member>
struct OpenLowestFrame {
  friend Frame* LowestFrame::* top_of_stack() { return Member; }
};
template struct OpenLowestFrame<&LowestFrame::top_of_stack_>;

/// A coroutine and what it waits for: `run` runs it, and at any time when none of it runs `names` says where it is.
class WaitingTasks {
 public:
  static Task<> run(WaitingTasks* self, Task<> body) {
    // Asio starts its operations in this way.
    co_await [self](Frame* frame) -> boost::asio::detail::awaitable_thread<Executor>* {
      self->lowest_ = static_cast<LowestFrame*>(frame->*OpenFrame::kCaller);
      return nullptr;
    };
    constexpr auto forget = [](WaitingTasks* tasks) { tasks->lowest_ = nullptr; };
    const std::unique_ptr<WaitingTasks, decltype(forget)> until_the_end{self};
    co_await std::move(body);
  }

  /// The functions, one a line, the innermost first; nothing when the coroutine has ended.
  [[nodiscard]] std::string names() const {
    std::string lines;
    if (lowest_ == nullptr) return lines;
    for (const Frame* frame = lowest_->*top_of_stack(); frame != lowest_; frame = frame->*OpenFrame::kCaller) {
      // A coroutine's state begins with the function that resumes it.
      const std::string name = function_at(*static_cast<void* const*>((frame->*OpenFrame::kHandle).address()));
      const bool is_others = name.contains("boost::asio::async_result<") || name.contains("WaitingTasks::run(");
      if (!is_others) lines += "  " + name + '\n';
    }
    return lines;
  }

 private:
  LowestFrame* lowest_ = nullptr;
};

}  // namespace skiff::test
