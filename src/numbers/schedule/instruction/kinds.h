// The kinds of instructions, and one table of what each of them is. Builder, checker, simulator, memory walk, traces
// and executor read it. A new kind is an enumerator and its row here, a place in a builder, and a handler in the
// executor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace troika::schedule {

// In brackets: without segment, all segments of the stage, forwards in order and backwards in reverse order.
enum class Kind : std::uint8_t {
  load,           // m      read the microbatch's tokens (first and last stage need them, or all)
  fwd,            // m.s[.g] keeps what backward needs, or only its input where a refwd m.s.g is later
  refwd,          // m.s[.g] forward again before the backward, for recomputation
  bwd,            // m.s[.g] both halves of backward at once
  bwd_input,      // m.s[.g] gradient of the input only
  bwd_weight,     // m.s[.g] gradient of the weights only, after bwd_input; needs no parameters
  send_act,       // m.s    output of stage s to stage s+1
  recv_act,       // m.s    input of stage s from stage s-1
  send_grad,      // m.s    gradient of stage s's input to stage s-1
  recv_grad,      // m.s    gradient of stage s's output from stage s+1
  gather_params,  // .s.g   starts the all-gather of a segment's parameters from the shards of all replicas
  free_params,    // .s.g   the gathered parameters are no longer needed (ZeRO 3)
  reduce_grads,   // .s[.g] (ZeRO 0, 1, or one replica) or m.s[.g] (ZeRO 2, 3): starts the reduce-scatter of gradients
  gather_grads,   // .s[.g] (ZeRO 0) waits for the reduction, starts the all-gather of the totals
  reduce_tied,    // .s     adds the two uses of the tied embedding, where first and last stage lie on two ranks
  norm,           //        loss, token count, gradient norm, stop requests: one exact sum over the world
  fetch,          // .s.g   starts copying a segment's optimizer state from where it is offloaded
  offload,        // .s.g   starts copying it back
  step,           // .s[.g] the optimizer step
  loss,           //        the end of an evaluation: losses and token counts, one exact sum over the world. Stays last.
};
inline constexpr std::size_t kind_count = static_cast<std::size_t>(Kind::loss) + 1;

// Whether an instruction names a microbatch, a stage, a segment.
enum class Operand : std::uint8_t {
  never,
  required,
  optional,    // without a segment all of the stage are meant
  when_split,  // a microbatch where gradients are reduced microbatch by microbatch (ZeRO 2, 3), else never
};
struct Operands {
  Operand microbatch, stage, segment;
};

enum class Role : std::uint8_t {
  local,              // the rank alone, done when it returns
  computation,        // passes of a microbatch through segments
  send,               // starts one end of a message
  receive,            // starts the other
  exchange,           // starts what several ranks do together
  blocking_exchange,  // the same, and lasts until it is complete
  copy,               // starts a copy in the background
};

// Whom an instruction meets.
enum class Peers : std::uint8_t {
  none,
  next_stage,
  previous_stage,
  replicas,     // the data-parallel ranks of its stage
  tied_stages,  // the ranks of the first and of the last stage with one dp rank
  world,
};

// The data that a rank sends (receive: receives) and so which count of StepShape (build/builder.h) its bytes are.
enum class Payload : std::uint8_t {
  none,
  activation,          // boundary_bytes
  gradient,            // boundary_bytes
  tied_gradient,       // tied_bytes
  segment_gradients,   // SegmentBytes::gradients_sent
  segment_totals,      // SegmentBytes::totals_sent
  segment_parameters,  // SegmentBytes::parameters_sent
};

// The passes of a computation, as bits.
enum Pass : std::uint8_t {
  no_pass = 0,
  forward_pass = 1,
  recompute_pass = 2,
  input_pass = 4,
  weight_pass = 8,
  whole_backward = input_pass | weight_pass,
};

// The segments of a stage that are meant: all, or those with a backward.
enum class Segments : std::uint8_t { all, trained };

enum class Tasks : std::uint8_t { training, evaluation, both };

enum class Part : std::uint8_t {
  pipeline,            // between the first forward and the last backward
  reduction,           // of gradients
  summary,             // the exact sum over the world: ends the pipeline; every message has arrived then
  update,              // may be behind the summary
  pipeline_or_update,  // the pipeline in ZeRO 3, update in ZeRO 1 and 2
};

// The started transfers of a kind that an instruction waits for, of those not waited for yet on its rank.
enum class Scope : std::uint8_t {
  nothing,
  same_pass,       // of its microbatch and stage
  same_segments,   // of the segments it means, with or without a microbatch
  tied_segments,   // of the embedding and the head, as far as they are here
  without_answer,  // those for which no gradient comes back (placement.h), where it is one itself
  of_microbatch,   // those that name a microbatch
  all,
};

struct Awaited {
  Kind kind = Kind::load;
  Scope scope = Scope::nothing;
};

struct Traits {
  Kind kind;
  const char* name;
  Operands operands;
  Role role;
  Peers peers;
  Payload payload;
  Pass passes;
  Segments segments;
  Tasks tasks;
  Part part;
  char letter;          // in the grid; '~' is what is under way
  double unit_seconds;  // where every computation takes 1 s
  std::array<Awaited, 3> waits;
};

// The words of the rows.
namespace kind_rows {

using O = Operand;
inline constexpr Operands nothing{O::never, O::never, O::never}, microbatch{O::required, O::never, O::never},
    pass{O::required, O::required, O::optional}, message{O::required, O::required, O::never},
    stage{O::never, O::required, O::never}, segment{O::never, O::required, O::required},
    segments{O::never, O::required, O::optional}, gradients{O::when_split, O::required, O::optional};

inline constexpr Awaited input{Kind::recv_act, Scope::same_pass}, output_gradient{Kind::recv_grad, Scope::same_pass},
    parameters{Kind::gather_params, Scope::same_segments}, reductions{Kind::reduce_grads, Scope::same_segments},
    leaves{Kind::reduce_grads, Scope::of_microbatch};  // the last one has gone

// clang-format off
inline constexpr std::array<Traits, kind_count> kinds = {{
    {Kind::load, "load", microbatch, Role::local, Peers::none, Payload::none,
     no_pass, Segments::all, Tasks::both, Part::pipeline, 'L', 0, {}},
    {Kind::fwd, "fwd", pass, Role::computation, Peers::none, Payload::none,
     forward_pass, Segments::all, Tasks::both, Part::pipeline, 'F', 1, {{input, parameters}}},
    {Kind::refwd, "refwd", pass, Role::computation, Peers::none, Payload::none,
     recompute_pass, Segments::trained, Tasks::training, Part::pipeline, 'R', 1, {{parameters}}},
    {Kind::bwd, "bwd", pass, Role::computation, Peers::none, Payload::none,
     whole_backward, Segments::trained, Tasks::training, Part::pipeline, 'B', 1,
     {{output_gradient, parameters, leaves}}},
    {Kind::bwd_input, "bwd_input", pass, Role::computation, Peers::none, Payload::none,
     input_pass, Segments::trained, Tasks::training, Part::pipeline, 'I', 1,
     {{output_gradient, parameters}}},
    {Kind::bwd_weight, "bwd_weight", pass, Role::computation, Peers::none, Payload::none,
     weight_pass, Segments::trained, Tasks::training, Part::pipeline, 'W', 1, {{leaves}}},
    {Kind::send_act, "send_act", message, Role::send, Peers::next_stage, Payload::activation,
     no_pass, Segments::all, Tasks::both, Part::pipeline, '~', 0, {{{Kind::send_act, Scope::without_answer}}}},
    {Kind::recv_act, "recv_act", message, Role::receive, Peers::previous_stage, Payload::activation,
     no_pass, Segments::all, Tasks::both, Part::pipeline, '~', 0, {}},
    {Kind::send_grad, "send_grad", message, Role::send, Peers::previous_stage, Payload::gradient,
     no_pass, Segments::all, Tasks::training, Part::pipeline, '~', 0, {}},
    {Kind::recv_grad, "recv_grad", message, Role::receive, Peers::next_stage, Payload::gradient,
     no_pass, Segments::all, Tasks::training, Part::pipeline, '~', 0, {}},
    {Kind::gather_params, "gather_params", segment, Role::exchange, Peers::replicas,
     Payload::segment_parameters, no_pass, Segments::all, Tasks::both, Part::pipeline_or_update, 'P', 0, {}},
    {Kind::free_params, "free_params", segment, Role::local, Peers::none, Payload::none,
     no_pass, Segments::all, Tasks::both, Part::pipeline, 'P', 0, {}},
    {Kind::reduce_grads, "reduce_grads", gradients, Role::exchange, Peers::replicas,
     Payload::segment_gradients, no_pass, Segments::trained, Tasks::training, Part::reduction, 'G', 0,
     {{{Kind::reduce_grads, Scope::all}}}},
    {Kind::gather_grads, "gather_grads", segments, Role::exchange, Peers::replicas, Payload::segment_totals,
     no_pass, Segments::trained, Tasks::training, Part::reduction, 'A', 0, {{reductions}}},
    {Kind::reduce_tied, "reduce_tied", stage, Role::blocking_exchange, Peers::tied_stages,
     Payload::tied_gradient, no_pass, Segments::all, Tasks::training, Part::reduction, 'T', 0,
     {{{Kind::reduce_grads, Scope::tied_segments}}}},
    {Kind::norm, "norm", nothing, Role::blocking_exchange, Peers::world, Payload::none,
     no_pass, Segments::all, Tasks::training, Part::summary, 'N', 0,
     {{{Kind::send_act, Scope::all}, {Kind::send_grad, Scope::all}, {Kind::reduce_grads, Scope::all}}}},
    {Kind::fetch, "fetch", segment, Role::copy, Peers::none, Payload::none,
     no_pass, Segments::trained, Tasks::training, Part::update, 'O', 0, {}},
    {Kind::offload, "offload", segment, Role::copy, Peers::none, Payload::none,
     no_pass, Segments::trained, Tasks::training, Part::update, 'O', 0, {}},
    {Kind::step, "step", segments, Role::local, Peers::none, Payload::none,
     no_pass, Segments::trained, Tasks::training, Part::update, 'S', 1,
     {{{Kind::gather_grads, Scope::same_segments}, {Kind::fetch, Scope::same_segments}}}},
    {Kind::loss, "loss", nothing, Role::blocking_exchange, Peers::world, Payload::none,
     no_pass, Segments::all, Tasks::evaluation, Part::summary, 'N', 0, {{{Kind::send_act, Scope::all}}}},
}};
// clang-format on

}  // namespace kind_rows

using kind_rows::kinds;

constexpr bool rows_stand_in_order() {
  for (std::size_t row = 0; row < kind_count; ++row) {
    if (kinds[row].kind != static_cast<Kind>(row)) return false;
  }
  return true;
}
static_assert(rows_stand_in_order(), "every kind has its row, in the order of the enumerators");

constexpr const Traits& traits(Kind kind) { return kinds[static_cast<std::size_t>(kind)]; }
inline const char* name(Kind kind) { return traits(kind).name; }

constexpr bool is_computation(Kind kind) { return traits(kind).role == Role::computation; }
constexpr bool is_message(Kind kind) { return traits(kind).role == Role::send || traits(kind).role == Role::receive; }
constexpr bool is_exchange(Kind kind) {
  return traits(kind).role == Role::exchange || traits(kind).role == Role::blocking_exchange;
}
constexpr bool is_communication(Kind kind) { return is_message(kind) || is_exchange(kind); }
// Whether the kind counts against the link of the rank that starts it.
constexpr bool sends(Kind kind) { return traits(kind).payload != Payload::none && traits(kind).role != Role::receive; }
// Lasts until its own meeting is complete; other communication only starts.
constexpr bool blocks(Kind kind) { return traits(kind).role == Role::blocking_exchange; }
constexpr bool has_pass(Kind kind, Pass pass) { return (traits(kind).passes & pass) != 0; }

// The scope of the wait for one of the kinds in `waits`, or `nothing`.
constexpr Scope waits_for(Kind waiting, Kind awaited) {
  for (const Awaited& wait : traits(waiting).waits) {
    if (wait.kind == awaited && wait.scope != Scope::nothing) return wait.scope;
  }
  return Scope::nothing;
}
constexpr bool uses_parameters(Kind kind) {
  return is_computation(kind) && waits_for(kind, Kind::gather_params) != Scope::nothing;
}

// How much further on the stage at the other end of a message is.
constexpr int stage_offset(Kind kind) {
  return traits(kind).peers == Peers::next_stage ? 1 : traits(kind).peers == Peers::previous_stage ? -1 : 0;
}
// The kind at the other end of a message.
constexpr Kind partner(Kind message) {
  for (const Traits& other : kinds) {
    const bool ends = is_message(message) && is_message(other.kind) && other.role != traits(message).role;
    if (ends && other.payload == traits(message).payload) return other.kind;
  }
  return message;
}

}  // namespace troika::schedule
