#include "base/licenses.hpp"

#include <cstddef>

#include "base/bytes/gzip.hpp"
#include "base/embedded_file.hpp"

SKIFF_EMBED_FILE(skiff_notice, SKIFF_NOTICE)

namespace skiff {
namespace {

constexpr std::size_t kLongestNotice = std::size_t{1} << 20U;

}  // namespace

std::string licenses() {
  std::string text =
      "Licensed under the Apache License, Version 2.0 (the \"License\"); you may not use this\n"
      "program except in compliance with the License. You may obtain a copy of the License at\n"
      "\n"
      "    http://www.apache.org/licenses/LICENSE-2.0\n"
      "\n"
      "Unless required by applicable law or agreed to in writing, software distributed under the\n"
      "License is distributed on an \"AS IS\" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND,\n"
      "either express or implied. See the License for the specific language governing permissions\n"
      "and limitations under the License.\n"
      "\n";
  return text.append(unpack_gzip(skiff_notice(), kLongestNotice).value());
}

}  // namespace skiff
