#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/run_files.h"
#include "base/say.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/copies.h"
#include "checkpoint/disks.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part.h"

namespace troika::checkpoint {
using base::DataError;
using nlohmann::json;

namespace {

// The slices of all ranks and the parts they will become, the same on every rank.
struct Layout {
  Shares weights, state;
  std::vector<std::string> model_files, state_files;  // per rank; "" when the rank has nothing of that kind
};

using PartsOfRanks = std::vector<std::vector<Part>>;

// The parts that all ranks have written.
struct WrittenParts {
  PartsOfRanks first;   // per rank
  PartsOfRanks second;  // per rank: of the one whose parts it wrote as well
};

}  // namespace

// "model/model-00002-of-00003.safetensors": numbered over the ranks that have anything.
static std::vector<std::string> number_parts(const char* kind, const std::vector<bool>& has) {
  int total = 0, next = 0;
  for (const bool one : has) total += one ? 1 : 0;
  std::vector<std::string> files;
  for (const bool one : has)
    files.push_back(one ? fmt::format("{0}/{0}-{1:05}-of-{2:05}.safetensors", kind, ++next, total) : "");
  return files;
}

static Layout agree_on_layout(const SaveRequest& request, comm::Channel& world) {
  const auto texts = gather(world, [&] {
    for (const Slice& slice : request.weights) check_slice_of_reals(slice);
    for (const Slice& slice : request.state) check_slice_of_reals(slice);
    return json{wants_to_text(request.weights), wants_to_text(request.state)}.dump();
  });
  Layout layout;
  std::vector<bool> has_weights, has_state;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const json pair = json_in(texts[rank]);
    const std::string weights = pair[0].get<std::string>(), state = pair[1].get<std::string>();
    add_shares(weights, static_cast<int>(rank), &layout.weights);
    add_shares(state, static_cast<int>(rank), &layout.state);
    has_weights.push_back(weights != "[]");
    has_state.push_back(state != "[]");
  }
  check_coverage(layout.weights);
  check_coverage(layout.state);
  layout.model_files = number_parts("model", has_weights);
  layout.state_files = number_parts("state", has_state);
  return layout;
}

static void prepare_folder(const std::string& folder) {
  base::remove_tree(folder);
  base::make_directories(folder + "/model");
  base::make_directories(folder + "/state");
}

// Hugging Face's list of which file holds which tensor. Of a tensor in several parts it names the first.
static std::string index_text(const Layout& layout) {
  json weight_map = json::object();
  std::int64_t total_bytes = 0;
  for (const auto& [name, shares] : layout.weights) {
    weight_map[name] =
        layout.model_files[static_cast<std::size_t>(shares.front().rank)].substr(std::string("model/").size());
    total_bytes += element_count(shares.front().shape) * 4;
  }
  return json{{"metadata", {{"total_size", total_bytes}}}, {"weight_map", weight_map}}.dump(1) + "\n";
}

static void write_one(const std::string& folder, const std::string& file, const std::vector<Slice>& slices,
                      comm::Channel& world, json* parts) {
  if (file.empty()) return;
  const WrittenFile written = write_part(folder + "/" + file, slices, [&world] { world.check(); });
  parts->push_back({{"file", file}, {"bytes", written.bytes}, {"xxh3", written.hash}, {"host", base::host_name()}});
}

// On every disk, so that each host's model/ is a model folder but for the parameters that other hosts hold.
static void write_shared_files(const SaveRequest& request, const Layout& layout, const std::string& folder) {
  base::write_file_atomic(folder + "/model/config.json", request.facts.model_config_json);
  base::write_file_atomic(folder + "/model/model.safetensors.index.json", index_text(layout));
  for (const ModelFile& file : request.model_files)
    base::write_file_atomic(folder + "/model/" + file.name, file.content);
}

// The files this rank puts on its disk, as JSON: its parts, and those it writes for another rank.
static std::string write_own_files(const SaveRequest& request, const Layout& layout, const std::string& folder,
                                   const Disks& disks, comm::Channel& world) {
  const int rank = world.rank();
  const auto write_pair = [&](int of, const std::vector<Slice>& weights, const std::vector<Slice>& state) {
    json parts = json::array();
    if (of < 0) return parts;
    write_one(folder, layout.model_files[static_cast<std::size_t>(of)], weights, world, &parts);
    write_one(folder, layout.state_files[static_cast<std::size_t>(of)], state, world, &parts);
    return parts;
  };
  json written = json::array();
  written.push_back(write_pair(rank, request.weights, request.state));
  written.push_back(write_pair(request.copies.written_by(rank), request.weights_again, request.state_again));
  if (disks.leads(rank)) write_shared_files(request, layout, folder);
  return written.dump();
}

static std::vector<Part> parts_of(const json& written) {
  std::vector<Part> parts;
  for (const json& part : written)
    parts.push_back({part.at("file").get<std::string>(),
                     part.at("bytes").get<std::int64_t>(),
                     part.at("xxh3").get<std::string>(),
                     part.at("host").get<std::string>(),
                     {}});
  return parts;
}

static WrittenParts parse_written(const std::vector<std::string>& texts) {
  WrittenParts written;
  for (const std::string& text : texts) {
    const json pair = json_in(text);
    written.first.push_back(parts_of(pair[0]));
    written.second.push_back(parts_of(pair[1]));
  }
  return written;
}

// Two ranks that hold the same have written the same. The same answer on all ranks.
static void check_second_copies(const Copies& copies, const WrittenParts& written) {
  for (std::size_t rank = 0; rank < written.second.size(); ++rank) {
    const int of = copies.written_by(static_cast<int>(rank));
    for (std::size_t i = 0; i < written.second[rank].size(); ++i) {
      const Part& first = written.first[static_cast<std::size_t>(of)][i];
      const Part& second = written.second[rank][i];
      if (first.hash == second.hash) continue;
      throw DataError(
          base::say("{} written by rank {} on {} differs from the one written by rank {} on {}: their parameters or optimizer state differ, so the memory or processor of one of these hosts is faulty",
                    first.file, of, first.host, rank, second.host),
          base::Cause::changed_bits);
    }
  }
}

static Manifest make_manifest(const SaveRequest& request, const PartsOfRanks& parts) {
  Manifest manifest{request.facts, static_cast<std::int64_t>(parts.size()), {}, {}};
  for (const std::vector<Part>& of_rank : parts)
    manifest.parts.insert(manifest.parts.end(), of_rank.begin(), of_rank.end());
  for (const ModelFile& file : request.model_files)
    manifest.files.push_back(
        {"model/" + file.name, static_cast<std::int64_t>(file.content.size()), base::hash_bytes(file.content)});
  return manifest;
}

// The bytes a checkpoint like this one takes on the disk of `rank`.
static std::int64_t bytes_on_disk(const Copies& copies, const PartsOfRanks& parts, const Disks& disks, int rank) {
  const auto is_here = [&](int other) {
    return disks.leader[static_cast<std::size_t>(other)] == disks.leader[static_cast<std::size_t>(rank)];
  };
  std::int64_t bytes = 0;
  for (std::size_t writer = 0; writer < parts.size(); ++writer) {
    const bool copied = copies.any() && copies.of[writer].rank >= 0 && is_here(copies.of[writer].rank);
    for (const Part& part : parts[writer]) {
      bytes += is_here(static_cast<int>(writer)) ? part.bytes : 0;
      bytes += copied ? part.bytes : 0;
    }
  }
  return bytes;
}

// A folder that is at `to`, of an earlier save of the same step, is there until the new one is.
static void replace_folder(const std::string& from, const std::string& to) {
  base::sync_directory(from);
  if (base::directory_exists(to) && base::exchange_paths(from, to)) return base::remove_tree(from);
  if (base::is_plain_folder(to))
    base::remove_tree(to + "/" + manifest_name);  // first, so that a crash leaves no list without its parts
  base::remove_tree(to);
  base::rename_path(from, to);
}

// Collective, after an error that all ranks have heard of, so nobody writes any more. On disks that had given the folder its name
// already, and where no list of its step exists anywhere, it is named unfinished again; then it is emptied as the others are.
static void give_back_room(const std::string& root, const std::string& folder, const Disks& disks,
                           comm::Channel& world) {
  const bool leads = disks.leads(world.rank());
  try {
    const bool listed = any_rank(world, [&] { return base::file_exists(folder + "/" + manifest_name); });
    if (leads && !listed && base::directory_exists(folder)) {
      base::remove_tree(folder + partial_suffix);
      base::rename_path(folder, folder + partial_suffix);
    }
  } catch (const base::Error&) {  // a disk or a rank that is gone; the error that is under way says more
  }
  if (leads) empty_unfinished(root);
}

std::vector<base::Text> save(const SaveRequest& request, comm::Channel& world) {
  const Layout layout = agree_on_layout(request, world);
  agree(world, [&] { base::make_directories(request.root); });
  const Disks disks = detect_disks(request.root, world);
  const bool leads = disks.leads(world.rank());
  const std::string folder = request.root + "/" + step_folder_name(request.facts.step),
                    partial = folder + partial_suffix;

  WrittenParts written;
  std::vector<std::string> manifests;
  try {
    agree(world, [&] {
      if (!leads) return;
      empty_unfinished(request.root);  // they may have the room that this one needs
      prepare_folder(partial);
    });
    written = parse_written(gather(world, [&] { return write_own_files(request, layout, partial, disks, world); }));
    if (request.copies.any()) check_second_copies(request.copies, written);
    agree(world, [&] {
      if (leads && world.rank() != 0) replace_folder(partial, folder);
    });
    manifests = gather(world, [&]() -> std::string {
      if (world.rank() != 0) return "";
      const std::string text = manifest_to_text(make_manifest(request, written.first));
      // Before the rename: on rank 0's disk a step's folder always has its list.
      base::write_file_atomic(partial + "/" + manifest_name, text);
      replace_folder(partial, folder);
      return text;
    });
  } catch (const DataError&) {
    give_back_room(request.root, folder, disks, world);
    throw;
  }
  agree(world, [&] {  // only now, so that a list never exists without its parts
    if (leads && world.rank() != 0) base::write_file_atomic(folder + "/" + manifest_name, manifests[0]);
  });
  std::vector<base::Text> remarks;  // complete; until it has its second copies the one before it stays
  if (request.copies.any()) remarks = send_copies(folder, request.copies, written.first, world);
  prune(request.root, request.facts.step, {request.keep, request.protect}, disks, world);
  for (const base::Text& lack : gather_words(world, [&] {
         if (!leads) return base::Text{};
         return missing_room(request.root, bytes_on_disk(request.copies, written.first, disks, world.rank()));
       }))
    remarks.push_back(lack);
  return remarks;
}

}  // namespace troika::checkpoint
