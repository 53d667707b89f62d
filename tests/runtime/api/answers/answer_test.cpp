#include "runtime/api/answers/answer.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace skiff::runtime::api {
namespace {

struct Wheel {
  unsigned size = 0;
};

struct Car {
  std::string name;
  std::optional<std::string> owner;
  std::optional<std::uint64_t> price;
  std::vector<Wheel> wheels;
  std::map<std::string, std::optional<std::string>> extras;
};

const Answer<Wheel>& wheel_answer() {
  static const Answer<Wheel> answer{"Wheel", {{"size", [](const Wheel& wheel) { return wheel.size; }}}};
  return answer;
}

const Answer<Car>& car_answer() {
  static const Answer<Car> answer{"Car",
                                  {{"id", [](const Car&) { return Id{"c-1"}; }},
                                   {"name", [](const Car& car) { return std::string_view{car.name}; }},
                                   {"owner", [](const Car& car) -> const auto& { return car.owner; }, "Whose it is"},
                                   {"price", [](const Car& car) { return OrNull<std::uint64_t>{car.price}; }},
                                   {"made_at", [](const Car&) { return WallTime{}; }},
                                   {"sold", [](const Car& car) { return car.owner.has_value(); }},
                                   {"year", [](const Car&) { return -1; }},
                                   {"wheels", [](const Car& car) { return parts<&wheel_answer>(car.wheels); }},
                                   {"first", [](const Car& car) { return Part<&wheel_answer>{car.wheels.front()}; }},
                                   {"extras", [](const Car& car) -> const auto& { return car.extras; }},
                                   {"spare", [](const Car&) { return MadePart<&wheel_answer>{{9}}; }},
                                   {"key", [](const Car&) { return Bytes{"\xff", "\xc3"}; }},
                                   {"any",
                                    [](const Car&) { return Written{R"({"x":1})"}; },
                                    {},
                                    [] { return std::string{R"({"type":"object"})"}; }}}};
  return answer;
}

TEST(Answer, WritesItsRowsInTheirOrderAndLeavesOutWhatIsAbsent) {
  const Car car{.name = "a\xff\"", .owner = {}, .price = {}, .wheels = {{1}, {2}}, .extras = {{"a", "b"}, {"c", {}}}};
  EXPECT_EQ(car_answer().text(car),
            R"({"id":"c-1","name":"a)"
            "\xEF\xBF\xBD"
            R"(\"","price":null,"made_at":"1970-01-01T00:00:00.000Z","sold":false,"year":-1,)"
            R"("wheels":[{"size":1},{"size":2}],"first":{"size":1},"extras":{"a":"b","c":null},"spare":{"size":9},)"
            R"("key":"w/8=","any":{"x":1}})");
  const Car sold{.name = "b", .owner = "me", .price = 7, .wheels = {{3}}, .extras = {}};
  const nlohmann::json json = nlohmann::json::parse(car_answer().text(sold));
  EXPECT_EQ(json["owner"], "me");
  EXPECT_EQ(json["price"], 7);
  EXPECT_EQ(json["sold"], true);
}

TEST(Answer, DescribesWhatItWrites) {
  EXPECT_EQ(car_answer().schema().name, "Car");
  const nlohmann::json schema = nlohmann::json::parse(car_answer().schema().json);
  const nlohmann::json& members = schema["properties"];
  EXPECT_EQ(members["owner"], nlohmann::json::parse(R"({"type":"string","description":"Whose it is"})"));
  EXPECT_EQ(members["price"], nlohmann::json::parse(R"({"anyOf":[{"type":"integer","minimum":0},{"type":"null"}]})"));
  EXPECT_EQ(members["made_at"], nlohmann::json::parse(kTime));
  EXPECT_EQ(members["sold"], nlohmann::json::parse(kFlag));
  EXPECT_EQ(members["year"], nlohmann::json::parse(R"({"type":"integer"})"));
  EXPECT_EQ(members["wheels"]["items"]["title"], "Wheel");
  EXPECT_EQ(members["first"]["properties"]["size"], nlohmann::json::parse(kCount));
  EXPECT_EQ(members["extras"]["additionalProperties"]["type"], nlohmann::json::parse(R"(["string","null"])"));
  EXPECT_EQ(members["spare"]["title"], "Wheel");
  EXPECT_EQ(members["key"], nlohmann::json::parse(kText));
  EXPECT_EQ(members["any"], nlohmann::json::parse(R"({"type":"object"})"));
  const nlohmann::json required = schema["required"];
  EXPECT_EQ(required.size(), 12u) << "all but the owner";
  EXPECT_EQ(std::ranges::count(required, nlohmann::json("owner")), 0);
}

}  // namespace
}  // namespace skiff::runtime::api
