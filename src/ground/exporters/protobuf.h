// Messages of protocol buffers as bytes, as much as TensorBoard's events need (https://protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troika::exporters {

// Each call appends a field; zeros are written too.
class ProtobufMessage {
 public:
  ProtobufMessage& integer(int field, std::int64_t value);
  ProtobufMessage& real(int field, double value);
  ProtobufMessage& single(int field, float value);
  ProtobufMessage& text(int field, std::string_view value);  // of a string, or bytes
  ProtobufMessage& message(int field, const ProtobufMessage& value) { return text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int wire_type);
  void variable(std::uint64_t value);

  std::string bytes_;
};

// Low byte first.
std::string little_endian(std::uint64_t value, int bytes);

}  // namespace troika::exporters
