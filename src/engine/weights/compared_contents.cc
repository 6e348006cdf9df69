#include "weights/folder_source.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/stream_hash.h"
#include "base/text.h"
#include "checkpoint/disks.h"
#include "checkpoint/gather.h"

namespace troika::weights {
namespace {

constexpr std::int64_t compared_piece_bytes = 64 << 20;

// Bytes [begin, begin + bytes) of a tensor.
struct TensorBytes {
  std::string name;
  const StoredTensor* tensor = nullptr;
  std::int64_t begin = 0, bytes = 0;
};
using ComparedPiece = std::vector<TensorBytes>;

// All tensors by name, in pieces of the same size, however they are cut into files.
std::vector<ComparedPiece> pieces_of(const Assignment& tensors) {
  std::vector<ComparedPiece> pieces(1);
  std::int64_t room = compared_piece_bytes;
  for (const auto& [name, tensor] : tensors) {
    for (std::int64_t at = 0; at < tensor.bytes;) {
      const std::int64_t now = std::min(room, tensor.bytes - at);
      pieces.back().push_back({name, &tensor, at, now});
      at += now;
      room -= now;
      if (room > 0) continue;
      pieces.emplace_back();
      room = compared_piece_bytes;
    }
  }
  return pieces;
}

std::string hash_of(const ComparedPiece& piece) {
  base::StreamHash hash;
  for (const TensorBytes& part : piece) {
    const base::MappedFile& file = *part.tensor->file;
    const std::int64_t position = part.tensor->begin + part.begin;
    file.will_need(position, part.bytes);
    base::while_reading(file, [&] { hash.add(part.tensor->at(position), static_cast<std::size_t>(part.bytes)); });
    file.drop(position, part.bytes);
  }
  return hash.hex();
}

// Network file systems whose inode numbers are the server's.
bool is_shared_file_system(const std::string& path) {
  constexpr std::uint32_t nfs = 0x6969, cifs = 0xFF534D42, smb2 = 0xFE534D42, ceph = 0x00C36400, lustre = 0x0BD00BD0;
  struct statfs about {};
  if (::statfs(path.c_str(), &about) != 0) return false;
  const auto type = static_cast<std::uint32_t>(about.f_type);
  return type == nfs || type == cifs || type == smb2 || type == ceph || type == lustre;
}

// Equal on ranks that see the same files: of one kernel, or of one server, which has one file with a number, a size and a time.
std::string copy_seen(const Assignment& tensors) {
  std::set<std::string> paths;
  for (const auto& [name, tensor] : tensors) paths.insert(tensor.path);
  std::string text;
  for (const std::string& path : paths) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw base::DataError(base::say("'{}' no longer exists", path));
    const std::string where =
        is_shared_file_system(path) ? "server" : fmt::format("{} {}", checkpoint::running_kernel(), status.st_dev);
    text += fmt::format("{} {} {} {}.{}\n", where, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
  }
  return base::hash_bytes(text);
}

// The copy that each rank sees, as the lowest rank that sees it.
std::vector<int> copies(const Assignment& tensors, comm::Channel& world) {
  const std::vector<std::string> seen = checkpoint::gather(world, [&] { return copy_seen(tensors); });
  std::map<std::string, int> first;
  std::vector<int> copy;
  for (std::size_t rank = 0; rank < seen.size(); ++rank)
    copy.push_back(first.emplace(seen[rank], static_cast<int>(rank)).first->second);
  return copy;
}

// hashes[piece][copy]. The ranks of a copy take turns.
std::vector<std::map<int, std::string>> hashes_of(const std::vector<ComparedPiece>& pieces,
                                                  const std::vector<int>& copy, comm::Channel& world) {
  const auto turn_of = [&](int rank) {  // this rank's place among those of its copy, and their number
    std::pair<std::size_t, std::size_t> turn;
    for (std::size_t other = 0; other < copy.size(); ++other) {
      if (copy[other] != copy[static_cast<std::size_t>(rank)]) continue;
      if (static_cast<int>(other) < rank) ++turn.first;
      ++turn.second;
    }
    return turn;
  };
  const std::vector<std::string> texts = checkpoint::gather(world, [&] {
    const auto [place, ranks] = turn_of(world.rank());
    std::vector<std::string> mine;
    for (std::size_t piece = place; piece < pieces.size(); piece += ranks) mine.push_back(hash_of(pieces[piece]));
    return base::join(mine, " ");
  });
  std::vector<std::map<int, std::string>> hashes(pieces.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto [place, ranks] = turn_of(static_cast<int>(rank));
    std::size_t piece = place;
    for (const std::string& hash : base::split(texts[rank], ' ')) {
      if (piece >= pieces.size()) break;
      hashes[piece][copy[rank]] = hash;
      piece += ranks;
    }
  }
  return hashes;
}

// A copy that is not like most others; -1: all are equal.
int odd_copy(const std::map<int, std::string>& hashes) {
  std::map<std::string, std::size_t> alike;
  for (const auto& [copy, hash] : hashes) ++alike[hash];
  if (alike.size() < 2) return -1;
  std::string usual = hashes.begin()->second;  // rank 0's
  for (const auto& [hash, count] : alike)
    if (count > alike[usual]) usual = hash;
  const auto odd = std::find_if(hashes.begin(), hashes.end(), [&](const auto& entry) { return entry.second != usual; });
  return odd->first;
}

}  // namespace

void refuse_other_contents(const std::string& path, const Assignment& tensors, comm::Channel& world) {
  const std::vector<int> copy = copies(tensors, world);
  if (std::all_of(copy.begin(), copy.end(), [](int lowest) { return lowest == 0; })) return;
  const std::vector<ComparedPiece> pieces = pieces_of(tensors);
  const auto hashes = hashes_of(pieces, copy, world);
  const auto differs = std::find_if(hashes.begin(), hashes.end(), [](const auto& of) { return odd_copy(of) >= 0; });
  if (differs == hashes.end()) return;
  std::vector<ComparedPiece> parts;  // of that piece, tensor by tensor
  for (const TensorBytes& part : pieces[static_cast<std::size_t>(differs - hashes.begin())]) parts.push_back({part});
  const auto of_parts = hashes_of(parts, copy, world);
  const auto where = std::find_if(of_parts.begin(), of_parts.end(), [](const auto& of) { return odd_copy(of) >= 0; });
  if (where == of_parts.end())
    throw base::DataError(base::say("the weights in '{}' changed while they were compared", path));
  const TensorBytes& part = parts[static_cast<std::size_t>(where - of_parts.begin())].front();
  const int odd = odd_copy(*where);
  const auto place = checkpoint::gather(world, [&] {
    const std::int64_t begin = part.tensor->begin + part.begin;
    return checkpoint::result_of(base::say("host {}, between bytes {} and {} of '{}'", base::host_name(), begin,
                                           begin + part.bytes, part.tensor->path));
  });
  const base::Text others =
      where->size() == 2 ? base::say("the other host") : base::say("most of the {} others", where->size() - 1);
  throw base::ConfigError(
      base::say("tensor '{}' differs on rank {}'s {} from {}: copy one folder to all hosts", part.name, odd,
                checkpoint::words_in(place[static_cast<std::size_t>(odd)]), others));
}

}  // namespace troika::weights
