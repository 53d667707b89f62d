#include "tests/support/paths.hpp"

namespace skiff::test {

const char* const kTestcmd = SKIFF_TESTCMD;
const char* const kDocs = SKIFF_DOCS;

}  // namespace skiff::test
