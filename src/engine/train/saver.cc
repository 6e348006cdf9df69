#include "train/saver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/units.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/disks.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "config/config.h"
#include "host/thread_limit.h"
#include "plan/memory_check.h"
#include "shape/adapter.h"
#include "tensor/device.h"
#include "train/machine_here.h"
#include "weights/weights_folder.h"
#include "weights/checkpoint_source.h"
#include "weights/folder_writer.h"
#include "weights/rank_units.h"

namespace troika::train {
namespace {

// As the publisher of the model recommends to generate; "": as the tokenizer's folder says, if it does.
std::string generation_config_of(const InitialState& initial) {
  if (initial.found) return weights::generation_config_in(weights::auxiliary_files_of(*initial.found));
  return initial.source == nullptr ? "" : weights::generation_config_in(initial.source->auxiliary_files());
}

std::map<std::string, std::string> constant_facts(const plan::Plan& plan, const InitialState& initial,
                                                  const SavedRun& run) {
  std::map<std::string, std::string> facts = initial.facts;
  facts["data_fingerprint"] = plan.data.fingerprint;
  facts[weights::tokenizer_fact] = plan.settings().data.tokenizer;
  if (!run.launch.empty()) facts[weights::launch_fact] = run.launch;
  return facts;
}

}  // namespace

Saver::Saver(const plan::Plan& plan, const InitialState& initial, const SavedRun& run, const Saved& saved,
             const Saving& saving, comm::Channel& channel, tensor::Ledger& ledger, tensor::Streams& streams,
             RankActivity* rank_activity)
    : plan_(plan),
      saved_(saved),
      saving_(saving),
      channel_(channel),
      rank_activity_(rank_activity),
      config_json_(weights::hugging_face_config(plan.model(), "fp32", initial.config_json)),
      facts_(constant_facts(plan, initial, run)),
      tokenizer_(
          plan.settings().train.out,
          [&] { return weights::auxiliary_texts(run.tokenizer, run.chat_template, generation_config_of(initial)); },
          channel),
      snapshot_(ledger, streams) {}

Saver::~Saver() {
  if (!writer_.joinable()) return;
  if (!complete()) channel_.abort(base::say("training ended before the checkpoint was complete"));
  writer_.join();
}

namespace {

void append(std::vector<checkpoint::Slice> from, std::vector<checkpoint::Slice>* to) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

checkpoint::SaveRequest Saver::make_request() const {
  const config::Settings& settings = plan_.settings();
  checkpoint::SaveRequest request;
  request.root = settings.train.out + "/checkpoints";
  request.facts.step = saved_.state.progress.step;
  request.facts.settings_yaml = config::to_yaml(settings);
  request.facts.model_config_json = config_json_;
  request.facts.extra = facts_of(saved_.state);
  request.facts.extra.insert(facts_.begin(), facts_.end());
  request.keep = settings.checkpoint.keep;
  const Best& best = saved_.state.progress.best;
  if (settings.checkpoint.keep_best && best.step > 0) request.protect = {best.step};
  request.model_files = tokenizer_.files();
  request.copies = saving_.copies;
  return request;
}

void Saver::begin(Until until) {
  const double begin = base::monotonic_seconds();
  const bool copies = until == Until::copied && saving_.way == Saving::Way::from_snapshot;
  step_ = saved_.state.progress.step;
  checkpoint::SaveRequest request = make_request();
  const auto slices = [&](weights::Selection selection) {
    return weights::slices_of(saved_.units, selection, saved_.place);
  };
  weights::Slices own = slices(weights::Selection::written), again;
  if (saving_.copies.written_by(channel_.rank()) >= 0) again = slices(weights::Selection::again);
  if (copies) {
    snapshot_.take({&own.weights, &own.state, &again.weights, &again.state});
    weights::finish_access(saved_.units, weights::Access::read);
  }
  request.weights = std::move(own.weights);
  request.state = std::move(own.state);
  request.weights_again = std::move(again.weights);
  request.state_again = std::move(again.state);
  if (!shape::has_adapters(plan_.settings().lora)) {  // what is frozen does not change
    const auto frozen = [&](weights::Selection selection) {
      return weights::frozen_slices_of(saved_.units, selection, saved_.place);
    };
    append(frozen(weights::Selection::written), &request.weights);
    if (saving_.copies.written_by(channel_.rank()) >= 0)
      append(frozen(weights::Selection::again), &request.weights_again);
  }
  promise_ = {};
  result_ = promise_.get_future();
  if (copies) {
    const auto shared = std::make_shared<checkpoint::SaveRequest>(std::move(request));
    try {
      writer_ = host::start_thread([this, begin, shared] {
        tensor::set_threads(1);
        write_beside(std::move(*shared), begin);
      });
    } catch (const base::ConfigError&) {  // no thread to spare: then the steps wait for it
      write_beside(std::move(*shared), begin);
    }
    return;
  }
  write(std::move(request), begin);
  weights::finish_access(saved_.units, weights::Access::read);
}

static void after_each_piece(const std::function<void()>& told, std::vector<checkpoint::Slice>* slices) {
  for (checkpoint::Slice& slice : *slices) {
    slice.written = [before = slice.written, told] {
      if (before) before();
      told();
    };
  }
}

// On the writer's thread.
void Saver::write_beside(checkpoint::SaveRequest request, double begin) {
  if (rank_activity_ == nullptr) return write(std::move(request), begin);
  rank_activity_->save_begins(request.facts.step,
                            fmt::format("{}/{}", request.root, checkpoint::step_folder_name(request.facts.step)));
  for (auto* slices : {&request.weights, &request.state, &request.weights_again, &request.state_again})
    after_each_piece([this] { rank_activity_->save_moves(); }, slices);
  write(std::move(request), begin);
  rank_activity_->save_ended();
}

// On the writer's thread, or on the rank's while it waits.
void Saver::write(checkpoint::SaveRequest request, double begin) {
  try {
    tensor::await(snapshot_.copied(), [this] { channel_.check(); });
    std::vector<base::Text> remarks = checkpoint::save(request, channel_);
    promise_.set_value({request.facts.step, base::monotonic_seconds() - begin, std::move(remarks)});
  } catch (...) {
    promise_.set_exception(std::current_exception());
  }
}

bool Saver::complete() const {
  return result_.valid() && result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

Saver::Outcome Saver::finish() {
  if (writer_.joinable()) writer_.join();
  return result_.get();
}

namespace {

// A share of the time between two checkpoints, and of the link's rate.
constexpr double most_link_share = 0.05;
constexpr double usual_interval_seconds = 600;  // where steps alone decide

// The bytes a rank writes, and those it could write again for another.
struct RankBytes {
  plan::SavedBytes written, twin;
};

std::vector<RankBytes> bytes_of_all(const plan::Plan& plan, comm::Channel& world) {
  const mesh::Coordinate at = mesh::coordinate_of(plan.shape, world.rank());
  const auto texts = checkpoint::gather(world, [&] {
    const plan::SavedBytes written = plan::written_bytes(plan, at), twin = plan::twin_bytes(plan, at);
    return nlohmann::json{written.trained, written.frozen, twin.trained, twin.frozen}.dump();
  });
  std::vector<RankBytes> bytes;
  for (const std::string& text : texts) {
    const auto numbers = base::parse_json(text, "the bytes of a rank").get<std::vector<std::int64_t>>();
    bytes.push_back({{numbers.at(0), numbers.at(1)}, {numbers.at(2), numbers.at(3)}});
  }
  return bytes;
}

std::vector<int> twins_of(const plan::Plan& plan, const std::vector<RankBytes>& bytes) {
  std::vector<int> twins;
  for (int rank = 0; rank < plan.shape.world(); ++rank) {
    const bool twin = bytes[static_cast<std::size_t>(rank)].twin.total() > 0;
    twins.push_back(twin ? mesh::replicas_of(plan.shape, rank).front() : rank);
  }
  return twins;
}

std::size_t disk_count(const checkpoint::Disks& disks) {
  return std::set<int>(disks.leader.begin(), disks.leader.end()).size();
}

void decide_copies(const plan::Plan& plan, const checkpoint::Disks& disks, const std::vector<RankBytes>& bytes,
                   comm::Channel& world, Saving* saving) {
  const config::CheckpointSettings& settings = plan.settings().checkpoint;
  if (settings.copies == 1) return;
  if (disk_count(disks) < 2) {
    if (settings.copies == 2)
      saving->remarks.push_back(
          base::say("saving  one copy of each part: all ranks share one disk, so no other disk can store a second"));
    return;
  }
  checkpoint::Copies copies = checkpoint::plan_copies(disks, twins_of(plan, bytes));
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank < bytes.size(); ++rank)
    if (copies.of[rank].by == checkpoint::SecondCopy::By::sending) most = std::max(most, bytes[rank].written.total());
  if (most > 0 && settings.copies == 0 && settings.every > 0) {
    saving->remarks.push_back(
        base::say("saving  one copy of each part, on the host that wrote it: the time between two checkpoints is unknown; --checkpoint.copies 2 makes a second one, on another host"));
    return;
  }
  if (most > 0) {
    const double rate = measure_link(world).bytes_per_second * most_link_share;
    const double interval = settings.every_minutes > 0 ? settings.every_minutes * 60 : usual_interval_seconds;
    const double seconds = static_cast<double>(most) / rate;
    if (settings.copies == 0 && seconds > interval) {
      saving->remarks.push_back(base::say(
          "saving  one copy of each part, on the host that wrote it: sending {} with {:g} % of the link would take {}, longer than the {} between checkpoints; --checkpoint.copies 2 makes a second one anyway",
          base::format_bytes(most), most_link_share * 100, base::format_duration(seconds),
          base::format_duration(interval)));
      return;
    }
    copies.bytes_per_second = rate;
  }
  saving->copies = std::move(copies);
}

void decide_way(const plan::Plan& plan, const tensor::Device& device, const std::vector<RankBytes>& all,
                std::int64_t free_bytes, comm::Channel& world, Saving* saving) {
  const config::OnOff stated = plan.settings().checkpoint.async;
  const bool in_file = plan.settings().parallel.offload == config::Offload::file;
  if (stated == config::OnOff::off || (stated == config::OnOff::automatic && in_file)) return;
  std::vector<std::int64_t> bytes;  // that a rank copies: its own parts, and those it writes for another
  for (int rank = 0; rank < world.size(); ++rank) {
    const RankBytes& own = all[static_cast<std::size_t>(rank)];
    bytes.push_back(own.written.trained + (saving->copies.written_by(rank) >= 0 ? own.twin.trained : 0));
  }
  const auto me = static_cast<std::size_t>(world.rank());
  using Where = plan::Room::Where;
  plan::Memory memory = plan::memory_in(plan, mesh::grid_rank_of(plan.shape, world.rank()),
                                        device.is_cpu() ? Where::host : Where::host_of_gpu);
  memory.snapshot = bytes[me];
  const bool fits = free_bytes < 0 || memory.with_saving() <= free_bytes;
  const auto answers = checkpoint::gather(world, [&]() -> std::string { return fits ? "" : "no"; });
  const auto no = std::find(answers.begin(), answers.end(), "no");
  if (stated == config::OnOff::automatic && no != answers.end()) {
    const auto rank = static_cast<std::size_t>(no - answers.begin());
    saving->remarks.push_back(
        base::say("saving  training waits while a checkpoint is written: rank {} lacks the memory for a copy of {}",
                  rank, base::format_bytes(bytes[rank])));
    return;
  }
  saving->way = Saving::Way::from_snapshot;
  saving->snapshot_bytes = std::move(bytes);
}

void check_room(const plan::Plan& plan, const checkpoint::Disks& disks, const std::vector<RankBytes>& all,
                comm::Channel& world, Saving* saving) {
  const auto is_here = [&](int rank) {
    return disks.leader[static_cast<std::size_t>(rank)] == disks.leader[static_cast<std::size_t>(world.rank())];
  };
  std::int64_t bytes = 0;
  for (int rank = 0; rank < world.size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (is_here(rank)) bytes += all[index].written.total();
    if (saving->copies.any() && saving->copies.of[index].rank >= 0 && is_here(saving->copies.of[index].rank))
      bytes += all[index].written.total();
  }
  for (const base::Text& lack : checkpoint::gather_words(world, [&] {
         return disks.leads(world.rank()) ? checkpoint::missing_room(plan.settings().train.out, bytes) : base::Text{};
       }))
    saving->remarks.push_back(base::say("saving  {}", lack));
}

}  // namespace

Saving decide_saving(const plan::Plan& plan, const tensor::Device& device, std::int64_t free_bytes,
                     comm::Channel& world) {
  Saving saving;
  const std::string& out = plan.settings().train.out;
  checkpoint::agree(world, [&] { base::make_directories(out); });
  const checkpoint::Disks disks = checkpoint::detect_disks(out, world);
  const std::vector<RankBytes> bytes = bytes_of_all(plan, world);
  decide_copies(plan, disks, bytes, world, &saving);
  decide_way(plan, device, bytes, free_bytes, world, &saving);
  check_room(plan, disks, bytes, world, &saving);
  return saving;
}

}  // namespace troika::train
