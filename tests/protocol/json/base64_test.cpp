#include "protocol/json/base64.hpp"

#include <random>

#include <gtest/gtest.h>
#include <openssl/evp.h>

namespace skiff::protocol {
namespace {

std::string by_openssl(std::string_view bytes) {
  std::string out(base64_size(bytes.size()) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

TEST(Base64, AgreesWithOpensslOnRandomBytesOfEveryLength) {
  std::mt19937 random{3};
  for (std::size_t size = 0; size < 700; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string text = encode_base64(bytes);
    ASSERT_EQ(text, by_openssl(bytes)) << size;
    ASSERT_EQ(text.size(), base64_size(size));
    ASSERT_EQ(decode_base64(text), bytes) << size;
    const std::string url = encode_base64url(bytes);
    ASSERT_EQ(url.find_first_of("+/="), std::string::npos);
    ASSERT_EQ(decode_base64url(url), bytes) << size;
  }
}

TEST(Base64, EncodesEveryValueAtEveryPlaceOfAVector) {
  for (std::size_t place = 0; place < 96; ++place) {
    std::string bytes(120, '\0');
    for (unsigned value = 0; value < 256; ++value) {
      bytes[place] = static_cast<char>(value);
      ASSERT_EQ(encode_base64(bytes), by_openssl(bytes)) << place << ' ' << value;
    }
  }
}

TEST(Base64, AppendsToWhatIsThere) {
  std::string out = "{\"data\":\"";
  append_base64(out, "foobar");
  EXPECT_EQ(out, "{\"data\":\"Zm9vYmFy");
  append_base64(out, "");
  EXPECT_EQ(out, "{\"data\":\"Zm9vYmFy");
}

TEST(Base64, DecodesTheExamplesOfItsStandard) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("+/+/"), std::string("\xFB\xFF\xBF"));
  EXPECT_EQ(decode_base64url("-_-_"), std::string("\xFB\xFF\xBF"));
}

TEST(Base64, RefusesWhatIsNotExactlyBase64) {
  for (const std::string_view bad : {"Z",     "Zg",   "Zg=",      "Zm9",   "Zg===",    "====",     "=",
                                     "==",    "Z===", "Zm=v",     "Zm9v=", "Zm9v====", " Zm9v",    "Zm9v\n",
                                     "Zm9\n", "Zm-_", "Zm9v!m9v", "Zh==",  "Zm9=",     "Zg==Zg==", "\x80m9v"}) {
    EXPECT_FALSE(decode_base64(bad)) << bad;
  }
  for (const std::string_view bad : {"Z", "Zg==", "Zm9v=", "+/+/", "Zh", "Zm9", "Zm9vZ", "Zm 9"}) {
    EXPECT_FALSE(decode_base64url(bad)) << bad;
  }
  EXPECT_FALSE(decode_base64(std::string_view{"Zm\0v", 4}));
}

TEST(Base64, RefusesEveryByteOutsideItsAlphabetAtEveryPlace) {
  const std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t place = 0; place < 8; ++place) {
    for (unsigned value = 0; value < 256; ++value) {
      std::string text = "AAAAAAAA";
      text[place] = static_cast<char>(value);
      const bool good =
          alphabet.find(static_cast<char>(value)) != std::string_view::npos || (value == '=' && place == 7);
      EXPECT_EQ(decode_base64(text).has_value(), good) << place << ' ' << value;
    }
  }
}

}  // namespace
}  // namespace skiff::protocol
