// The records of a TensorBoard event file as bytes. Source of the format: TensorFlow's event.proto and summary.proto, and TensorBoard's
// plugins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troika::exporters {

// An event's bytes between their length and check sums (TFRecord).
std::string framed(std::string_view event);

// Every event file begins with this one. `time` is in seconds since 1970, here and below.
std::string version_record(double time);
// Readers forget what earlier files of the folder say of `next_step` and later ones.
std::string start_record(double time, std::int64_t next_step);

using Scalars = std::vector<std::pair<std::string, double>>;  // by tag; stored with 32 bits
std::string scalars_record(double time, std::int64_t step, const Scalars& scalars);

// Shown as Markdown.
std::string text_record(double time, std::int64_t step, std::string_view tag, std::string_view text);

struct HyperParameter {
  std::string name;
  std::variant<double, bool, std::string> value;
};
// For the tab HPARAMS: what the run was started with, and which scalars are its results.
std::string hyper_parameters_record(double time, const std::vector<HyperParameter>& parameters,
                                    const std::vector<std::string>& result_tags);
std::string hyper_parameters_start_record(double time, const std::vector<HyperParameter>& parameters);
enum class SessionEnd { success, failure };
std::string hyper_parameters_end_record(double time, SessionEnd end);

// "events.out.tfevents.1700000000.host.4711.0": readers take files in the order of their names.
std::string event_file_name(std::int64_t time, std::string_view host, int process);
// Seconds since 1970 for a new file's name that sorts behind all that are in the folder: `time`, or later.
std::int64_t time_behind_others(const std::string& folder, std::int64_t time);

// CRC-32C (Castagnoli, RFC 3720 B.4): of "123456789" 0xE3069283.
std::uint32_t crc32c(std::string_view bytes);

// Messages of protocol buffers as bytes, as much as TensorBoard's events need (https://protobuf.dev/programming-guides/encoding).

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
