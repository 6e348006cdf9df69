#include "plan/plan_test_support.h"

namespace troika::plan {

config::Settings small_settings() {
  config::Settings s;
  s.model.layers = 4;
  s.model.hidden = 64;
  s.model.heads = 4;
  s.model.kv_heads = 2;
  s.model.head_dim = 16;
  s.model.ffn = 192;
  s.model.vocab = 259;
  s.data.train = "unused";
  s.batch.seq_len = 32;
  s.batch.micro_batch_size = 1;
  s.batch.global_batch_size = 12;
  s.train.steps = 6;
  s.train.device = "cpu";
  s.train.out = "unused";
  return s;
}

DataFacts small_data() {
  DataFacts data;
  data.vocab = 259;
  data.samples = 1000;
  data.tokens = 32000;
  data.fingerprint = "facts";
  return data;
}

Plan small_plan(const config::Settings& settings, int world) {
  return make_plan(config::resolve(settings, world), small_data());
}

}  // namespace troika::plan
