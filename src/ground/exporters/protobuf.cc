#include "exporters/protobuf.h"

#include <cstring>

namespace troika::exporters {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

void ProtobufMessage::variable(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

void ProtobufMessage::tag(int field, int wire_type) {
  variable(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

ProtobufMessage& ProtobufMessage::integer(int field, std::int64_t value) {
  tag(field, 0);
  variable(static_cast<std::uint64_t>(value));
  return *this;
}

ProtobufMessage& ProtobufMessage::real(int field, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  tag(field, 1);
  bytes_ += little_endian(bits, 8);
  return *this;
}

ProtobufMessage& ProtobufMessage::single(int field, float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  tag(field, 5);
  bytes_ += little_endian(bits, 4);
  return *this;
}

ProtobufMessage& ProtobufMessage::text(int field, std::string_view value) {
  tag(field, 2);
  variable(value.size());
  bytes_ += value;
  return *this;
}

}  // namespace troika::exporters
