#include "exporters/event_records.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "base/temporary_folder_test_support.h"

namespace troika::exporters {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// The event inside a record.
std::string event_in(const std::string& record) { return record.substr(12, record.size() - 16); }

TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(ProtobufMessage, WritesTheBytesOfTheEncodingsPage) {
  EXPECT_EQ(hex(ProtobufMessage().integer(1, 150).bytes()), "089601");
  EXPECT_EQ(hex(ProtobufMessage().text(2, "testing").bytes()), "120774657374696e67");
  EXPECT_EQ(hex(ProtobufMessage().message(3, ProtobufMessage().integer(1, 150)).bytes()), "1a03089601");
  EXPECT_EQ(hex(ProtobufMessage().integer(1, -2).bytes()), "08feffffffffffffffff01");
  EXPECT_EQ(hex(ProtobufMessage().real(1, 1.0).bytes()), "09000000000000f03f");
  EXPECT_EQ(hex(ProtobufMessage().single(2, -2.0F).bytes()), "15000000c0");
  EXPECT_EQ(hex(ProtobufMessage().integer(16, 0).bytes()), "800100");
}

TEST(EventRecords, AreFramedWithMaskedSums) {
  // The first record of a file that TensorFlow 2 wrote: an event of wall time 0 with the version alone.
  const std::string event = ProtobufMessage().real(1, 0).text(3, "brain.Event:2").bytes();
  const std::string record = framed(event);
  EXPECT_EQ(record.size(), event.size() + 16);
  EXPECT_EQ(hex(record.substr(0, 8)), "1800000000000000");
  EXPECT_EQ(hex(record.substr(8, 4)), "a37f4b22");  // of that length, as in every file that begins so
  EXPECT_EQ(event_in(record), event);
}

TEST(EventRecords, HaveTheFieldsOfTensorflowsMessages) {
  EXPECT_EQ(hex(event_in(start_record(1, 7))),
            "09000000000000f03f"
            "1007"
            "3a020801");
  EXPECT_EQ(hex(event_in(scalars_record(1, 7, {{"loss", 1.0}}))),
            "09000000000000f03f"
            "1007"
            "2a0d"
            "0a0b"
            "0a046c6f7373"
            "150000803f");
  EXPECT_EQ(hex(event_in(text_record(1, 0, "a", "b"))),
            "09000000000000f03f"
            "2a1c"
            "0a1a"
            "0a0161"
            "420b"
            "0807"
            "1204"
            "12020801"
            "420162"
            "4a08"
            "0a06"
            "0a0474657874");
}

TEST(EventRecords, KeepANumberThatIsNone) {
  const std::string event = event_in(scalars_record(1, 7, {{"loss", std::nan("")}}));
  EXPECT_EQ(hex(event.substr(event.size() - 4)), "0000c07f");
}

TEST(EventRecords, ANewFileSortsBehindTheOthers) {
  EXPECT_EQ(event_file_name(1700000000, "pi", 42), "events.out.tfevents.1700000000.pi.42.0");
  const std::string folder = base::temporary_folder() + "/names";
  EXPECT_EQ(time_behind_others(folder, 5), 5);
  base::make_directories(folder);
  for (const char* name : {"events.out.tfevents.1700000009.z.1.0", "events.out.tfevents.1700000003.a.1.0", "other"})
    std::ofstream(folder + "/" + name) << "x";
  EXPECT_EQ(time_behind_others(folder, 1700000004), 1700000010);
  EXPECT_EQ(time_behind_others(folder, 1800000000), 1800000000);
}

}  // namespace
}  // namespace troika::exporters
