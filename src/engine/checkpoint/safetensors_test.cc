#include "checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/temporary_folder_test_support.h"
#include "checkpoint/safetensors_writer.h"

namespace troika::checkpoint {

static std::string path_of(const std::string& name) { return base::temporary_folder() + "/" + name; }

static std::string file_text(const std::string& header, std::uint64_t stated_length, const std::string& data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(stated_length >> (8 * i) & 255);
  return text + header + data;
}

// The error of reading such a file; "" when it is accepted.
static std::string complaint(const std::string& content) {
  const std::string path = path_of("hostile.safetensors");
  base::write_file_atomic(path, content);
  try {
    const SafetensorsFile file(path);
    return "";
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(path));
    return error.what();
  }
}

static std::string complaint_about_header(const std::string& header, const std::string& data) {
  return complaint(file_text(header, header.size(), data));
}

TEST(Safetensors, RoundTripKeepsNamesShapesBytesAndMetadata) {
  const std::string path = path_of("round.safetensors");
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{7};
  const std::vector<std::uint8_t> c{8, 9, 10};
  SafetensorsWriter writer(path,
                           {{"a", base::Dtype::fp32, {2, 3}, 0, 0},
                            {"b", base::Dtype::fp32, {}, 0, 0},
                            {"none", base::Dtype::int64, {0, 4}, 0, 0},
                            {"c", base::Dtype::uint8, {3}, 0, 0}},
                           {{"format", "pt"}});
  EXPECT_FALSE(base::file_exists(path)) << "the name appears only when the file is whole";
  writer.write(a.data(), 10);  // any cut is fine
  writer.write(reinterpret_cast<const char*>(a.data()) + 10, 14);
  writer.write(b.data(), 4);
  writer.write(c.data(), 3);
  const WrittenFile written = writer.finish();
  EXPECT_EQ(written.bytes, base::file_size(path));
  EXPECT_EQ(written.hash, base::hash_file(path));

  const SafetensorsFile file(path);
  EXPECT_EQ(file.header().metadata.at("format"), "pt");
  ASSERT_EQ(file.header().entries.size(), 4U);
  const TensorEntry& first = file.header().entries[0];
  EXPECT_EQ(first.name, "a");
  EXPECT_EQ(first.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(first.begin % 8, 0);
  EXPECT_EQ(std::memcmp(file.at(first.begin), a.data(), 24), 0);
  EXPECT_EQ(file.header().entries[1].shape.size(), 0U);
  EXPECT_EQ(file.header().entries[3].dtype, base::Dtype::uint8);
}

TEST(Safetensors, DataLargerThanTheBufferPasses) {
  const std::string path = path_of("large.safetensors");
  std::vector<float> values(1000003);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  SafetensorsWriter writer(path, {{"w", base::Dtype::fp32, {1000003}, 0, 0}}, {});
  writer.write(values.data(), 12);
  writer.write(values.data() + 3, 4000000);
  const WrittenFile written = writer.finish();
  EXPECT_EQ(written.hash, base::hash_file(path));
  const SafetensorsFile file(path);
  EXPECT_EQ(std::memcmp(file.at(file.header().entries[0].begin), values.data(), 4000012), 0);
}

TEST(Safetensors, UnfinishedFileLeavesNothingBehind) {
  const std::string folder = path_of("unfinished");
  base::remove_tree(folder);
  base::make_directories(folder);
  {
    SafetensorsWriter writer(folder + "/x.safetensors", {{"w", base::Dtype::fp32, {3}, 0, 0}}, {});
    writer.write("abcd", 4);
    EXPECT_THROW(writer.finish(), base::BugError);
    EXPECT_THROW(writer.write("abcdefghi", 9), base::BugError);
  }
  EXPECT_TRUE(base::list_directory(folder).empty());
  EXPECT_THROW(SafetensorsWriter(folder + "/none/x", {}, {}), base::DataError);
  EXPECT_THROW(SafetensorsWriter(folder + "/x", {{"w", base::Dtype::fp32, {}, 0, 0}, {"w", base::Dtype::fp32, {}, 0, 0}}, {}),
               base::BugError);
}

TEST(Safetensors, FilesWrittenByOthersAreRead) {
  EXPECT_EQ(complaint_about_header(R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "abcd"), "");
  EXPECT_EQ(
      complaint_about_header(R"({"w":{"dtype":"F16","shape":[],"data_offsets":[0,2]},"__metadata__":{}}   )", "ab"),
      "");
  EXPECT_EQ(complaint_about_header("{}", ""), "");
}

TEST(Safetensors, ElementTypesHaveTheirNameAndSize) {
  const std::map<std::string, std::int64_t> bytes{{"F32", 4}, {"BF16", 2}, {"F16", 2}, {"F64", 8}, {"I64", 8},
                                                  {"I32", 4}, {"I16", 2},  {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  for (const auto& [name, size] : bytes) {
    const std::string header = R"({"w":{"dtype":")" + name + R"(","shape":[1],"data_offsets":[0,)" + std::to_string(size) + "]}}";
    EXPECT_EQ(complaint_about_header(header, std::string(static_cast<std::size_t>(size), 'a')), "") << name;
    const auto dtype = StoredDtype::named(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(dtype->name(), name);
    EXPECT_EQ(dtype->bytes(), size) << name;
  }
  EXPECT_EQ(StoredDtype(base::Dtype::int64).name(), "I64");
  EXPECT_EQ(StoredDtype(base::Dtype::uint8).name(), "U8");
  EXPECT_NE(*StoredDtype::named("I16"), base::Dtype::bf16);
  EXPECT_FALSE(StoredDtype::named("F8").has_value());
}

TEST(Safetensors, HeaderLengthsThatLieAreRefused) {
  EXPECT_THAT(complaint(""), testing::HasSubstr("it has 0 bytes"));
  EXPECT_THAT(complaint("abc"), testing::HasSubstr("it has 3 bytes"));
  EXPECT_THAT(complaint(file_text("{}", 3, "")), testing::HasSubstr("its header should have 3 bytes"));
  EXPECT_THAT(complaint(file_text("{}", 1ULL << 40, "")), testing::HasSubstr("1099511627776"));
  EXPECT_THAT(complaint(file_text("{}", ~0ULL, "")), testing::HasSubstr("18446744073709551615"));
  EXPECT_THAT(complaint(file_text("{}", ~0ULL - 7, "")), testing::HasSubstr("header should have"));
}

TEST(Safetensors, OffsetsThatLieAreRefused) {
  const auto one = [](const std::string& offsets) {
    return R"({"w":{"dtype":"F32","shape":[2],"data_offsets":)" + offsets + "}}";
  };
  EXPECT_EQ(complaint_about_header(one("[0,8]"), "12345678"), "");
  EXPECT_THAT(complaint_about_header(one("[0,8]"), "1234567"), testing::HasSubstr("outside"));        // truncated
  EXPECT_THAT(complaint_about_header(one("[0,8]"), "123456789"), testing::HasSubstr("tensors end"));  // too long
  EXPECT_THAT(complaint_about_header(one("[8,16]"), "12345678"), testing::HasSubstr("outside"));
  EXPECT_THAT(complaint_about_header(one("[8,0]"), "12345678"), testing::HasSubstr("outside"));
  EXPECT_THAT(complaint_about_header(one("[-8,0]"), "12345678"), testing::HasSubstr("at least 0"));
  EXPECT_THAT(complaint_about_header(one("[0,18446744073709551615]"), "12345678"), testing::HasSubstr("at least 0"));
  EXPECT_THAT(complaint_about_header(one("[0,4]"), "1234"), testing::HasSubstr("2 elements but 4 bytes"));
  EXPECT_THAT(complaint_about_header(one("[0]"), "12345678"), testing::HasSubstr("outside"));
  EXPECT_THAT(complaint_about_header(one("[0,8.0]"), "12345678"), testing::HasSubstr("whole number"));
  EXPECT_THAT(complaint_about_header(one("[4,12]"), "123456789012"), testing::HasSubstr("unused bytes"));
}

TEST(Safetensors, OverlapsAreRefused) {
  const std::string two =
      R"({"a":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[6],"data_offsets":[2,8]}})";
  EXPECT_THAT(complaint_about_header(two, "12345678"), testing::HasSubstr("tensor 'b' overlaps"));
}

TEST(Safetensors, ShapesThatOverflowAreRefused) {
  const std::string huge = R"({"a":{"dtype":"I64","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}})";
  EXPECT_THAT(complaint_about_header(huge, ""), testing::HasSubstr("2^62"));
  const std::string wraps = R"({"a":{"dtype":"I64","shape":[2305843009213693952],"data_offsets":[0,0]}})";
  EXPECT_THAT(complaint_about_header(wraps, ""), testing::HasSubstr("elements but 0 bytes"));
}

TEST(Safetensors, HeadersThatAreNotTheFormatAreRefused) {
  for (const char* header :
       {"", "[]", "{", "nonsense", R"({"w":7})", R"({"w":{"dtype":"F99","shape":[],"data_offsets":[0,0]}})",
        R"({"w":{"dtype":"F32","data_offsets":[0,0]}})",
        R"({"w":{"dtype":"F32","shape":[1e999],"data_offsets":[0,0]}})", R"({"__metadata__":{"a":1}})",
        R"({"__metadata__":[]})"}) {
    EXPECT_NE(complaint_about_header(header, ""), "") << header;
  }
}

}  // namespace troika::checkpoint
