#include "comm/store_collectives.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "rendezvous/join.h"

namespace troika::comm {

// Reads the words of a rank or of the store, in a form that only Troika's own processes know.
template <class Read>
static auto read_told(const std::string& what, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception&) {
    throw base::PeerError(base::say(
        "the ranks' exchange about '{}' is malformed: the store's address does not belong to this launch's store, or a rank is faulty",
        what));
  }
}

std::string StoreCollectives::await(const std::string& name) const {
  return rendezvous::await_key(*client_, identity_, name, store_patience_seconds);
}

std::string StoreCollectives::said_by(int rank, const std::string& what) const {
  return fmt::format("said/{}/{:06}", what, rank);
}

std::string StoreCollectives::broadcast_text(const std::string& what, const std::function<std::string()>& text) const {
  if (identity_.world_size == 1) return text();
  if (identity_.world_rank == 0) client_->set(key("told/" + what), text());
  const WaitMark::Scope waiting(&mark_, identity_.world_rank == 0 ? WaitMark::nobody : 0);
  return await("told/" + what);
}

// Rank 0 collects what all say and tells it in one piece, so that n ranks ask n times and not n^2.
std::vector<std::string> StoreCollectives::all_gather_text(const std::string& what, const std::string& mine) const {
  if (identity_.world_size == 1) return {mine};
  client_->set(key(said_by(identity_.world_rank, what)), mine);
  const std::string all = broadcast_text(what, [&] {
    const WaitMark::Scope waiting(&mark_, WaitMark::others);
    std::vector<std::string> texts;
    for (int rank = 0; rank < identity_.world_size; ++rank) texts.push_back(await(said_by(rank, what)));
    return nlohmann::json(texts).dump();
  });
  return read_told(what, [&] { return nlohmann::json::parse(all).get<std::vector<std::string>>(); });
}

// Rank 0 sorts what all say.
std::map<int, std::string> StoreCollectives::gather_among(const std::string& what, const std::string& group,
                                                          const std::string& mine) const {
  client_->set(key(said_by(identity_.world_rank, what)), nlohmann::json{group, mine}.dump());
  const WaitMark::Scope waiting(&mark_, WaitMark::others);
  const auto told_to = [&](const std::string& to) { return fmt::format("told/{}/{}", what, base::hash_bytes(to)); };
  if (identity_.world_rank == 0) {
    std::map<std::string, nlohmann::json> groups;
    for (int rank = 0; rank < identity_.world_size; ++rank) {
      const std::string text = await(said_by(rank, what));
      const auto said = read_told(what, [&] { return nlohmann::json::parse(text).get<std::array<std::string, 2>>(); });
      groups[said[0]].push_back({rank, said[1]});
    }
    for (const auto& [of, texts] : groups) client_->set(key(told_to(of)), texts.dump());
  }
  const std::string told = await(told_to(group));
  return read_told(what, [&] {
    std::map<int, std::string> all;
    for (const auto& one : nlohmann::json::parse(told)) all[one.at(0)] = one.at(1);
    return all;
  });
}

}  // namespace troika::comm
