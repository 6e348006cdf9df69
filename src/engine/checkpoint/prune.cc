#include "checkpoint/disks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"

namespace troika::checkpoint {
using nlohmann::json;

static void remove_quietly(const std::string& path) {
  try {
    base::remove_tree(path);
  } catch (const base::DataError&) {  // another process may have it open on a network disk; the next save tries again
  }
}

static std::vector<std::int64_t> steps_with_manifest(const std::string& root, std::int64_t newest_step) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : base::list_directory(root)) {
    std::int64_t step = 0;
    if (parse_step_folder_name(name, &step) && step <= newest_step &&
        base::file_exists(root + "/" + name + "/" + manifest_name))
      steps.push_back(step);
  }
  return steps;
}

// A step later than the one just saved belongs to a course of training that was left, by a resume from an older
// checkpoint or a new beginning: it must never be the newest again, but it is not ours to delete.
static void set_later_aside(const std::string& root, std::int64_t newest_step) {
  for (const std::string& name : base::list_directory(root)) {
    std::int64_t step = 0;
    if (!parse_step_folder_name(name, &step) || step <= newest_step) continue;
    const std::string aside = root + "/" + name + left_suffix;
    remove_quietly(aside);
    base::rename_path(root + "/" + name, aside);
  }
}

// A link goes, and nothing behind it is touched. The list goes first, so that a crash leaves none without its parts.
static void remove_checkpoint(const std::string& path) {
  if (base::is_plain_folder(path)) remove_quietly(path + "/" + manifest_name);
  remove_quietly(path);
}

static void remove_older(const std::string& root, std::int64_t oldest_kept, const std::vector<std::int64_t>& besides) {
  for (const std::string& name : base::list_directory(root)) {
    std::int64_t step = 0;
    const bool old = parse_step_folder_name(name, &step) && step < oldest_kept &&
                     std::find(besides.begin(), besides.end(), step) == besides.end();
    if (!old && !parse_partial_folder_name(name, &step) && !is_disk_token(name)) continue;
    remove_checkpoint(root + "/" + name);
  }
}

static std::vector<std::string> names_in(const std::string& folder) {
  try {
    return base::list_directory(folder);
  } catch (const base::DataError&) {  // whoever writes there next meets the same
    return {};
  }
}

void empty_unfinished(const std::string& root) {
  for (const std::string& name : names_in(root)) {
    std::int64_t step = 0;
    if (!parse_partial_folder_name(name, &step)) continue;
    const std::string folder = root + "/" + name;
    if (!base::is_plain_folder(folder)) {
      remove_quietly(folder);
      continue;
    }
    for (const std::string& inside : names_in(folder)) remove_quietly(folder + "/" + inside);
  }
}

void prune(const std::string& root, std::int64_t newest_step, const Kept& kept, const Disks& disks,
           comm::Channel& world) {
  std::set<std::int64_t> complete{newest_step};
  for (const std::string& text : gather(world, [&] { return json(steps_with_manifest(root, newest_step)).dump(); }))
    for (const json& step : json_in(text)) complete.insert(step.get<std::int64_t>());
  std::int64_t left = std::max<std::int64_t>(kept.newest, 1), oldest_kept = newest_step;
  for (auto step = complete.rbegin(); step != complete.rend() && left > 0; ++step, --left) oldest_kept = *step;
  agree(world, [&] {  // nobody looks at the folder again before this is done
    if (!disks.leads(world.rank())) return;
    set_later_aside(root, newest_step);
    remove_older(root, oldest_kept, kept.besides);
  });
}

}  // namespace troika::checkpoint
