// Collectives over any channel, in a fixed order, exact. All ranks of the channel call them in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "comm/channel.h"
#include "tensor/tensor.h"

namespace troika::comm {

void barrier(Channel& channel);

// sums[i] := sum over ranks, modulo 2^64; maxima[i] := the largest of all ranks. In log2(ranks) rounds of one message each.
void combine_integers(Channel& channel, std::vector<std::int64_t>& sums, std::vector<std::int64_t>& maxima);
void sum_integers(Channel& channel, std::vector<std::int64_t>& values);

// outs[r] := rank r's `mine`; outs[r] is allocated by the caller with that rank's size, sizes may differ and be 0.
void all_gather(Channel& channel, const tensor::Tensor& mine, const std::vector<tensor::Tensor>& outs);

// from[r] := rank r's to[my rank]; sizes may differ and be 0; from[rank()] is copied from to[rank()].
void all_to_all(Channel& channel, const std::vector<tensor::Tensor>& to, const std::vector<tensor::Tensor>& from);

// Strings of any length, one per rank.
std::vector<std::string> all_gather_text(Channel& channel, const std::string& mine);
void broadcast(Channel& channel, const tensor::Tensor& tensor, int root);

// How far this rank's clock is from rank 0's, so that timelines of several hosts can be laid over each other.

// Collective. Seconds to add to `now()` of this rank to get that of rank 0; 0 on rank 0. Of `rounds` question-and-answer
// exchanges the one with the shortest round trip counts, so the error is at most half of that round trip.
double clock_offset_seconds(Channel& world, int rounds, const std::function<double()>& now = base::monotonic_seconds);

}  // namespace troika::comm
