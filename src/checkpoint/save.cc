#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/coverage.h"
#include "checkpoint/disks.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part.h"
#include "checkpoint/prune.h"

namespace troika::checkpoint {
using nlohmann::json;

namespace {

// The slices of all ranks and the parts they will become, the same on every rank.
struct Layout {
  Shares weights, state;
  std::vector<std::string> model_files, state_files;  // per rank; "" when the rank has nothing of that kind
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
    for (const Slice& slice : request.weights) check_slice_to_save(slice);
    for (const Slice& slice : request.state) check_slice_to_save(slice);
    return json{shares_to_text(request.weights), shares_to_text(request.state)}.dump();
  });
  Layout layout;
  std::vector<bool> has_weights, has_state;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const json pair = base::parse_json(texts[rank], "the slices of a rank");
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

static json write_one(const std::string& folder, const std::string& file, const std::vector<Slice>& slices) {
  const WrittenFile written = write_part(folder + "/" + file, slices);
  return {{"file", file}, {"bytes", written.bytes}, {"xxh3", written.hash}, {"host", base::host_name()}};
}

// On every disk, so that each host's model/ is a model folder but for the parameters that other hosts hold.
static void write_shared_files(const SaveRequest& request, const Layout& layout, const std::string& folder) {
  base::write_file_atomic(folder + "/model/config.json", request.facts.model_config_json);
  base::write_file_atomic(folder + "/model/model.safetensors.index.json", index_text(layout));
  for (const ModelFile& file : request.model_files)
    base::write_file_atomic(folder + "/model/" + file.name, file.content);
}

// What this rank puts on its disk, as a JSON list of parts.
static std::string write_own_files(const SaveRequest& request, const Layout& layout, const std::string& folder,
                                   const Disks& disks, int rank) {
  const auto me = static_cast<std::size_t>(rank);
  json parts = json::array();
  if (!layout.model_files[me].empty()) parts.push_back(write_one(folder, layout.model_files[me], request.weights));
  if (!layout.state_files[me].empty()) parts.push_back(write_one(folder, layout.state_files[me], request.state));
  if (disks.leads(rank)) write_shared_files(request, layout, folder);
  return parts.dump();
}

static Manifest make_manifest(const SaveRequest& request, const std::vector<std::string>& part_texts) {
  Manifest manifest{request.facts, static_cast<std::int64_t>(part_texts.size()), {}, {}};
  const std::string origin = "the parts of a rank";
  for (const std::string& text : part_texts)
    for (const json& part : base::parse_json(text, origin))
      manifest.parts.push_back({base::json_string(part, "file", origin),
                                base::json_int(part, "bytes", origin),
                                base::json_string(part, "xxh3", origin),
                                base::json_string(part, "host", origin),
                                {}});
  for (const ModelFile& file : request.model_files)
    manifest.files.push_back(
        {"model/" + file.name, static_cast<std::int64_t>(file.content.size()), base::hash_bytes(file.content)});
  return manifest;
}

// A folder that stands at `to`, of an earlier save of the same step, is there until the new one is.
static void replace_folder(const std::string& from, const std::string& to) {
  base::sync_directory(from);
  if (base::directory_exists(to) && base::exchange_paths(from, to)) return base::remove_tree(from);
  base::remove_tree(to + "/" + manifest_name);  // first, so that a crash leaves no list without its parts
  base::remove_tree(to);
  base::rename_path(from, to);
}

void save(const SaveRequest& request, comm::Channel& world) {
  const Layout layout = agree_on_layout(request, world);
  agree(world, [&] { base::make_directories(request.root); });
  const Disks disks = detect_disks(request.root, world);
  const bool leads = disks.leads(world.rank());
  const std::string folder = request.root + "/" + step_folder_name(request.facts.step),
                    partial = folder + partial_suffix;

  agree(world, [&] {
    if (leads) prepare_folder(partial);
  });
  const auto parts = gather(world, [&] { return write_own_files(request, layout, partial, disks, world.rank()); });
  agree(world, [&] {
    if (leads && world.rank() != 0) replace_folder(partial, folder);
  });
  const auto manifests = gather(world, [&]() -> std::string {
    if (world.rank() != 0) return "";
    const std::string text = manifest_to_text(make_manifest(request, parts));
    // Before the rename: on rank 0's disk a step's folder always has its list.
    base::write_file_atomic(partial + "/" + manifest_name, text);
    replace_folder(partial, folder);
    return text;
  });
  agree(world, [&] {  // only now, so that a list never stands without its parts
    if (leads && world.rank() != 0) base::write_file_atomic(folder + "/" + manifest_name, manifests[0]);
  });
  prune(request.root, request.facts.step, {request.keep, request.protect}, disks, world);
}

}  // namespace troika::checkpoint
