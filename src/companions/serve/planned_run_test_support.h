// For tests: a run made by hand with settings that make a plan.
#pragma once

#include <string>

#include "config/config.h"
#include "config/resolve.h"
#include "monitor/made_run_test_support.h"
#include "plan/plan.h"

namespace troika::serve {

// 4 layers of width 64 as dp 2 x pp 2, a rank each, two on each of the hosts pi0 and pi1.
class PlannedRun : public monitor::MadeRun {
 public:
  PlannedRun() : monitor::MadeRun(2, 2) {
    write_state();
    base::write_file_atomic(path() + "/config.yaml", config::to_yaml(plan().resolved.settings));
  }

  static plan::Plan plan() {
    config::Settings s;
    s.model.layers = 4;
    s.model.hidden = 64;
    s.model.heads = 4;
    s.model.kv_heads = 2;
    s.model.head_dim = 16;
    s.model.ffn = 192;
    s.model.vocab = 259;
    s.parallel.dp = 2;
    s.parallel.pp = 2;
    s.batch.seq_len = 32;
    s.batch.micro_batch_size = 1;
    s.batch.global_batch_size = 12;
    s.train.steps = 100;
    s.train.device = "cpu";
    plan::DataFacts facts;
    facts.vocab = 259;
    facts.samples = 1;
    return plan::make_plan(config::resolve(s, 4), facts);
  }
};

}  // namespace troika::serve
