#include "train/evaluation_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "data/tokenizer.h"
#include "train/frozen_rank.h"
#include "train/logits_file.h"
#include "train/model_source.h"

namespace troika::train {
namespace {

// Tells the guard where the rank is, and whose microbatch the head computes.
class Watcher final : public executor::Observer {
 public:
  explicit Watcher(Session& session) : session_(session) {}
  int microbatch() const { return microbatch_; }

  void begins(std::int64_t step, const schedule::Instruction& instruction) override {
    session_.at(step, to_text(instruction));
    microbatch_ = instruction.microbatch;
  }
  void waited(const schedule::Instruction&, double, double) override {}
  void exchanged_inside(const schedule::Instruction&, double, double) override {}
  void transferred(const schedule::Instruction&, double, double) override {}
  void ended(const schedule::Instruction&, double, double) override {}

 private:
  Session& session_;
  int microbatch_ = -1;
};

// A folder of this run that is there until all ranks of this host have mapped what is in it.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / ("troika-eval-" + name)).string()) {}
  ~Scratch() { remove(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  const std::string path_;
};

std::string scratch_name() {
  return fmt::format("{}-{:x}", ::getpid(), static_cast<std::uint64_t>(base::monotonic_seconds() * 1e9));
}

void check_request(const config::Settings& s) {
  if (s.model.path.empty()) {
    throw base::ConfigError(
        "model.path is not set; name a model folder, a checkpoint or a run with --model.path PATH, or as the first "
        "word");
  }
  if (s.data.valid.empty())
    throw base::ConfigError(
        "data.valid is not set; name a text file, JSONL, a folder or token shards with --data.valid PATH");
}

class Run {
 public:
  Run(Session& session, const EvaluationRequest& request)
      : session_(session), request_(request), settings_(request.resolved.settings), watcher_(session) {}

  EvaluationResult run() {
    meet();
    open();
    plan();
    EvaluationResult result;
    result.truncated = data_.truncated;
    result.evaluation = compute();
    session_.finish();
    return result;
  }

 private:
  void meet() {
    session_.join();
    machine_ = prepare_machine(request_);
    session_.at(0, "agreeing on settings");
    session_.agree("settings", settings_facts(settings_, ""));
    const config::Layout& l = request_.resolved.layout;
    connect(session_, request_,
            {static_cast<int>(l.dp), static_cast<int>(l.pp), static_cast<int>(l.tp), static_cast<int>(l.cp)}, machine_);
  }

  void open() {
    session_.at(0, "opening the model");
    source_ = open_model(settings_.model.path, world());
    source_->check(settings_.model);
    session_.at(0, "preparing the data");
    const bool own = request_.tokenizer == EvaluationRequest::TokenizerFrom::source && !source_->tokenizer().empty();
    const auto tokenizer = data::open_tokenizer(own ? source_->tokenizer() : settings_.data.tokenizer);
    std::optional<Scratch> scratch;
    if (settings_.data.cache.empty()) scratch.emplace(session_.told_by_first_rank("scratch folder", scratch_name));
    data_ = open_data(request_, settings_.data.valid, scratch ? scratch->path() : settings_.data.cache,
                      data::Reading::evaluation, *tokenizer);
    rendezvous::Facts facts;
    facts.values = {{"data", data_.samples->fingerprint()}, {"weights", source_->fingerprint()}};
    session_.agree("data", facts);  // afterwards every rank has mapped what it needs of the scratch folder
  }

  void plan() {
    const std::int64_t most_per_rank = request_.logits.empty() ? no_limit : 1;  // logits of one are much already
    const std::int64_t samples = data_.samples->samples();
    plan_ = make_evaluation_plan(
        request_.resolved, {data_.vocab, samples, data_.tokens, data_.samples->fingerprint(), samples}, most_per_rank);
    check_free_memory(request_, plan_, machine_);
    session_.agree("program", program_facts(plan_));
    for (const std::string& line : describe(plan_)) say(request_, line);
  }

  Evaluation compute() {
    model::OnLogits on_logits;
    if (!request_.logits.empty()) {
      const executor::Place place{request_.identity.world_rank, plan_.shape,
                                  mesh::coordinate_of(plan_.shape, request_.identity.world_rank)};
      logits_ = std::make_unique<LogitsFile>(plan_, request_.logits, place, world());
      on_logits = [this](const at::Tensor& logits_MV) { logits_->take(watcher_.microbatch(), logits_MV); };
    }
    FrozenRank rank(plan_, *data_.samples, session_.channels(), machine_.device, watcher_, on_logits);
    session_.at(0, "loading the weights");
    rank.load([&](const auto& wanted) { source_->load(plan_.model(), wanted, world()); });
    const Evaluation result = rank.evaluate([this](std::int64_t done) { round_done(done); });
    if (logits_ != nullptr) logits_->finish();
    return result;
  }

  void round_done(std::int64_t microbatches) {
    if (logits_ != nullptr) logits_->round_done(microbatches);
    const std::int64_t samples = std::min(microbatches * plan_.resolved.batch.micro, data_.samples->samples());
    if (settings_.log.progress == "none" || base::monotonic_seconds() - told_seconds_ < 1) return;
    told_seconds_ = base::monotonic_seconds();
    say(request_, fmt::format("evaluated {} of {} samples", samples, data_.samples->samples()));
  }

  comm::Channel& world() { return *session_.channels().world; }

  Session& session_;
  const EvaluationRequest& request_;
  const config::Settings& settings_;
  Watcher watcher_;
  Machine machine_;
  std::unique_ptr<ModelSource> source_;
  data::OpenedSamples data_;
  Plan plan_;
  std::unique_ptr<LogitsFile> logits_;
  double told_seconds_ = base::monotonic_seconds();
};

}  // namespace

EvaluationResult evaluate(const EvaluationRequest& request) {
  check_request(request.resolved.settings);
  EvaluationRequest quiet = request;
  quiet.resolved.settings.train.out.clear();  // nothing is left there
  EvaluationResult result;
  const int exit_code = in_session(quiet, [&](Session& session) { result = Run(session, quiet).run(); });
  result.exit_code = exit_code;
  return result;
}

}  // namespace troika::train
