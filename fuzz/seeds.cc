// Writes valid binary files as seeds of the targets: fuzz_seeds FOLDER SOURCE_FOLDER makes FOLDER/<target>/NAME.
#include <string>

#include "base/file.h"
#include "checkpoint/safetensors_writer.h"
#include "data/shards.h"
#include "gguf/keys.h"
#include "gguf/tensor_type.h"
#include "rendezvous/identity.h"
#include "rendezvous/wire.h"
#include "schedule/simulate/simulator.h"
#include "schedule/trace/trace_json.h"
#include "schedule/instruction/program.h"

using namespace troika;

static void write_tensors(const std::string& folder) {
  base::make_directories(folder);
  checkpoint::SafetensorsWriter writer(folder + "/three.safetensors",
                                       {{"a.weight", base::Dtype::fp32, {2, 3}, 0, 0},
                                        {"b.bias", base::Dtype::bf16, {4}, 0, 0},
                                        {"empty", base::Dtype::fp16, {0, 7}, 0, 0}},
                                       {{"format", "pt"}});
  const std::string bytes(32, '\1');
  writer.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  writer.finish();
}

// A model of one block with a byte-level tokenizer, and one with SentencePiece's.
static void write_gguf(const std::string& folder, const std::string& architecture, const std::string& tokenizer) {
  base::make_directories(folder);
  gguf::Keys keys;
  keys.text("general.architecture", architecture);
  for (const char* key : {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"})
    keys.whole(architecture + "." + key, 32);
  keys.number(architecture + ".attention.layer_norm_rms_epsilon", 1e-6);
  keys.text("tokenizer.ggml.model", tokenizer);
  keys.text("tokenizer.ggml.pre", "qwen2");
  keys.texts("tokenizer.ggml.tokens", {"<s>", "a", "b", "ab"});
  keys.wholes("tokenizer.ggml.token_type", {3, 1, 1, 1});
  keys.numbers("tokenizer.ggml.scores", {0, -1, -2, -3});
  if (tokenizer == "gpt2") keys.texts("tokenizer.ggml.merges", {"a b"});
  keys.whole("tokenizer.ggml.bos_token_id", 0);
  keys.text("tokenizer.chat_template", "{{ messages }}");
  const gguf::TensorType& type = gguf::type_named("Q4_0");
  std::string content = gguf::header_bytes(keys, {{"token_embd.weight", {4, 32}, type.id, 4 * type.block_bytes},
                                                  {"blk.0.attn_q.weight", {32, 32}, type.id, 32 * type.block_bytes}});
  content += std::string(static_cast<std::size_t>(gguf::aligned(4 * type.block_bytes) + gguf::aligned(32 * type.block_bytes)), '\1');
  base::write_file_atomic(folder + "/" + architecture + ".gguf", content);
}

static void write_shard(const std::string& folder, const std::string& name, std::int64_t vocabulary) {
  base::make_directories(folder);
  data::ShardWriter writer(folder + "/" + name, vocabulary, "0123456789abcdef");
  for (int document = 1; document <= 3; ++document) {
    for (int i = 0; i < document; ++i) writer.append({static_cast<std::int32_t>(vocabulary) - 1, i, 7});
    writer.end_document();
  }
  writer.finish();
}

// Traces of a step, in both forms.
static void write_traces(const std::string& folder, const std::string& program_file) {
  base::make_directories(folder);
  const schedule::StepTrace trace =
      schedule::simulate(schedule::parse_program(base::read_file(program_file)), schedule::unit_costs());
  base::write_file_atomic(folder + "/rank_trace.json", schedule::write_rank_trace({3, -0.25, trace.ranks.front()}));
  base::write_file_atomic(folder + "/merged_trace.json", schedule::write_chrome(trace));
}

// One of every request, by a member, and what a stranger says, in pieces that a byte counts.
static void write_conversation(const std::string& folder) {
  namespace wire = rendezvous::wire;
  base::make_directories(folder);
  std::string all;
  const auto send = [&](char client, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 100) {
      const std::string piece = bytes.substr(at, 100);
      all += {client, static_cast<char>(piece.size())};
      all += piece;
    }
  };
  for (auto kind = static_cast<std::uint8_t>(wire::Operation::set);
       kind <= static_cast<std::uint8_t>(wire::Operation::leave_behind); ++kind) {
    std::string body;
    for (const char* text : {"key", "other", "value"}) wire::put_text(body, text);
    send(static_cast<char>(kind % 2), wire::frame(kind, kind, body));
    all += {static_cast<char>(0xc0 + kind % 2), '\0'};
  }
  send(2, std::string(wire::client_greeting) + std::string(rendezvous::nonce_bytes, 'c'));
  base::write_file_atomic(folder + "/every_request", all);
}

// A request at once, one with a body in pieces, and a stream.
static void write_requests(const std::string& folder) {
  base::make_directories(folder);
  const auto piece = [](const std::string& bytes) { return static_cast<char>(bytes.size()) + bytes; };
  const std::string get = "GET /metrics?a=1 HTTP/1.1\r\nHost: 127.0.0.1:9400\r\nAccept: */*\r\n\r\n";
  const std::string head = "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n";
  base::write_file_atomic(folder + "/one", get);
  base::write_file_atomic(folder + "/pieces", piece(get) + "\xe7\xf1" + piece(head) + piece("he") + piece("llo"));
  base::write_file_atomic(folder + "/stream",
                          piece("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n") + "\xe7\xea:x\n\xd2\xf8");
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string root = arguments[1], source = arguments[2];
  write_tensors(root + "/safetensors");
  write_gguf(root + "/gguf", "llama", "gpt2");
  write_gguf(root + "/gguf", "gemma3", "llama");
  write_shard(root + "/token_shards", "two_bytes.bin", 257);
  write_shard(root + "/token_shards", "four_bytes.bin", 100000);
  write_conversation(root + "/store_wire");
  write_requests(root + "/http_requests");
  write_traces(root + "/programs", source + "/src/numbers/schedule/golden/1f1b_pp2_m2_offload.program");
}
