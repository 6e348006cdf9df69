// A part: the safetensors file with one rank's slices. A whole tensor is an entry with its name and shape; any other
// region is a one-dimensional entry whose place is in the metadata under "region." + entry name. Several slices of
// one tensor in one part are the entries NAME, NAME#1, NAME#2, ...
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_writer.h"

namespace troika::checkpoint {

// BugError when a slice's data is not what `Slice` promises.
void check_slice(const Slice& slice);

// The same, but that half precision is good, too.
void check_slice_of_reals(const Slice& slice);

// Writes one part, in fp32. Data on a device come through two buffers of 4 MiB (tensor::Download): one is written while the other
// is filled. `check` as in tensor::await.
WrittenFile write_part(const std::string& path, const std::vector<Slice>& slices, const std::function<void()>& check);

// Plans which bytes of which part go where: both ends of a transfer walk the same list, so only the bytes travel. Also checks that
// the slices of all ranks together hold every element exactly once.

// A wanted slice without its tensor.
struct Want {
  std::string name;
  std::vector<std::int64_t> shape;
  Region region;
};

// Elements of one want that lie in one run in a part.
struct Piece {
  std::size_t want = 0;       // index in the receiver's wants
  std::int64_t at = 0;        // position in that want's region
  std::int64_t position = 0;  // byte position in the file
  std::int64_t elements = 0;
};

// Calls piece(Piece) for everything that `wants` find in a part, in the order of wants and entries.
template <class Call>
void for_each_piece(const std::vector<Want>& wants, const std::vector<PartEntry>& entries, const Call& piece) {
  for (std::size_t i = 0; i < wants.size(); ++i)
    for (const PartEntry& entry : entries) {
      if (entry.name != wants[i].name) continue;
      intersect(wants[i].region, entry.region, [&](std::int64_t want_at, std::int64_t entry_at, std::int64_t elements) {
        piece(Piece{i, want_at, entry.begin + entry_at * 4, elements});
      });
    }
}

// The pieces that one receiver gets from one part, cut into messages. Both ends hold an equal one.
struct Stream {
  std::size_t part = 0;
  int server = 0, receiver = 0;
  std::vector<Piece> pieces;
  std::size_t next = 0;  // the first piece not sent; its front is cut off as it goes

  bool done() const { return next == pieces.size(); }
  // The pieces, the last one perhaps cut, of the next message of at most `most_elements`.
  std::vector<Piece> next_message(std::int64_t most_elements);
};

// Slices without their tensors as the text that travels between ranks.
std::string wants_to_text(const std::vector<Slice>& slices);
std::vector<Want> wants_from_text(const std::string& text);

// DataError when a want's name is in no part, its shape is another, or some of its elements are in no part.
void check_wants(const std::vector<Want>& wants, const std::vector<std::vector<PartEntry>>& parts);

// A slice without its data, with the rank that holds it.
struct Share {
  int rank = 0;
  std::vector<std::int64_t> shape;
  Region region;
};

using Shares = std::map<std::string, std::vector<Share>>;  // by tensor name
void add_shares(const std::string& text, int rank, Shares* shares);  // text: wants_to_text of the rank's slices

// BugError naming tensor, ranks and counts when a shape differs between ranks, elements are missing or held twice.
void check_coverage(const Shares& shares);

}  // namespace troika::checkpoint
