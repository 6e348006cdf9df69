#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gather.h"
#include "checkpoint/part.h"
#include "tensor/tensor.h"
#include "tensor/upload.h"

namespace troika::checkpoint {
using base::DataError;
using nlohmann::json;

static constexpr std::int64_t message_elements = 1 << 20;  // 4 MiB: below a second even at 50 Mbit/s
static_assert(message_elements * 4 <= tensor::Upload::piece_bytes);
static constexpr std::uint32_t stream_tag = 0x434b;

namespace {

// One load: what is open here, what is in every part, and who wants what.
struct Load {
  std::vector<std::optional<SafetensorsFile>> files;  // per part; set where this rank holds it
  std::vector<std::vector<PartEntry>> entries;        // per part
  std::vector<std::vector<Want>> wants;               // per rank
};

}  // namespace

static bool holds(const Part& part, int rank) {
  return std::binary_search(part.holders.begin(), part.holders.end(), rank);
}

// Opens the parts this rank holds and returns the headers it must tell the others: of parts it is the lowest holder of.
static std::string open_parts(const Found& found, int me, Load* load) {
  json headers = json::object();
  for (std::size_t i = 0; i < found.parts.size(); ++i) {
    const Part& part = found.parts[i];
    load->files.emplace_back();
    if (!holds(part, me)) continue;
    load->files.back().emplace(found.path + "/" + part.file);
    if (load->files.back()->bytes() != part.bytes)
      throw DataError(
          base::say("part {} of '{}' has {} bytes instead of {}; it changed since the checkpoint was found",
                      part.file, found.path, load->files.back()->bytes(), part.bytes));
    if (part.holders.front() == me) headers[std::to_string(i)] = std::string(load->files.back()->header_text());
  }
  return headers.dump();
}

static void exchange_headers(const Found& found, comm::Channel& world, Load* load) {
  const auto texts = gather(world, [&] { return open_parts(found, world.rank(), load); });
  load->entries.resize(found.parts.size());
  for (const std::string& text : texts) {
    const json headers = json_in(text);
    for (const auto& item : headers.items()) {
      const auto index = static_cast<std::size_t>(std::stoul(item.key()));
      const Part& part = found.parts[index];
      load->entries[index] =
          part_entries(parse_safetensors_header(item.value().get<std::string>(), part.bytes, part.file), part.file);
    }
  }
}

static void exchange_wants(const std::vector<Slice>& wanted, comm::Channel& world, Load* load) {
  const auto texts = gather(world, [&] {
    for (const Slice& slice : wanted) check_slice(slice);
    const std::string text = wants_to_text(wanted);
    check_wants(wants_from_text(text), load->entries);
    return text;
  });
  for (const std::string& text : texts) load->wants.push_back(wants_from_text(text));
}

namespace {

// The wanted slices, on the host and on one device.
class Wanted {
 public:
  explicit Wanted(const std::vector<Slice>& slices) : slices_(slices) {}

  // At most message_elements.
  void store(const Piece& piece, std::int64_t done, const std::byte* source, std::int64_t bytes) {
    const tensor::Tensor& data = slices_[piece.want].data;
    if (data.is_cpu()) {
      std::memcpy(data.data<float>() + piece.at + done, source, static_cast<std::size_t>(bytes));
    } else {
      upload_.copy(data.narrow(0, piece.at + done, bytes / 4),
                   [&](void* to) { std::memcpy(to, source, static_cast<std::size_t>(bytes)); });
    }
  }

 private:
  const std::vector<Slice>& slices_;
  tensor::Upload upload_;
};

}  // namespace

// Large pieces in several, and what was read leaves the memory again.
static void copy_local(const Load& load, std::size_t part, int me, Wanted& wanted) {
  const SafetensorsFile& file = *load.files[part];
  ReadPages pages(file);
  for_each_piece(load.wants[static_cast<std::size_t>(me)], load.entries[part], [&](const Piece& piece) {
    for (std::int64_t done = 0; done < piece.elements; done += message_elements) {
      const std::int64_t bytes = std::min(message_elements, piece.elements - done) * 4,
                         position = piece.position + done * 4;
      file.while_reading([&] { wanted.store(piece, done, file.at(position), bytes); });
      pages.add(position, bytes);
    }
  });
}

// The streams that this rank sends and receives, by part, then by receiver.
static std::vector<Stream> own_streams(const Found& found, const Load& load, int me) {
  std::vector<Stream> streams;
  for (std::size_t part = 0; part < found.parts.size(); ++part) {
    const int server = found.parts[part].holders.front();
    for (int receiver = 0; receiver < static_cast<int>(load.wants.size()); ++receiver) {
      if (holds(found.parts[part], receiver) || (me != server && me != receiver)) continue;
      std::vector<Piece> pieces;
      for_each_piece(load.wants[static_cast<std::size_t>(receiver)], load.entries[part],
                     [&](const Piece& piece) { pieces.push_back(piece); });
      streams.push_back({part, server, receiver, std::move(pieces)});
    }
  }
  return streams;
}

namespace {

// Sends and receives single messages. Two buffers for sending: one fills while the other is under way.
class Post {
 public:
  Post(const Load& load, Wanted& wanted, comm::Channel& world)
      : load_(load), wanted_(wanted), world_(world) {}

  void send(const std::vector<Piece>& message, std::size_t part, int to) {
    current_ = 1 - current_;
    transfers_[current_].wait();
    std::byte* out = bytes_of(&send_buffers_[current_]);
    std::int64_t filled = 0;
    const SafetensorsFile& file = *load_.files[part];
    ReadPages pages(file);
    file.while_reading([&] {
      for (const Piece& piece : message) {
        std::memcpy(out + filled, file.at(piece.position), static_cast<std::size_t>(piece.elements * 4));
        pages.add(piece.position, piece.elements * 4);
        filled += piece.elements * 4;
      }
    });
    transfers_[current_] = world_.send(send_buffers_[current_].narrow(0, 0, filled), to, stream_tag);
  }

  void receive(const std::vector<Piece>& message, int from) {
    const std::byte* in = bytes_of(&receive_buffer_);
    std::int64_t bytes = 0;
    for (const Piece& piece : message) bytes += piece.elements * 4;
    world_.recv(receive_buffer_.narrow(0, 0, bytes), from, stream_tag).wait();
    for (const Piece& piece : message) {
      wanted_.store(piece, 0, in, piece.elements * 4);
      in += piece.elements * 4;
    }
  }

  void finish() {
    for (comm::Transfer& transfer : transfers_) transfer.wait();
  }

 private:
  static std::byte* bytes_of(tensor::Tensor* buffer) {
    if (!buffer->defined()) *buffer = tensor::empty({message_elements * 4}, tensor::Dtype::uint8);
    return reinterpret_cast<std::byte*>(buffer->data<std::uint8_t>());
  }

  const Load& load_;
  Wanted& wanted_;
  comm::Channel& world_;
  tensor::Tensor send_buffers_[2], receive_buffer_;
  comm::Transfer transfers_[2];
  int current_ = 0;
};

}  // namespace

// One message of every stream per round, in one order on all ranks. The first message not yet delivered always has both its
// ends at work on it, so there is no deadlock; and no rank waits longer than a round for its next message, however much the
// streams of others have to carry.
static void exchange_parts(const Found& found, const Load& load, Wanted& wanted, comm::Channel& world) {
  std::vector<Stream> streams = own_streams(found, load, world.rank());
  Post post(load, wanted, world);
  for (bool more = true; more;) {
    more = false;
    for (Stream& stream : streams) {
      if (stream.done()) continue;
      const std::vector<Piece> message = stream.next_message(message_elements);
      if (stream.server == world.rank()) {
        post.send(message, stream.part, stream.receiver);
      } else {
        post.receive(message, stream.server);
      }
      more = more || !stream.done();
    }
  }
  post.finish();
}

namespace {

bool is_half(const Slice& slice) { return slice.data.element_bytes() == 2; }

// Adds a slice of halves to the last of `rounds`, and what does not fit to further ones.
void add_half(const Slice& slice, std::int64_t* room, std::vector<std::vector<Slice>>* rounds) {
  for (std::int64_t begin = 0; begin < slice.region.elements();) {
    if (*room == 0) {
      rounds->emplace_back();
      *room = float_round_elements;
    }
    const std::int64_t count = std::min(*room, slice.region.elements() - begin);
    for (const Region& region : shape::part_of_region(slice.region, begin, count)) {
      rounds->back().push_back({slice.name, slice.shape, region, slice.data.narrow(0, begin, region.elements())});
      begin += region.elements();
    }
    *room -= count;
  }
}

}  // namespace

void load_by_floats(const std::vector<Slice>& wanted, comm::Channel& world,
                    const std::function<void(const std::vector<Slice>&)>& load) {
  std::vector<std::vector<Slice>> rounds(1);
  std::int64_t room = float_round_elements;
  for (const Slice& slice : wanted) {
    if (is_half(slice)) {
      add_half(slice, &room, &rounds);
    } else {
      rounds.front().push_back(slice);
    }
  }
  rounds.resize(static_cast<std::size_t>(most_of(world, static_cast<std::int64_t>(rounds.size()))));
  for (const std::vector<Slice>& round : rounds) {
    std::vector<Slice> floats = round;
    for (Slice& slice : floats)
      if (is_half(slice)) slice.data = tensor::empty(slice.data.sizes(), slice.data.type().of(tensor::Dtype::fp32));
    load(floats);
    for (std::size_t i = 0; i < round.size(); ++i)
      if (is_half(round[i])) round[i].data.copy_from(floats[i].data);
  }
}

static void load_floats(const Found& found, const std::vector<Slice>& slices, comm::Channel& world) {
  Load load;
  exchange_headers(found, world, &load);
  exchange_wants(slices, world, &load);
  Wanted wanted(slices);
  for (std::size_t part = 0; part < found.parts.size(); ++part)
    if (load.files[part]) copy_local(load, part, world.rank(), wanted);
  exchange_parts(found, load, wanted, world);
}

void load(const Found& found, const std::vector<Slice>& wanted, comm::Channel& world) {
  load_by_floats(wanted, world, [&](const std::vector<Slice>& floats) { load_floats(found, floats, world); });
}

}  // namespace troika::checkpoint
