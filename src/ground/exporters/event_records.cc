#include "exporters/event_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace troika::exporters {
namespace {
using Message = ProtobufMessage;

// Numbers of fields, by message.
namespace event_field {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7, source_metadata = 10;
}
namespace value_field {
constexpr int tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}

constexpr const char* file_name_begin = "events.out.tfevents.";

std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian((crc >> 15 | crc << 17) + 0xA282EAD8u, 4);
}

Message event_at(double time, std::int64_t step) {
  Message event;
  event.real(event_field::wall_time, time);
  if (step != 0) event.integer(event_field::step, step);
  return event;
}

std::string summary_record(double time, std::int64_t step, const Message& value) {
  const Message summary = Message().message(1, value);
  return framed(event_at(time, step).message(event_field::summary, summary).bytes());
}

Message metadata_of(std::string_view plugin, std::string_view content) {
  Message data;
  data.text(1, plugin);
  if (!content.empty()) data.text(2, content);
  return Message().message(1, data);
}

// The plugin reads metadata alone; readers want a tensor beside it.
std::string session_record(double time, std::string_view tag, int field, const Message& content) {
  const Message data = Message().integer(1, 0).message(field, content);  // version 0
  constexpr int dtype = 1, shape = 2, float_values = 5, float_type = 1;
  const Message null_tensor =
      Message().integer(dtype, float_type).message(shape, {}).text(float_values, std::string(4, '\0'));
  return summary_record(time, 0,
                        Message()
                            .text(value_field::tag, tag)
                            .message(value_field::tensor, null_tensor)
                            .message(value_field::metadata, metadata_of("hparams", data.bytes())));
}

enum class DataType { text = 1, truth = 2, number = 3 };

DataType type_of(const HyperParameter& parameter) {
  constexpr DataType types[] = {DataType::number, DataType::truth, DataType::text};
  return types[parameter.value.index()];
}

// google.protobuf.Value
Message value_of(const HyperParameter& parameter) {
  constexpr int number = 2, text = 3, truth = 4;
  if (const double* value = std::get_if<double>(&parameter.value)) return Message().real(number, *value);
  if (const bool* value = std::get_if<bool>(&parameter.value)) return Message().integer(truth, *value ? 1 : 0);
  return Message().text(text, std::get<std::string>(parameter.value));
}

}  // namespace

std::string framed(std::string_view event) {
  const std::string length = little_endian(event.size(), 8);
  std::string record = length + masked_crc(length);
  record += event;
  return record + masked_crc(event);
}

std::string version_record(double time) {
  return framed(event_at(time, 0)
                    .text(event_field::file_version, "brain.Event:2")
                    .message(event_field::source_metadata, Message().text(1, "troika"))
                    .bytes());
}

std::string start_record(double time, std::int64_t next_step) {
  constexpr int status = 1, start = 1;
  return framed(event_at(time, next_step).message(event_field::session_log, Message().integer(status, start)).bytes());
}

std::string scalars_record(double time, std::int64_t step, const Scalars& scalars) {
  Message summary;
  for (const auto& [tag, value] : scalars)
    summary.message(1,
                    Message().text(value_field::tag, tag).single(value_field::simple_value, static_cast<float>(value)));
  return framed(event_at(time, step).message(event_field::summary, summary).bytes());
}

std::string text_record(double time, std::int64_t step, std::string_view tag, std::string_view text) {
  constexpr int dtype = 1, shape = 2, string_values = 8, string_type = 7;
  const Message one = Message().message(2, Message().integer(1, 1));  // a dimension of size 1
  const Message tensor = Message().integer(dtype, string_type).message(shape, one).text(string_values, text);
  return summary_record(time, step,
                        Message()
                            .text(value_field::tag, tag)
                            .message(value_field::tensor, tensor)
                            .message(value_field::metadata, metadata_of("text", "")));
}

std::string hyper_parameters_record(double time, const std::vector<HyperParameter>& parameters,
                                    const std::vector<std::string>& result_tags) {
  constexpr int parameter_infos = 4, metric_infos = 5, name = 1, type = 4, metric_tag = 2, display_name = 3;
  Message experiment;
  for (const HyperParameter& parameter : parameters)
    experiment.message(parameter_infos,
                       Message().text(name, parameter.name).integer(type, static_cast<int>(type_of(parameter))));
  for (const std::string& tag : result_tags)
    experiment.message(metric_infos, Message().message(name, Message().text(metric_tag, tag)).text(display_name, tag));
  return session_record(time, "_hparams_/experiment", 2, experiment);
}

std::string hyper_parameters_start_record(double time, const std::vector<HyperParameter>& parameters) {
  constexpr int values = 1, start_seconds = 5, key = 1, value = 2;
  Message start;
  for (const HyperParameter& parameter : parameters)
    start.message(values, Message().text(key, parameter.name).message(value, value_of(parameter)));
  return session_record(time, "_hparams_/session_start_info", 3, start.real(start_seconds, time));
}

std::string hyper_parameters_end_record(double time, SessionEnd end) {
  constexpr int status = 1, end_seconds = 2, success = 1, failure = 2;
  return session_record(
      time, "_hparams_/session_end_info", 4,
      Message().integer(status, end == SessionEnd::success ? success : failure).real(end_seconds, time));
}

std::string event_file_name(std::int64_t time, std::string_view host, int process) {
  return fmt::format("{}{:010}.{}.{}.0", file_name_begin, time, host, process);
}

std::int64_t time_behind_others(const std::string& folder, std::int64_t time) {
  for (const std::string& name : base::list_directory(folder)) {
    if (name.rfind(file_name_begin, 0) != 0) continue;
    const std::vector<std::string> parts = base::split(name, '.');
    std::int64_t other = 0;
    if (parts.size() > 3 && base::parse_int(parts[3], &other)) time = std::max(time, other + 1);
  }
  return time;
}

static constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t reflected_polynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reflected_polynomial : 0);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

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
