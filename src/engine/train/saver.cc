#include "train/saver.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/manifest.h"
#include "config/config.h"
#include "host/thread_limit.h"
#include "shape/adapter.h"
#include "tensor/device.h"
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
             Whereabouts* whereabouts)
    : plan_(plan),
      saved_(saved),
      saving_(saving),
      channel_(channel),
      whereabouts_(whereabouts),
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
  if (whereabouts_ == nullptr) return write(std::move(request), begin);
  whereabouts_->save_begins(request.facts.step,
                            fmt::format("{}/{}", request.root, checkpoint::step_folder_name(request.facts.step)));
  for (auto* slices : {&request.weights, &request.state, &request.weights_again, &request.state_again})
    after_each_piece([this] { whereabouts_->save_moves(); }, slices);
  write(std::move(request), begin);
  whereabouts_->save_ended();
}

// On the writer's thread, or on the rank's while it waits.
void Saver::write(checkpoint::SaveRequest request, double begin) {
  try {
    tensor::await(snapshot_.copied(), [this] { channel_.check(); });
    checkpoint::Saved saved = checkpoint::save(request, channel_);
    promise_.set_value({request.facts.step, base::monotonic_seconds() - begin, std::move(saved.remarks)});
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

}  // namespace troika::train
