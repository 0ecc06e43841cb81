// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "prefixroute/router.h"
#include "src/router/cached_tokens.h"
#include "src/state/state.h"

namespace prefixroute {

Lease::Lease(Lease&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)),
      slot_(other.slot_),
      pending_bytes_(other.pending_bytes_),
      reported_(other.reported_),
      decision_(other.decision_) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  Finish();
  state_ = std::exchange(other.state_, nullptr);
  slot_ = other.slot_;
  pending_bytes_ = other.pending_bytes_;
  reported_ = other.reported_;
  decision_ = other.decision_;
  return *this;
}

std::string_view Lease::id() const { return active() ? state_->id(slot_) : std::string_view(); }

void Lease::FirstToken() noexcept {
  if (state_ == nullptr || pending_bytes_ == 0) return;
  state_->RemovePending(slot_, std::exchange(pending_bytes_, 0));
}

void Lease::ReportCachedTokens(uint64_t cached_tokens, uint64_t prompt_tokens) noexcept {
  if (state_ == nullptr || std::exchange(reported_, true)) return;
  internal::ReportCachedTokens(*state_, slot_, decision_.prefix_bytes, decision_.uncached_bytes, cached_tokens,
                               prompt_tokens);
}

void Lease::Finish() noexcept {
  FirstToken();
  if (internal::State* state = std::exchange(state_, nullptr)) state->Release(slot_);
}

}  // namespace prefixroute
