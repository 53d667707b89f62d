#include "runtime/egress/names/dns_message.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::egress {
namespace {

using namespace std::string_literals;

/// A query for records of a type; `name` as it is in a message.
std::string query_for(const std::string& name, char type = 1, char klass = 1) {
  return "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + name + "\0"s + type + "\0"s + klass;
}

const std::string kPypi = "\4pypi\3org\0"s;

TEST(DnsMessage, ReadsAQuery) {
  const auto query = read_dns_query(query_for("\4PyPI\3ORG\0"s)).value();
  EXPECT_EQ(query.id, 0x1234);
  EXPECT_EQ(query.fault, DnsCode::ok);
  EXPECT_EQ(query.name, "pypi.org");
  EXPECT_EQ(query.type, kDnsIpv4);
  EXPECT_EQ(query.question, "\4PyPI\3ORG\0\0\1\0\1"s) << "clients compare the letters of the answer";
}

TEST(DnsMessage, ReadsTheType) {
  EXPECT_EQ(read_dns_query(query_for(kPypi, 28))->type, kDnsIpv6);
}

TEST(DnsMessage, ReadsWhatClientsAddBehindTheQuestion) {
  std::string message = query_for(kPypi) + "\0\0\x29\x04\xd0\0\0\0\0\0\0"s;
  message[11] = 1;
  EXPECT_EQ(read_dns_query(message)->name, "pypi.org");
}

TEST(DnsMessage, NeverAnswersAnAnswer) {
  std::string message = query_for(kPypi);
  message[2] = '\x81';
  EXPECT_FALSE(read_dns_query(message));
  EXPECT_FALSE(read_dns_query(""));
  EXPECT_FALSE(read_dns_query(query_for(kPypi).substr(0, 11)));
}

TEST(DnsMessage, NamesTheFaultOfAQuery) {
  std::string long_name;
  for (int i = 0; i < 4; ++i) long_name += "\x3f"s + std::string(63, 'a');
  const std::string whole = query_for(kPypi);
  std::string two = whole;
  two[5] = 2;
  std::string none = whole;
  none[5] = 0;
  std::string answers = whole;
  answers[7] = 1;
  for (const std::string& wrong :
       {whole.substr(0, 12), whole.substr(0, 15), whole.substr(0, whole.size() - 1), two, none, answers,
        query_for("\xc0\x0c"s),                             // a name that points to itself
        query_for("\4pypi\xc0\x0c"s),                       // and one that goes on there
        query_for("\x40"s + std::string(64, 'a') + "\0"s),  // a label of 64
        query_for(long_name + "\0"s),                       // 257 bytes
        query_for("\x3f"
                  "short\0"s),
        std::string(12, '\0'), query_for(kPypi) + std::string(kLargestQuery, 'x')}) {
    const auto query = read_dns_query(wrong);
    ASSERT_TRUE(query);
    EXPECT_EQ(query->fault, DnsCode::malformed);
    EXPECT_EQ(query->question, "");
  }
  std::string update = whole;
  update[2] = '\x28';
  EXPECT_EQ(read_dns_query(update)->fault, DnsCode::unsupported);
  EXPECT_EQ(read_dns_query(query_for(kPypi, 1, 3))->fault, DnsCode::unsupported);
}

TEST(DnsMessage, TakesTheLongestName) {
  const std::string label = "\x3f"s + std::string(63, 'a');
  const auto query = read_dns_query(query_for(label + label + label + "\x3d"s + std::string(61, 'a') + "\0"s));
  EXPECT_EQ(query->fault, DnsCode::ok);
  EXPECT_EQ(query->name.size(), 253U);
}

TEST(DnsMessage, HasNoHostNameForOtherCharacters) {
  for (const std::string& odd : {"\4py\0i\3org\0"s, "\5pyp.i\3org\0"s,
                                 "\5py\xc3\xbc"
                                 "i\3org\0"s,
                                 "\4p pi\3org\0"s, "\4p\r\ni\3org\0"s, "\0"s, "\4p/pi\3org\0"s}) {
    const auto query = read_dns_query(query_for(odd));
    ASSERT_TRUE(query);
    EXPECT_EQ(query->fault, DnsCode::ok);
    EXPECT_EQ(query->name, "");
  }
  EXPECT_EQ(read_dns_query(query_for("\5_a-b9\3org\0"s))->name, "_a-b9.org");
}

TEST(DnsMessage, WritesAnAnswer) {
  const auto query = read_dns_query(query_for(kPypi)).value();
  EXPECT_EQ(dns_answer(query, DnsCode::ok, DnsAddress{.address = 0x7F400102, .time_to_live = std::chrono::seconds{10}}),
            "\x12\x34\x81\x80\0\1\0\1\0\0\0\0"s + kPypi + "\0\1\0\1"s + "\xc0\x0c\0\1\0\1\0\0\0\x0a\0\4\x7f\x40\1\2"s);
  EXPECT_EQ(dns_answer(query, DnsCode::no_name), "\x12\x34\x81\x83\0\1\0\0\0\0\0\0"s + kPypi + "\0\1\0\1"s);
  EXPECT_EQ(dns_answer(*read_dns_query(std::string(12, '\0')), DnsCode::malformed), "\0\0\x80\x81\0\0\0\0\0\0\0\0"s);
}

}  // namespace
}  // namespace skiff::runtime::egress
