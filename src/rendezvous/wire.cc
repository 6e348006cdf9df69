#include "rendezvous/wire.h"

namespace troika::rendezvous::wire {

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift & 0xff));
}

std::uint32_t get_u32(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string frame(std::uint32_t request, std::uint8_t kind, std::string_view body) {
  std::string out;
  out.reserve(frame_head_bytes + body.size());
  put_u32(out, static_cast<std::uint32_t>(5 + body.size()));
  put_u32(out, request);
  out.push_back(static_cast<char>(kind));
  out.append(body);
  return out;
}

Parse parse_frame(std::string_view buffer, Frame* out, std::size_t* used) {
  if (buffer.size() < 4) return Parse::incomplete;
  const std::size_t length = get_u32(buffer.data());
  if (length < 5 || length > max_frame_bytes) return Parse::malformed;
  if (buffer.size() < 4 + length) return Parse::incomplete;
  out->request = get_u32(buffer.data() + 4);
  out->kind = static_cast<std::uint8_t>(buffer[8]);
  out->body = buffer.substr(frame_head_bytes, length - 5);
  *used = 4 + length;
  return Parse::complete;
}

void put_text(std::string& out, std::string_view text) {
  put_u32(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

bool take_text(std::string_view& from, std::string_view* text) {
  if (from.size() < 4) return false;
  const std::size_t length = get_u32(from.data());
  if (from.size() - 4 < length) return false;
  *text = from.substr(4, length);
  from.remove_prefix(4 + length);
  return true;
}

}  // namespace troika::rendezvous::wire
