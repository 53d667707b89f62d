#include "runtime/api/answers/event_answers.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::api {
namespace {

std::string output_of(const OutputOf& piece) {
  return output_event().members.text(piece);
}

TEST(EventAnswers, OutputIsTextOrBytesAndNeverBoth) {
  sessions::LogItem item;
  item.stream = sessions::Stream::err;
  item.late = true;
  // The character began in the item before.
  EXPECT_EQ(output_of({.item = item, .offset = 4, .begun = "\xC3\xA4", .bytes = "b\n", .is_text = true}),
            R"({"offset":4,"next":8,"stream":"stderr","time":"1970-01-01T00:00:00.000Z","late":true,"data":"ä)"
            R"(b\n"})");
  EXPECT_EQ(output_of({.item = item, .offset = 4, .begun = "\xC3", .bytes = "\xff", .is_text = false}),
            R"({"offset":4,"next":6,"stream":"stderr","time":"1970-01-01T00:00:00.000Z","late":true,)"
            R"("data_base64":"w/8="})");
  const sessions::LogItem usual;
  EXPECT_EQ(output_of({.item = usual, .offset = 0, .begun = {}, .bytes = "\xff", .is_text = false}),
            R"({"offset":0,"next":1,"stream":"stdout","time":"1970-01-01T00:00:00.000Z","data_base64":"/w=="})");
}

TEST(EventAnswers, TheEndHasRequestedChecksums) {
  EXPECT_EQ(end_event().members.text({.out = 1, .err = 2, .out_sha256 = {}, .err_sha256 = {}}),
            R"({"bytes":{"stdout":1,"stderr":2}})");
  EXPECT_EQ(end_event().members.text({.out = 1, .err = 2, .out_sha256 = "a", .err_sha256 = "b"}),
            R"({"bytes":{"stdout":1,"stderr":2},"sha256":{"stdout":"a","stderr":"b"}})");
}

TEST(EventAnswers, AnErrorNamesItsFieldIfItHasOne) {
  EXPECT_EQ(error_event().members.text({Errc::timeout, "too late\xff"}), R"({"code":"timeout","detail":"too late)"
                                                                         "\xEF\xBF\xBD"
                                                                         R"("})");
  EXPECT_EQ(error_event().members.text({Errc::invalid_field, "no", "/from"}),
            R"({"code":"invalid_field","detail":"no","field":"/from"})");
}

TEST(EventAnswers, AGapSaysWhatIsMissing) {
  sessions::LogItem gap;
  gap.offset = 3;
  gap.next = 9;
  EXPECT_EQ(gap_event().members.text(gap), R"({"from":3,"to":9})");
}

}  // namespace
}  // namespace skiff::runtime::api
