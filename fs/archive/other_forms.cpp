#include "fs/archive/other_forms.hpp"

#include <array>

namespace skiff::fs {

std::string_view other_form(std::string_view start) noexcept {
  using namespace std::string_view_literals;
  struct Form {
    std::string_view begins;
    std::string_view name;
  };
  static constexpr std::array forms{Form{"\xFD"
                                         "7zXZ\0"sv,
                                         "xz"},
                                    Form{"BZh"sv, "bzip2"},
                                    Form{"PK\3\4"sv, "a zip archive"},
                                    Form{"PK\5\6"sv, "a zip archive"},
                                    Form{"7z\xBC\xAF\x27\x1C"sv, "a 7z archive"},
                                    Form{"\x04\x22\x4D\x18"sv, "lz4"},
                                    Form{"Rar!\x1A\x07"sv, "a rar archive"},
                                    Form{"LZIP"sv, "lzip"},
                                    Form{"\x1F\x9D"sv, "compress (.Z)"},
                                    Form{"\x5D\0\0"sv, "lzma"},
                                    Form{"070701"sv, "a cpio archive"},
                                    Form{"070707"sv, "a cpio archive"},
                                    Form{"!<arch>"sv, "an ar archive"},
                                    Form{"\xFF\x06\0\0sNaP"sv, "snappy"},
                                    Form{"\x89LZO\0"sv, "lzop"},
                                    Form{"MSCF"sv, "a cabinet"}};
  for (const Form& form : forms) {
    if (start.starts_with(form.begins)) return form.name;
  }
  return {};
}

}  // namespace skiff::fs
