#pragma once

/// Paths of this checkout. Only paths.cpp is compiled with them, so that ccache finds the other objects of the tests
/// again from another checkout.
namespace skiff::test {

extern const char* const kTestcmd;  ///< the program testcmd
extern const char* const kDocs;     ///< the directory docs/

}  // namespace skiff::test
